//! The pages and questions about the API itself, below `/docs`: no token, no record, nothing stored.
//!
//! Knows the paths; what stands behind each is in a file of its own.

use actix_web::middleware::from_fn;
use actix_web::web::ServiceConfig;
use actix_web::{HttpRequest, HttpResponse, web};

use crate::http::app_state::Register;
use crate::http::error::{Failure, Missing};
use crate::http::paths;
use crate::http::rate_limit::by_address::count_page;
use crate::http::routes::read_only;

mod assets;
mod compare;
mod differences;
mod explorer;
mod index;
mod layout;
mod migrate;
mod translate;
mod version_notes;

/// Mounts the scope `/docs`.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    let scope = web::scope(paths::DOCS)
        .service(index::resource(register))
        .service(assets::resource())
        .service(read_only("/style.css", style))
        .service(compare::resource(register))
        .service(differences::resource(register))
        .service(version_notes::resource(register))
        .service(migrate::resource(register))
        .service(translate::resource(register))
        .default_service(web::to(|| {
            std::future::ready(HttpResponse::from(Failure::NotFound(Missing::Path).reply_to_anyone()))
        }));
    let labels = register.versions.iter().map(|served| served.version.label);
    let explorers = labels.flat_map(|label| explorer::resources(register, label));
    let visitors = register.page_visitors.clone();
    let scope = explorers.fold(scope, actix_web::Scope::service);
    config.service(scope.wrap(from_fn(move |request, next| count_page(visitors.clone(), request, next))));
}

/// The style at an address that does not change with it.
async fn style(request: HttpRequest) -> HttpResponse {
    assets::by_name("style.css", &request).unwrap_or_else(|| Failure::NotFound(Missing::Path).reply_to_anyone().into())
}
