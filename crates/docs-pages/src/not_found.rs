//! The page for status 404. Clients that do not accept HTML get the usual error.

use actix_web::Error;
use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{Accept, Header as _, HeaderValue, VARY};
use actix_web::middleware::Next;
use adapter_kit::{Label, Versions};
use askama::Template;
use gateway::error::page;
use http_kit::responses::page::Keep;

use crate::page_location::{DocsLocation, html};

#[derive(Template)]
#[template(path = "pages/not_found.html")]
struct NotFound {
    place: DocsLocation,
    /// The served versions, newest first.
    versions: Vec<Label>,
}

/// Replaces a response with status 404 by a page that lists the versions, if the client accepts
/// HTML.
///
/// # Errors
///
/// Returns the errors of the inner service.
pub(super) async fn as_page<B: MessageBody>(
    versions: &'static Versions,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, BoxBody>>, Error> {
    let accepts_html = accepts_html(&request);
    let mut response = next.call(request).await?;
    if response.status() != StatusCode::NOT_FOUND {
        return Ok(response.map_into_left_body());
    }
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept"));
    if !accepts_html {
        return Ok(response.map_into_left_body());
    }
    let mut missing = page(
        StatusCode::NOT_FOUND,
        Keep::Fresh,
        html(&NotFound {
            place: DocsLocation::Missing,
            versions: versions
                .iter()
                .rev()
                .map(|served| served.version.label)
                .collect(),
        }),
    );
    missing
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response.into_response(missing).map_into_right_body())
}

/// Whether the client lists HTML in `Accept`, as browsers do. `*/*` does not count, because
/// programs send it.
fn accepts_html(request: &ServiceRequest) -> bool {
    let accepted = Accept::parse(request)
        .map(|accept| accept.ranked())
        .unwrap_or_default();
    accepted
        .iter()
        .any(|media| media.essence_str() == "text/html")
}
