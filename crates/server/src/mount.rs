//! Mounts one scope for each version, with the routes that follow from its endpoints.

use std::collections::BTreeMap;
use std::rc::Rc;

use actix_web::dev::HttpServiceFactory;
use actix_web::http::Method as HttpMethod;
use actix_web::http::header::ALLOW;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder};
use adapter_kit::{Endpoint, Label, Method, Served, Versions};

use crate::answer::Asked;
use crate::docs;
use crate::failure::{Failure, Missing};
use crate::lifecycle::{Life, VersionPath, methods};
use crate::measures::requests::{OPENAPI, RequestMeasures};
use crate::operations::{self, Operation};
use crate::register::Register;
use crate::versions::REMOVED;
use crate::visitors::{Visitors, count_page};
use crate::{addresses, nearest_path, openapi, version_list};

/// Mounts everything that the register answers.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    let versions = register.versions;
    // One for all requests of a worker.
    let shared = Rc::new(register.clone());
    config.app_data(Rc::new(RequestMeasures::of(versions)));
    let count = |visitors: Visitors| from_fn(move |request, next| count_page(visitors.clone(), request, next));
    config.service(version_list(register).wrap(count(register.page_visitors.clone())));
    for served in versions.iter() {
        let life = Life { version: served.version, versions };
        let scope = web::scope(&addresses::base(served.version.label));
        let scope = scope.default_service(web::to(move |request: HttpRequest| {
            let mut reply = not_found(request.path(), versions);
            life.write(reply.headers_mut(), None, request.path());
            std::future::ready(reply)
        }));
        let owned = register.clone();
        let document = read_only(OPENAPI, move |request: HttpRequest| {
            std::future::ready(openapi::answer(served, &owned, &request))
        });
        let document = document.wrap(count(register.page_visitors.clone()));
        let path = VersionPath::of(life, OPENAPI, Vec::new());
        let scope = scope.service(document.wrap(from_fn(move |request, next| path.clone().tell(request, next))));
        config.service(
            paths(served)
                .into_iter()
                .fold(scope, |scope, (path, endpoints)| scope.service(resource(&shared, served, path, endpoints))),
        );
    }
    let labels: Vec<Label> = versions.iter().map(|served| served.version.label).collect();
    for removed in REMOVED {
        let labels = labels.clone();
        let gone = move || {
            let failure = Failure::Gone { label: removed.label, served: labels.clone() };
            std::future::ready(HttpResponse::from(failure.reply_to_anyone()))
        };
        config.service(web::scope(&addresses::base(removed.label)).default_service(web::to(gone)));
    }
    docs::mount(config, register);
    config
        .default_service(web::to(move |request: HttpRequest| std::future::ready(not_found(request.path(), versions))));
}

/// The list of versions.
fn version_list(register: &Register) -> Resource {
    let register = register.clone();
    read_only(addresses::VERSIONS, move |request: HttpRequest| {
        let response = version_list::answer(&register, &request);
        std::future::ready(response.unwrap_or_else(|failure| failure.reply_to_anyone().into()))
    })
}

/// A resource that is read and nothing else.
pub(crate) fn read_only<F, A>(path: &str, handler: F) -> Resource
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let reading = methods(Method::Get);
    let routes = reading.iter().map(|method| web::method(method.clone()).to(handler.clone()));
    closed(routes.fold(web::resource(path), Resource::route), reading)
}

/// The paths of a version, each with what it is asked.
fn paths(served: &Served) -> BTreeMap<&'static str, Vec<(Endpoint, Operation)>> {
    let mut paths: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for endpoint in served.version.endpoints.all() {
        paths.entry(endpoint.path()).or_default().push((endpoint, operations::of(endpoint)));
    }
    paths
}

/// The routes of one path, which say on every reply what ends.
fn resource(
    register: &Rc<Register>,
    served: &'static Served,
    path: &str,
    endpoints: Vec<(Endpoint, Operation)>,
) -> impl HttpServiceFactory + 'static {
    let mut resource = web::resource(path);
    let mut allowed = Vec::new();
    for (endpoint, operation) in endpoints.iter().copied() {
        for method in methods(endpoint.method()) {
            let register = Rc::clone(register);
            let handler = move |request: HttpRequest, payload: Payload| {
                let asked = Asked { served, endpoint, operation };
                asked.answer(Rc::clone(&register), request, payload)
            };
            resource = resource.route(web::method(method.clone()).to(handler));
            allowed.push(method.clone());
        }
    }
    let life = Life { version: served.version, versions: register.versions };
    let path = VersionPath::of(life, path, endpoints.into_iter().map(|(endpoint, _)| endpoint).collect());
    closed(resource, &allowed).wrap(from_fn(move |request, next| path.clone().tell(request, next)))
}

/// The same resource, which answers what it is not asked with what it can be asked.
pub(crate) fn closed(resource: Resource, allowed: &[HttpMethod]) -> Resource {
    let allowed = allowed.iter().chain([&HttpMethod::OPTIONS]).map(ToString::to_string);
    let allow = allowed.collect::<Vec<_>>().join(", ");
    let options = allow.clone();
    resource
        .route(
            web::method(HttpMethod::OPTIONS).to(move || {
                std::future::ready(HttpResponse::NoContent().insert_header((ALLOW, options.clone())).finish())
            }),
        )
        .default_service(web::to(move || {
            let failure = Failure::MethodNotAllowed { allow: allow.clone() };
            std::future::ready(HttpResponse::from(failure.reply_to_anyone()))
        }))
}

fn not_found(path: &str, versions: &Versions) -> HttpResponse {
    let missing = nearest_path::of(path, versions).map_or(Missing::Path, Missing::PathLike);
    Failure::NotFound(missing).reply_to_anyone().into()
}
