//! Routes of everything that the register answers: the list of versions, the versions, and the pages for people.

use std::rc::Rc;

use actix_web::http::Method as HttpMethod;
use actix_web::http::header::ALLOW;
use actix_web::middleware::from_fn;
use actix_web::web::{Payload, ServiceConfig};
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, web};
use adapter_kit::Method;

use crate::endpoints::{openapi, version_list};
use crate::http::app_state::AppState;
use crate::http::error::ApiError;
use crate::http::middleware::deprecation::{DeprecationHeaders, methods};
use crate::http::paths;
use crate::http::paths::OpenApiDocument;
use crate::http::rate_limit::by_address::limit_pages;
use crate::http::routes::router::{Router, not_found};
use crate::operations::metrics::requests::RequestMetrics;
use crate::{pages, settings};

mod nearest_path;
mod router;

/// Configures the application: every route that the register answers.
pub fn configure(config: &mut ServiceConfig, state: &AppState) {
    // One for all requests of a worker.
    let state = Rc::new(state.clone());
    config.app_data(Rc::new(RequestMetrics::of(state.versions)));
    configure_version_list(config, &state);
    let routes = Rc::new(Router::of(&state));
    let answer = move |request: HttpRequest, payload: Payload| Rc::clone(&routes).dispatch(request, payload);
    config.service(web::scope(paths::API).default_service(web::to(answer)));
    pages::configure(config, &state);
    if let Some(settings) = &state.settings {
        settings::configure(config, &state, settings);
    }
    config.default_service(web::to(move |request: HttpRequest| std::future::ready(not_found(&state, &request))));
}

/// Configures a listener of the pages for people alone: the settings, the documents that they lead to, and the descriptions of
/// the API that these load.
pub fn configure_settings(config: &mut ServiceConfig, state: &AppState) {
    let state = Rc::new(state.clone());
    config.app_data(Rc::new(RequestMetrics::of(state.versions)));
    configure_version_list(config, &state);
    configure_openapi_documents(config, &state);
    pages::configure(config, &state);
    if let Some(settings) = &state.settings {
        settings::configure(config, &state, settings);
    }
    config.default_service(web::to(move |request: HttpRequest| std::future::ready(not_found(&state, &request))));
}

/// Configures the pages of operators on their own listener: the settings, and the files that these load.
pub fn configure_operator_pages(config: &mut ServiceConfig, state: &AppState) {
    pages::configure_files(config);
    if let Some(settings) = &state.settings {
        settings::configure(config, state, settings);
    }
}

fn configure_version_list(config: &mut ServiceConfig, state: &AppState) {
    let address_rate_limit = state.page_rate_limit.clone();
    let count = from_fn(move |request, next| limit_pages(address_rate_limit.clone(), request, next));
    config.service(version_list(state).wrap(count));
}

/// Configures the OpenAPI documents of all versions on a listener without the API.
fn configure_openapi_documents(config: &mut ServiceConfig, state: &AppState) {
    for served in state.versions.iter() {
        for document in OpenApiDocument::ALL {
            let (address_rate_limit, state) = (state.page_rate_limit.clone(), state.clone());
            let deprecation = DeprecationHeaders { version: served.version, versions: state.versions };
            let answer = move |request: HttpRequest| {
                let mut response = openapi::answer(served, document, &state, &request);
                deprecation.write(response.headers_mut(), None, request.path());
                std::future::ready(response)
            };
            let count = from_fn(move |request, next| limit_pages(address_rate_limit.clone(), request, next));
            config.service(read_only(&document.of(served.version.label), answer).wrap(count));
        }
    }
}

/// The list of versions.
fn version_list(state: &AppState) -> Resource {
    let state = state.clone();
    read_only(paths::VERSIONS, move |request: HttpRequest| {
        let response = version_list::answer(&state, &request);
        std::future::ready(response.unwrap_or_else(|failure| failure.response_without_version().into()))
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

/// The same resource, which answers what it is not asked with what it can be asked.
pub(crate) fn closed(resource: Resource, allowed: &[HttpMethod]) -> Resource {
    let allow = allow(allowed);
    resource.default_service(web::to(move |request: HttpRequest| std::future::ready(refuse(request.method(), &allow))))
}

/// The value of `Allow` for a path that takes these methods.
pub(crate) fn allow<'a>(methods: impl IntoIterator<Item = &'a HttpMethod>) -> String {
    methods.into_iter().chain([&HttpMethod::OPTIONS]).map(HttpMethod::as_str).collect::<Vec<_>>().join(", ")
}

/// The reply to a method that a path does not take, with what it takes.
pub(crate) fn refuse(method: &HttpMethod, allow: &str) -> HttpResponse {
    if method == HttpMethod::OPTIONS {
        return HttpResponse::NoContent().insert_header((ALLOW, allow)).finish();
    }
    ApiError::MethodNotAllowed { allow: allow.to_owned() }.response_without_version().into()
}
