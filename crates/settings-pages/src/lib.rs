//! The signed-in pages of providers and operators below `/settings`.
//!
//! Users of an organisation sign in, manage its tokens and users, and see its requests and the
//! reasons of refusals. Functions that change data take an
//! [`Actor`](storage::accounts::users::Actor), which is limited to its organisation.
//!
//! Every request takes one path, `request/receive.rs`. The table of routes ([`ROUTES`]) has the
//! method, path, permission and handler of each route.
//!
//! 1. Session: the cookie of a session that was valid at its last use.
//! 2. Form: its site, its media type, and the token that belongs to the cookie.
//! 3. Permission: `request/permission.rs` finds the user in the job of the store.
//! 4. Handler: runs in the same job. Work that takes several jobs follows it (`Reply::after`).
//! 5. Page: the reply, or the page of an error.
//!
//! The pages are not part of the API. Handlers do not depend on versions or records.
//!
//! # How to add a page
//!
//! 1. Add a line to `ROUTES` in `routes.rs`, next to the others of its path. The type of the
//!    handler states who may use it. `GET` reads; `POST` writes.
//! 2. Add the handler and the struct of the page to `organisation/` or `operators/`, and the
//!    template to `templates/settings/`. Each form has a `form_token`. For the menu, add a variant
//!    to `SettingsSection` in `request/page.rs` and a link to `layout.html`.
//! 3. A change is a function of `storage` that takes an `Actor` and adds an entry to the activity
//!    log. The compiler requires a text for a new `ActivityKind` in `organisation/activity.rs`.
//! 4. The tests in `crates/black-box/tests/api/settings/matrix.rs` and
//!    `crates/server/tests/browser/resources.rs` request each route. Add new path parameters
//!    (`path_within`, `walk_settings`) and new fields (`FIELDS`) there.
//! 5. Add the page to `pages.rs` or `operators.rs` in `crates/black-box/tests/api/settings/`, and
//!    to `settings.rs` or `operators.rs` in `crates/server/tests/browser/`. No test detects a
//!    missing page.

mod operators;
mod organisation;
mod request;
pub mod request_report;
mod routes;
pub mod signing_in;
mod state;
mod upload;
mod usage_by_month;

use std::rc::Rc;

use actix_web::http::Method as HttpMethod;
use actix_web::web::{Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};
use gateway::routes::closed;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::requests::methods::methods;

pub use self::request::context::{Access, Route};
pub use self::routes::ROUTES;
use self::state::Surroundings;
pub use self::state::{Audience, SettingsPages};
pub use self::upload::work::start as start_uploads;

async fn answer(
    shared: Rc<(GatewayState, SettingsPages)>,
    route: &'static Route,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    let (state, settings) = &*shared;
    request::receive::answer(state, settings, route, request, payload).await
}

/// Configures the scope `/settings`.
pub fn configure(config: &mut ServiceConfig, state: &GatewayState, settings: &SettingsPages) {
    let shared = Rc::new((state.clone(), settings.clone()));
    let mut scope = web::scope(paths::SETTINGS);
    let routes: Vec<&'static Route> = ROUTES
        .iter()
        .filter(|route| route.access().is_for(settings.audience))
        .collect();
    let mut paths: Vec<&'static str> = routes.iter().map(|route| route.path).collect();
    paths.dedup();
    for path in paths {
        let mut resource = web::resource(path);
        let mut allowed: Vec<HttpMethod> = Vec::new();
        for route in routes.iter().copied().filter(|route| route.path == path) {
            for method in methods(route.method)
                .iter()
                .filter(|method| route.takes(method))
            {
                let shared = Rc::clone(&shared);
                let route = web::method(method.clone()).to(move |request, payload| {
                    answer(Rc::clone(&shared), route, request, payload)
                });
                resource = resource.route(route);
                allowed.push(method.clone());
            }
        }
        scope = scope.service(closed(resource, &allowed));
    }
    let around = Surroundings {
        environment: state.environment,
        audience: settings.audience,
    };
    config.service(scope.default_service(web::to(move || {
        std::future::ready(request::receive::render_not_found(around))
    })));
}
