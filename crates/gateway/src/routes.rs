//! The routes of the API, and functions that build routes of pages.

use std::rc::Rc;
use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method as HttpMethod;
use actix_web::http::header::{ALLOW, LOCATION};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{Payload, ServiceConfig};
use actix_web::{Error, FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, web};
use adapter_kit::{Method, Wire};
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::metrics::requests::RequestMetrics;
use http_kit::paths;
use http_kit::requests::methods::methods;

use crate::endpoints::version_list;
use crate::error::ApiError;
use crate::routes::router::{Router, not_found};
use crate::state::GatewayState;

mod counterpart_path;
mod router;

/// Configures the API: the list of versions, and every path below `/api`.
pub fn configure(config: &mut ServiceConfig, state: &GatewayState) {
    // One state for all requests of a worker.
    let state = Arc::new(state.clone());
    config.app_data(Rc::new(RequestMetrics::new(state.versions)));
    configure_version_list(config, &state);
    let routes = Rc::new(Router::new(&state));
    let answer =
        move |request: HttpRequest, payload: Payload| Rc::clone(&routes).dispatch(request, payload);
    config.service(web::scope(paths::API).default_service(web::to(answer)));
}

/// Configures the reply to every other path. `page` returns the reply for a browser, or `None` for
/// a program, which gets the error as JSON.
pub fn configure_not_found<P>(config: &mut ServiceConfig, state: &GatewayState, page: P)
where
    P: Fn(&HttpRequest) -> Option<HttpResponse> + Clone + 'static,
{
    let state = Arc::new(state.clone());
    config.default_service(web::to(move |request: HttpRequest| {
        let reply = page(&request).unwrap_or_else(|| not_found(&state, &request, &Wire::COMMON));
        std::future::ready(reply)
    }));
}

/// Redirects the path `/` of a listener to its pages.
pub fn home(pages: &'static str) -> Resource {
    read_only("/", move || {
        // A temporary redirect, because another program may later have the same address.
        std::future::ready(
            HttpResponse::TemporaryRedirect()
                .insert_header((LOCATION, pages))
                .finish(),
        )
    })
}

/// Configures the list of versions, with a rate limit by address.
fn configure_version_list(config: &mut ServiceConfig, state: &GatewayState) {
    let address_rate_limit = state.page_rate_limit.clone();
    let count =
        from_fn(move |request, next| limit_pages(address_rate_limit.clone(), request, next));
    config.service(version_list(state).wrap(count));
}

/// The resource that returns the list of versions.
fn version_list(state: &GatewayState) -> Resource {
    let state = state.clone();
    read_only(paths::VERSIONS, move |request: HttpRequest| {
        let response = version_list::answer(&state, &request);
        std::future::ready(
            response.unwrap_or_else(|failure| failure.response_without_version().into()),
        )
    })
}

/// A resource that answers `GET` and `HEAD` only.
pub fn read_only<F, A>(path: &str, handler: F) -> Resource
where
    F: Handler<A>,
    A: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let reading = methods(Method::Get);
    let routes = reading
        .iter()
        .map(|method| web::method(method.clone()).to(handler.clone()));
    closed(routes.fold(web::resource(path), Resource::route), reading)
}

/// Adds a default service that answers 405 with an `Allow` header.
pub fn closed(resource: Resource, allowed: &[HttpMethod]) -> Resource {
    let allow = allow(allowed);
    resource.default_service(web::to(move |request: HttpRequest| {
        std::future::ready(refuse(request.method(), &allow, &Wire::COMMON))
    }))
}

/// The value of `Allow` for a path with these methods.
pub(crate) fn allow<'a>(methods: impl IntoIterator<Item = &'a HttpMethod>) -> String {
    methods
        .into_iter()
        .chain([&HttpMethod::OPTIONS])
        .map(HttpMethod::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The reply to a method that a path does not have: `405`, or `204` to `OPTIONS`. `allow` lists the
/// methods that the path has.
pub(crate) fn refuse(method: &HttpMethod, allow: &str, wire: &Wire) -> HttpResponse {
    if method == HttpMethod::OPTIONS {
        return HttpResponse::NoContent()
            .insert_header((ALLOW, allow))
            .finish();
    }
    ApiError::MethodNotAllowed {
        allow: allow.to_owned(),
    }
    .response(wire)
    .into()
}

/// Answers a request for a public page, unless its address has read too many pages. Only `GET` and
/// `HEAD` count here; handlers count requests that cause more work.
///
/// # Errors
///
/// The errors of the next service.
pub async fn limit_pages<B: MessageBody>(
    address_rate_limit: AddressRateLimit,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let is_read = [HttpMethod::GET, HttpMethod::HEAD].contains(request.method());
    let counted = if is_read {
        address_rate_limit.count(request.request())
    } else {
        Ok(())
    };
    match counted {
        Ok(()) => Ok(next.call(request).await?.map_into_left_body()),
        Err(failure) => {
            let response = HttpResponse::from(
                ApiError::from_address_quota(failure).response_without_version(),
            );
            Ok(request.into_response(response).map_into_right_body())
        }
    }
}
