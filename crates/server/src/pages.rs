//! The pages and questions about the API itself, below `/docs`: no token, no record, nothing stored.
//!
//! Knows the paths; what stands behind each is in a file of its own.

use std::time::Duration;

use actix_web::http::header::LOCATION;
use actix_web::middleware::from_fn;
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse, Resource, web};

use crate::http::app_state::AppState;
use crate::http::concurrency_limit::ConcurrencyLimit;
use crate::http::error::{ApiError, Missing};
use crate::http::paths;
use crate::http::rate_limit::by_address::limit_pages;
use crate::http::routes::read_only;

pub(crate) mod assets;
mod compare;
mod differences;
pub(crate) mod documents;
mod explorer;
mod index;
pub(crate) mod layout;
mod markdown;
mod migrate;
mod not_found;
mod search;
mod translate;
mod version_notes;

/// Translations that run at once, and how many more wait: each may keep a processor busy.
const TRANSLATIONS: (usize, usize) = (2, 8);
/// How long a translation waits for its turn.
const MAX_TRANSLATION_WAIT: Duration = Duration::from_secs(2);

/// How many translations run at once, for `/docs/translate` and `/docs/migrate` together.
pub(crate) fn translation_limit() -> ConcurrencyLimit {
    let (running, waiting) = TRANSLATIONS;
    ConcurrencyLimit::new(running, waiting, MAX_TRANSLATION_WAIT)
}

/// Configures the scope `/docs`.
pub fn configure(config: &mut ServiceConfig, state: &AppState) {
    let scope = web::scope(paths::DOCS)
        .service(index::resource(state))
        .service(read_only("/", || {
            let reply = HttpResponse::PermanentRedirect().insert_header((LOCATION, paths::DOCS)).finish();
            std::future::ready(reply)
        }))
        .service(assets::resource())
        .service(read_only("/style.css", style))
        .service(compare::resource(state))
        .service(differences::resource(state))
        .service(version_notes::resource(state))
        .service(migrate::resource(state))
        .service(search::resource(state))
        .service(translate::resource(state))
        .default_service(web::to(|| {
            std::future::ready(HttpResponse::from(ApiError::NotFound(Missing::Path).response_without_version()))
        }));
    let labels = state.versions.iter().map(|served| served.version.label);
    // The files of an explorer have any name, so they come last.
    let of_versions = labels
        .flat_map(|label| documents::resources(state, label).into_iter().chain(explorer::resources(state, label)));
    let scope = of_versions.fold(scope, actix_web::Scope::service).wrap(from_fn(not_found::as_page));
    let address_rate_limit = state.page_rate_limit.clone();
    config.service(scope.wrap(from_fn(move |request, next| limit_pages(address_rate_limit.clone(), request, next))));
    config.service(home(paths::DOCS));
}

/// The address of the listener alone, which leads to the pages that it has.
pub(crate) fn home(pages: &'static str) -> Resource {
    read_only("/", move || {
        // Not kept by browsers: another program may listen there later.
        std::future::ready(HttpResponse::TemporaryRedirect().insert_header((LOCATION, pages)).finish())
    })
}

/// Configures the files alone that pages load, for a listener without the documents.
pub fn configure_files(config: &mut ServiceConfig) {
    let missing = || HttpResponse::from(ApiError::NotFound(Missing::Path).response_without_version());
    let scope = web::scope(paths::DOCS).service(assets::resource());
    config.service(scope.default_service(web::to(move || std::future::ready(missing()))));
}

/// The style at an address that does not change with it.
async fn style(request: HttpRequest) -> HttpResponse {
    assets::by_name("style.css", &request)
        .unwrap_or_else(|| ApiError::NotFound(Missing::Path).response_without_version().into())
}
