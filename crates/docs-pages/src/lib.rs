//! The public pages below `/docs`: documents, moves from one version to another, search and the
//! explorer.
//!
//! The crate also serves endpoints about the API itself, such as translation. No endpoint needs a
//! token, shows a stored record or stores anything. This file lists the paths; each resource has
//! its own module.
//!
//! The crate does not depend on providers, stored records or signed-in users.
//!
//! # How to add a page
//!
//! 1. Add a template to `templates/pages/` that extends `layout.html`. Add a module with its askama
//!    struct, which needs a field `place`, and with a function `resource` that calls
//!    `gateway::routes::read_only`. Render a page that is the same for all readers once
//!    (`GatewayState::contents`, `shared_page`). Use `Keep::Never` for a page that shows input of a
//!    reader.
//! 2. Declare the module in this file and add the resource to `configure`, before the resources of
//!    the versions, because files of the explorer can have any name.
//! 3. Add a variant to `DocsLocation` in `page_location.rs` and a link to `layout.html` or another
//!    page. If other crates use the path, add it to `crates/http-kit/src/paths.rs`. The tests
//!    `every_link_of_every_page_leads_somewhere` and
//!    `every_public_page_has_style_and_files` follow all links.
//! 4. Add the page to `pages` in `crates/server/tests/browser/documents.rs` and to
//!    `every_page_keeps_to_itself` in `crates/black-box/tests/api/pages/documentation.rs`. No test
//!    fails if a page is missing there.
//!
//! To add a document of each version, add a variant to `Document` in `documents/text.rs` instead.

use std::time::Duration;

use actix_web::http::header::LOCATION;
use actix_web::middleware::from_fn;
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse, web};

use gateway::error::{ApiError, Missing};
use gateway::routes::{home, limit_pages, read_only};
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::paths;
use http_kit::responses::style::NAME;

mod assets;
mod data_managers;
mod documents;
mod explorer;
mod index;
mod markdown;
mod move_page;
mod not_found;
mod page_location;
mod search;
mod translate;
mod version_notes;

pub use self::not_found::{ListenerPages, no_settings_page, not_found_page, with_error_pages};
pub use self::page_location::SettingsLink;
use self::page_location::respond;

/// Concurrent and waiting translations. A translation can occupy a processor.
const TRANSLATIONS: (usize, usize) = (2, 8);
const MAX_TRANSLATION_WAIT: Duration = Duration::from_secs(2);

/// Shown on each page.
pub(crate) const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Limits the translations of `/docs/translate` and of the pages about moves.
#[must_use]
pub fn translation_limit() -> ConcurrencyLimit {
    let (running, waiting) = TRANSLATIONS;
    ConcurrencyLimit::new(running, waiting, MAX_TRANSLATION_WAIT)
}

/// Configures the scope `/docs`.
pub fn configure(
    config: &mut ServiceConfig,
    state: &GatewayState,
    translations: &ConcurrencyLimit,
    settings: SettingsLink,
) {
    let scope = web::scope(paths::DOCS)
        .service(index::resource(state))
        .service(read_only("/", || {
            let reply = HttpResponse::PermanentRedirect()
                .insert_header((LOCATION, paths::DOCS))
                .finish();
            std::future::ready(reply)
        }))
        .service(assets::resource())
        .service(read_only("/style.css", style))
        .service(version_notes::resource(state))
        .service(data_managers::resource(state))
        .service(move_page::resource(state, translations, settings))
        .service(search::resource(state, settings))
        .service(translate::resource(state, translations))
        .default_service(web::to(|| {
            std::future::ready(respond(Err(ApiError::NotFound(Missing::Path))))
        }));
    let scope = move_page::redirects(state)
        .into_iter()
        .fold(scope, actix_web::Scope::service);
    let versions = state.versions;
    let labels = versions.iter().map(|served| served.version.label);
    // These resources come last, because the files of an explorer can have any name.
    let version_resources = labels.flat_map(|label| {
        documents::resources(state, label)
            .into_iter()
            .chain(explorer::resources(state, label))
    });
    let scope = version_resources
        .fold(scope, actix_web::Scope::service)
        .wrap(from_fn(move |request, next| {
            not_found::as_page(versions, request, next)
        }));
    let address_rate_limit = state.page_rate_limit.clone();
    let scope = scope.wrap(from_fn(move |request, next| {
        limit_pages(address_rate_limit.clone(), request, next)
    }));
    config.service(scope.wrap(from_fn(|request, next| {
        with_error_pages(ListenerPages::Documents, request, next)
    })));
    config.service(home(paths::DOCS));
}

/// Configures only the files that pages load, for a listener without documents.
pub fn configure_files(config: &mut ServiceConfig) {
    let scope = web::scope(paths::DOCS).service(assets::resource());
    config.service(scope.default_service(web::to(|| {
        std::future::ready(respond(Err(ApiError::NotFound(Missing::Path))))
    })));
}

async fn style(request: HttpRequest) -> HttpResponse {
    let style = assets::by_name(NAME, &request);
    respond(style.ok_or(ApiError::NotFound(Missing::Path)))
}
