//! What a developer can ask about the API itself, below `/docs`: no token, no record, nothing stored.
//!
//! Knows the paths; what stands behind each is in a file of its own.

use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, Resource};

use crate::failure::{Failure, Missing};
use crate::register::Register;

mod translate;

/// Mounts the scope `/docs`.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    let scope = web::scope("/docs")
        .service(translate::resource(register))
        .default_service(web::to(|| std::future::ready(refused(Failure::NotFound(Missing::Path)))));
    config.service(scope);
}

/// The resource, which answers nothing but this method, and says so.
fn answering_only(resource: Resource, method: &Method) -> Resource {
    let allow = format!("{method}, OPTIONS");
    let options = allow.clone();
    let asked = move || std::future::ready(HttpResponse::NoContent().insert_header((ALLOW, options.clone())).finish());
    resource.route(web::method(Method::OPTIONS).to(asked)).default_service(web::to(move || {
        std::future::ready(refused(Failure::MethodNotAllowed { allow: allow.clone() }))
    }))
}

fn refused(failure: Failure) -> HttpResponse {
    failure.reply_to_anyone().into()
}
