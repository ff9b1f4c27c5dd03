//! The public pages below `/docs`: documents, differences, migration and the explorer.
//!
//! The crate also answers questions about the API itself, such as a translation. Nothing here needs
//! a token, shows a record or stores anything. This file knows the paths; what stands behind each
//! is in a separate file.
//!
//! The crate knows no provider, no stored record and no signed-in user.
//!
//! # How to add a page
//!
//! 1. Add a template to `templates/pages/` that extends `layout.html`, and a file with its askama
//!    struct, which has a `place`, and a function `resource` around `gateway::routes::read_only`. A
//!    page that is the same for all readers is rendered once (`GatewayState::contents`,
//!    `shared_page`); a page that shows what a reader sent is `Keep::Never`.
//! 2. Name the module in this file and add the resource to `configure`, before those of the
//!    versions: files of the explorer have any name.
//! 3. Add a variant to `DocsLocation` in `page_location.rs`, a link to `layout.html` or another
//!    page, and the path to `crates/http-kit/src/paths.rs` if other files name it. The tests
//!    `every_link_of_every_page_leads_somewhere` and
//!    `every_page_next_to_the_api_has_its_style_and_files` follow links.
//! 4. Add the page to `pages` in `crates/server/tests/browser/documents.rs` and to
//!    `every_page_keeps_to_itself` in `crates/black-box/tests/api/pages/documentation.rs`. No test
//!    finds a missing one.
//!
//! A document of each version is a variant of `Document` in `documents/text.rs` instead.

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
mod compare;
mod differences;
mod documents;
mod explorer;
mod index;
mod markdown;
mod migrate;
mod not_found;
mod page_location;
mod search;
mod translate;
mod version_notes;

/// Translations that run at once, and how many more wait: each may keep a processor busy.
const TRANSLATIONS: (usize, usize) = (2, 8);
/// How long a translation waits for its turn.
const MAX_TRANSLATION_WAIT: Duration = Duration::from_secs(2);

/// The version of the program, which each page names.
pub(crate) const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// How many translations run at once, for `/docs/translate` and `/docs/migrate` together.
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
        .service(compare::resource(state))
        .service(differences::resource(state))
        .service(version_notes::resource(state))
        .service(migrate::resource(state, translations))
        .service(search::resource(state))
        .service(translate::resource(state, translations))
        .default_service(web::to(|| {
            std::future::ready(HttpResponse::from(
                ApiError::NotFound(Missing::Path).response_without_version(),
            ))
        }));
    let labels = state.versions.iter().map(|served| served.version.label);
    // The files of an explorer have any name, so they come last.
    let of_versions = labels.flat_map(|label| {
        documents::resources(state, label)
            .into_iter()
            .chain(explorer::resources(state, label))
    });
    let scope = of_versions
        .fold(scope, actix_web::Scope::service)
        .wrap(from_fn(not_found::as_page));
    let address_rate_limit = state.page_rate_limit.clone();
    config.service(scope.wrap(from_fn(move |request, next| {
        limit_pages(address_rate_limit.clone(), request, next)
    })));
    config.service(home(paths::DOCS));
}

/// Configures the files alone that pages load, for a listener without the documents.
pub fn configure_files(config: &mut ServiceConfig) {
    let missing =
        || HttpResponse::from(ApiError::NotFound(Missing::Path).response_without_version());
    let scope = web::scope(paths::DOCS).service(assets::resource());
    config.service(scope.default_service(web::to(move || std::future::ready(missing()))));
}

/// The style at an address that does not change with it.
async fn style(request: HttpRequest) -> HttpResponse {
    assets::by_name(NAME, &request).unwrap_or_else(|| {
        ApiError::NotFound(Missing::Path)
            .response_without_version()
            .into()
    })
}
