//! The pages and questions about the API itself, below `/docs`: no token, no record, nothing stored.
//!
//! Knows the paths; what stands behind each is in a file of its own.

use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use crate::addresses;
use crate::failure::{Failure, Missing};
use crate::mount::read_only;
use crate::register::Register;
use crate::visitors::count_page;

mod assets;
mod compare;
mod differences;
mod explorer;
mod index;
mod migrate;
mod page;
mod translate;
mod written;

/// Mounts the scope `/docs`.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    let scope = web::scope(addresses::DOCS)
        .service(index::resource(register))
        .service(assets::resource())
        .service(read_only("/style.css", style))
        .service(compare::resource(register))
        .service(differences::resource(register))
        .service(written::resource(register))
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
