//! `GET /docs/differences?from=&to=`: the target of the form with two versions. Redirects to the
//! page with the difference.

use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{Label, Versions};

use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;

/// Returns the resource.
pub(super) fn resource(state: &GatewayState) -> Resource {
    let versions = state.versions;
    let answer =
        move |request: HttpRequest| std::future::ready(redirect(request.query_string(), versions));
    read_only("/differences", answer)
}

/// Redirects to the page about the versions in the query, or returns status 404.
fn redirect(query: &str, versions: &Versions) -> HttpResponse {
    match version_in(query, "from", versions).zip(version_in(query, "to", versions)) {
        Some((from, to)) => HttpResponse::SeeOther()
            .insert_header((LOCATION, paths::differences(from, to)))
            .finish(),
        None => ApiError::NotFound(Missing::Path)
            .response_without_version()
            .into(),
    }
}

/// Returns the version in a parameter of the query, if it is served.
fn version_in(query: &str, name: &str, versions: &Versions) -> Option<Label> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name)?;
    let label = value.parse().ok()?;
    versions.find(label).map(|served| served.version.label)
}
