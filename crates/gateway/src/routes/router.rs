//! Finds the target of a path below `/api`: an endpoint of a version, one of its OpenAPI documents,
//! or a version that was removed.
//!
//! One radix tree for each method contains the paths of all versions, so that routing takes as long
//! with thirty versions as with three. actix-web would compare its scopes with a path one after the
//! other. A path of one method does not hide a pattern of another method: `GET /trainees/batch`
//! reads the trainee with the identifier `batch`.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Endpoint, Label, Method, Served, UnknownVersion, Versions, Wire};
use http_kit::paths::{self, OpenApiDocument};
use http_kit::requests::methods::methods;
use http_kit::responses::links;
use versions::REMOVED;

use crate::access_log;
use crate::deprecation::DeprecationHeaders;
use crate::dispatch;
use crate::endpoints::{self, openapi};
use crate::error::{ApiError, Missing};
use crate::request::PathIds;
use crate::routes::{allow, counterpart_path, refuse};
use crate::state::GatewayState;

/// The paths below `/api` and their targets.
pub(crate) struct Router {
    state: Arc<GatewayState>,
    /// By method, in the order of [`METHODS`].
    paths: [(Method, matchit::Router<VersionPath>); METHODS.len()],
    /// Served and removed versions by label, for requests whose path has no target.
    labels: HashMap<String, KnownLabel>,
}

/// The methods of endpoints, in the order of the `Allow` header.
const METHODS: [Method; 4] = [
    Method::Get,
    Method::Post,
    Method::PutOrPatch,
    Method::Delete,
];

/// The target of a path of a version, for one method.
struct VersionPath {
    served: &'static Served,
    /// Such as `/api/<version>/trainees/{trainee_id}`.
    pattern: Rc<str>,
    target: Target,
}

/// The part of the server that answers a path.
#[derive(Clone, Copy)]
enum Target {
    Endpoint(Endpoint),
    OpenApi(OpenApiDocument),
    /// The former path of an OpenAPI document.
    FormerOpenApi,
}

/// A version whose label may stand in a path.
enum KnownLabel {
    Served(DeprecationHeaders),
    Removed(Label),
}

impl Router {
    /// The paths of all versions that the register serves.
    pub(crate) fn new(state: &Arc<GatewayState>) -> Self {
        let paths = METHODS.map(|method| (method, matchit::Router::new()));
        let mut routes = Self {
            state: Arc::clone(state),
            paths,
            labels: HashMap::new(),
        };
        for removed in REMOVED {
            routes.labels.insert(
                removed.label.to_string(),
                KnownLabel::Removed(removed.label),
            );
        }
        for served in state.versions.iter() {
            for endpoint in endpoints::available(served, state.environment) {
                let target = Target::Endpoint(endpoint);
                let row = served.version.row(endpoint);
                routes.add(served, row.method, row.path, target);
            }
            for document in OpenApiDocument::ALL {
                routes.add(
                    served,
                    Method::Get,
                    document.path(),
                    Target::OpenApi(document),
                );
            }
            routes.add(
                served,
                Method::Get,
                paths::FORMER_OPENAPI_DOCUMENT,
                Target::FormerOpenApi,
            );
            let deprecation = DeprecationHeaders {
                version: served.version,
                versions: state.versions,
            };
            routes.labels.insert(
                served.version.label.to_string(),
                KnownLabel::Served(deprecation),
            );
        }
        routes
    }

    /// Adds a path of a version. `path` is below the path of the version.
    fn add(&mut self, served: &'static Served, method: Method, path: &'static str, target: Target) {
        let pattern = format!("{}{path}", served.version.label.base_path());
        let route = VersionPath {
            served,
            pattern: pattern.as_str().into(),
            target,
        };
        let of_method = self.paths.iter_mut().find(|(known, _)| *known == method);
        if let Some(Err(error)) = of_method.map(|(_, paths)| paths.insert(pattern.as_str(), route))
        {
            log::error!("endpoint not served: {method} {pattern}; {error}");
        }
    }

    /// Answers a request.
    pub(crate) async fn dispatch(
        self: Rc<Self>,
        request: HttpRequest,
        payload: Payload,
    ) -> HttpResponse {
        let path = request.match_info().as_str();
        let of_method = self
            .paths
            .iter()
            .find(|(method, _)| methods(*method).contains(request.method()));
        let Some(found) = of_method.and_then(|(_, paths)| paths.at(path).ok()) else {
            return self.without_method(&request);
        };
        let VersionPath {
            served,
            pattern,
            target,
        } = found.value;
        access_log::set_pattern(&request, Rc::clone(pattern));
        let ids = PathIds::from_path_parameters(served.version, |name| found.params.get(name));
        let (mut response, endpoint) = match *target {
            Target::Endpoint(endpoint) => {
                let (state, target) = (Arc::clone(&self.state), (*served, endpoint));
                let answer = dispatch::answer(state, target, request.clone(), ids, payload);
                (answer.await, Some(endpoint))
            }
            Target::OpenApi(document) => {
                let response = match self.state.page_rate_limit.count(&request) {
                    Ok(()) => openapi::answer(served, document, &self.state, &request),
                    Err(used_up) => ApiError::from_address_quota(used_up)
                        .response(&served.version.wire)
                        .into(),
                };
                (response, None)
            }
            Target::FormerOpenApi => (openapi::redirect(served), None),
        };
        self.deprecation(served)
            .write(response.headers_mut(), endpoint, request.path());
        links::add_help(&mut response, served.version.label);
        response
    }

    /// The reply to a method that the path does not have: `405` with the methods that the path has,
    /// or the reply for a path that does not exist.
    fn without_method(&self, request: &HttpRequest) -> HttpResponse {
        let path = request.match_info().as_str();
        let found: Vec<(Method, &VersionPath)> = self
            .paths
            .iter()
            .filter_map(|(method, paths)| Some((*method, paths.at(path).ok()?.value)))
            .collect();
        let Some((_, first)) = found.first() else {
            return self.no_path(request);
        };
        access_log::set_pattern(request, Rc::clone(&first.pattern));
        let taken = found.iter().flat_map(|(method, _)| methods(*method));
        let mut response = refuse(request.method(), &allow(taken), &first.served.version.wire);
        let deprecation = self.deprecation(first.served);
        let endpoints = found.iter().filter_map(|(_, route)| match route.target {
            Target::Endpoint(endpoint) => Some(endpoint),
            Target::OpenApi(_) | Target::FormerOpenApi => None,
        });
        deprecation.write(
            response.headers_mut(),
            deprecation.only_deprecated(endpoints),
            request.path(),
        );
        links::add_help(&mut response, first.served.version.label);
        response
    }

    /// The headers about the deprecation of a version.
    fn deprecation(&self, served: &'static Served) -> DeprecationHeaders {
        DeprecationHeaders {
            version: served.version,
            versions: self.state.versions,
        }
    }

    /// The reply for a path that does not exist, or that belongs to a removed version.
    fn no_path(&self, request: &HttpRequest) -> HttpResponse {
        // The first parts of `/api/<label>/...` are empty and `api`.
        let label = request
            .match_info()
            .as_str()
            .split('/')
            .nth(2)
            .unwrap_or_default();
        match self.labels.get(label) {
            Some(KnownLabel::Removed(label)) => {
                let served = self
                    .state
                    .versions
                    .iter()
                    .map(|served| served.version.label)
                    .collect();
                ApiError::Gone {
                    label: *label,
                    served,
                }
                .response_without_version()
                .into()
            }
            Some(KnownLabel::Served(deprecation)) => {
                let mut reply = not_found(&self.state, request, &deprecation.version.wire);
                deprecation.write(reply.headers_mut(), None, request.path());
                links::add_help(&mut reply, deprecation.version.label);
                reply
            }
            None => not_found(&self.state, request, &Wire::COMMON),
        }
    }
}

/// The reply for a path that does not exist.
pub(crate) fn not_found(state: &GatewayState, request: &HttpRequest, wire: &Wire) -> HttpResponse {
    let missing = match unknown_version(request.path(), state.versions) {
        Some(unknown) => Missing::Version(unknown),
        None => counterpart_path::find(request.path(), state.versions, state.environment)
            .map_or(Missing::Path, Missing::PathOfVersion),
    };
    ApiError::NotFound(missing).response(wire).into()
}

/// Returns the version in a path below `/api`, if this version is not served.
fn unknown_version(path: &str, versions: &Versions) -> Option<UnknownVersion> {
    let below = path.strip_prefix(paths::API)?.strip_prefix('/')?;
    let text = below.split('/').next().filter(|text| !text.is_empty())?;
    versions.named(text).err()
}
