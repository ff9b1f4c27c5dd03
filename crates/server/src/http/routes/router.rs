//! Finds what a path below `/api` stands for: endpoints of a version, its OpenAPI document, or a version that was removed.
//!
//! The paths of all versions stand in one radix tree, so that routing takes as long for one of thirty versions as for one of
//! three: actix-web compares its scopes with a path one after the other.

use std::collections::HashMap;
use std::rc::Rc;

use actix_web::http::Method as HttpMethod;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Endpoint, Label, Method, Served};

use crate::endpoints;
use crate::endpoints::{Handler, openapi};
use crate::http::app_state::AppState;
use crate::http::dispatch::Route;
use crate::http::error::{ApiError, Missing};
use crate::http::middleware::access_log;
use crate::http::middleware::deprecation::{DeprecationHeaders, methods};
use crate::http::paths;
use crate::http::request::PathIds;
use crate::http::routes::{allow, nearest_path, refuse};
use crate::operations::metrics::requests::OPENAPI;
use crate::versions::REMOVED;

/// What there is below `/api`.
pub(crate) struct Router {
    register: Rc<AppState>,
    paths: matchit::Router<VersionPath>,
    /// The version whose path matches nothing, by the label behind `/api/`.
    labels: HashMap<String, KnownLabel>,
}

/// A path of a version.
struct VersionPath {
    served: &'static Served,
    /// Such as `/api/<version>/trainees/{trainee_id}`.
    pattern: Rc<str>,
    target: Target,
    /// The methods that it takes, for `Allow`.
    allow: String,
}

enum Target {
    Endpoints(Vec<(Endpoint, Handler)>),
    OpenApi,
}

enum KnownLabel {
    Served(DeprecationHeaders),
    Removed(Label),
}

impl Router {
    /// The paths of all versions that the register serves.
    pub(crate) fn of(register: &Rc<AppState>) -> Self {
        let mut routes = Self { register: Rc::clone(register), paths: matchit::Router::new(), labels: HashMap::new() };
        for removed in REMOVED {
            routes.labels.insert(removed.label.to_string(), KnownLabel::Removed(removed.label));
        }
        for served in register.versions.iter() {
            let mut endpoints: HashMap<&'static str, Vec<(Endpoint, Handler)>> = HashMap::new();
            for endpoint in endpoints::available(served, register.environment) {
                endpoints.entry(endpoint.path()).or_default().push((endpoint, endpoints::of(endpoint)));
            }
            for (path, endpoints) in endpoints {
                routes.add(served, path, Target::Endpoints(endpoints));
            }
            routes.add(served, OPENAPI, Target::OpenApi);
            let deprecation = DeprecationHeaders { version: served.version, versions: register.versions };
            routes.labels.insert(served.version.label.to_string(), KnownLabel::Served(deprecation));
        }
        routes
    }

    fn add(&mut self, served: &'static Served, path: &'static str, target: Target) {
        let pattern = format!("{}{path}", paths::base(served.version.label));
        let allow = allow(target.methods());
        let route = VersionPath { served, pattern: pattern.as_str().into(), target, allow };
        if let Err(error) = self.paths.insert(pattern.as_str(), route) {
            log::error!("{pattern} is not served: {error}");
        }
    }

    /// Answers a request.
    pub(crate) async fn dispatch(self: Rc<Self>, request: HttpRequest, payload: Payload) -> HttpResponse {
        let Ok(found) = self.paths.at(request.match_info().as_str()) else { return self.nothing(&request) };
        let route = found.value;
        access_log::set_pattern(&request, Rc::clone(&route.pattern));
        let deprecation = DeprecationHeaders { version: route.served.version, versions: self.register.versions };
        let ids = PathIds::of(|name| found.params.get(name));
        let (mut response, endpoint) = match &route.target {
            Target::Endpoints(endpoints) => {
                let found_endpoint =
                    endpoints.iter().find(|(endpoint, _)| methods(endpoint.method()).contains(request.method()));
                let response = match found_endpoint {
                    Some((endpoint, handler)) => {
                        let api_route = Route { served: route.served, endpoint: *endpoint, handler: *handler };
                        api_route.dispatch(Rc::clone(&self.register), request.clone(), ids, payload).await
                    }
                    None => refuse(request.method(), &route.allow),
                };
                let all = endpoints.iter().map(|(endpoint, _)| *endpoint);
                (response, found_endpoint.map(|(endpoint, _)| *endpoint).or_else(|| deprecation.only_deprecated(all)))
            }
            Target::OpenApi if methods(Method::Get).contains(request.method()) => {
                let response = match self.register.page_rate_limit.count(&request) {
                    Ok(()) => openapi::answer(route.served, &self.register, &request),
                    Err(failure) => failure.response_without_version().into(),
                };
                (response, None)
            }
            Target::OpenApi => (refuse(request.method(), &route.allow), None),
        };
        deprecation.write(response.headers_mut(), endpoint, request.path());
        response
    }

    /// The reply where nothing is.
    fn nothing(&self, request: &HttpRequest) -> HttpResponse {
        let label = request.match_info().as_str().split('/').nth(2).unwrap_or_default();
        match self.labels.get(label) {
            Some(KnownLabel::Removed(label)) => {
                let served = self.register.versions.iter().map(|served| served.version.label).collect();
                ApiError::Gone { label: *label, served }.response_without_version().into()
            }
            Some(KnownLabel::Served(deprecation)) => {
                let mut reply = not_found(&self.register, request);
                deprecation.write(reply.headers_mut(), None, request.path());
                reply
            }
            None => not_found(&self.register, request),
        }
    }
}

impl Target {
    fn methods(&self) -> impl Iterator<Item = &'static HttpMethod> {
        let taken: Vec<Method> = match self {
            Self::Endpoints(endpoints) => endpoints.iter().map(|(endpoint, _)| endpoint.method()).collect(),
            Self::OpenApi => vec![Method::Get],
        };
        taken.into_iter().flat_map(methods)
    }
}

/// The reply for a path that there is not.
pub(crate) fn not_found(register: &AppState, request: &HttpRequest) -> HttpResponse {
    let nearest = nearest_path::of(request.path(), register.versions, register.environment);
    let missing = nearest.map_or(Missing::Path, Missing::PathLike);
    ApiError::NotFound(missing).response_without_version().into()
}
