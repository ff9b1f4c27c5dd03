//! The pages and questions about the API itself, below `/docs`: no token, no record, nothing stored.
//!
//! Knows the paths; what stands behind each is in a file of its own.

use actix_web::HttpResponse;
use actix_web::web::{self, ServiceConfig};

use crate::addresses;
use crate::failure::{Failure, Missing};
use crate::register::Register;

mod compare;
mod differences;
mod explorer;
mod index;
mod migrate;
mod page;
mod style;
mod translate;
mod written;

/// Mounts the scope `/docs`.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    let scope = web::scope(addresses::DOCS)
        .service(index::resource(register))
        .service(style::resource())
        .service(compare::resource(register))
        .service(differences::resource(register))
        .service(written::resource(register))
        .service(migrate::resource(register))
        .service(translate::resource(register))
        .default_service(web::to(|| {
            std::future::ready(HttpResponse::from(Failure::NotFound(Missing::Path).reply_to_anyone()))
        }));
    let labels = register.versions.iter().map(|served| served.version.label);
    config.service(labels.flat_map(explorer::resources).fold(scope, actix_web::Scope::service));
}
