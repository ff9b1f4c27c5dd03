//! The pages for errors. Clients that prefer JSON get the usual error.

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse};
use adapter_kit::{Label, Versions};
use askama::Template;
use gateway::error::page;
use http_kit::requests::media_types::prefers_html;
use http_kit::responses::page::Keep;

use crate::page_location::DocsLocation;

#[derive(Template)]
#[template(path = "pages/not_found.html")]
struct NotFound {
    place: DocsLocation,
    /// Newest first.
    versions: Vec<Label>,
}

/// For an error outside the documents.
#[derive(Template)]
#[template(path = "pages/error.html")]
struct ErrorPage {
    pages: ListenerPages,
    title: &'static str,
    text: &'static str,
}

/// Error pages link to the pages of their listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerPages {
    Documents,
    Settings,
    All,
}

impl ListenerPages {
    fn has_documents(self) -> bool {
        matches!(self, Self::Documents | Self::All)
    }

    fn has_settings(self) -> bool {
        matches!(self, Self::Settings | Self::All)
    }
}

/// Replaces a response with status 404 by a page that lists the versions, if the client prefers
/// HTML.
pub(super) async fn as_page<B: MessageBody>(
    versions: &'static Versions,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, BoxBody>>, Error> {
    let prefers_html = prefers_html(&request);
    let mut response = next.call(request).await?;
    if response.status() != StatusCode::NOT_FOUND {
        return Ok(response.map_into_left_body());
    }
    vary_by_accept(response.response_mut());
    if !prefers_html {
        return Ok(response.map_into_left_body());
    }
    let mut missing = page(
        StatusCode::NOT_FOUND,
        Keep::Fresh,
        NotFound {
            place: DocsLocation::Missing,
            versions: versions
                .iter()
                .rev()
                .map(|served| served.version.label)
                .collect(),
        }
        .render(),
    );
    vary_by_accept(&mut missing);
    Ok(response.into_response(missing).map_into_right_body())
}

/// Replaces a JSON error by a page if the client prefers HTML.
pub async fn with_error_pages<B: MessageBody>(
    pages: ListenerPages,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, BoxBody>>, Error> {
    let prefers_html = prefers_html(&request);
    let response = next.call(request).await?;
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|media_type| media_type.as_bytes().starts_with(b"application/json"));
    if !prefers_html || !is_json || response.status().is_success() {
        return Ok(response.map_into_left_body());
    }
    let mut error = error_page(response.status(), pages);
    // Browsers and caches need these headers of the replaced response.
    for name in [ALLOW, RETRY_AFTER] {
        if let Some(value) = response.headers().get(&name) {
            error.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response.into_response(error).map_into_right_body())
}

/// Returns `None` if the client does not prefer HTML.
#[must_use]
pub fn not_found_page(request: &impl HttpMessage, pages: ListenerPages) -> Option<HttpResponse> {
    prefers_html(request).then(|| error_page(StatusCode::NOT_FOUND, pages))
}

/// Returns `None` if the client does not prefer HTML.
#[must_use]
pub fn no_settings_page(request: &impl HttpMessage) -> Option<HttpResponse> {
    prefers_html(request).then(|| {
        ErrorPage {
            pages: ListenerPages::Documents,
            title: "No settings at this address",
            text: "Ask the operator of the register where you can manage tokens and users.",
        }
        .response(StatusCode::NOT_FOUND)
    })
}

fn error_page(status: StatusCode, pages: ListenerPages) -> HttpResponse {
    let (title, text) = match status {
        StatusCode::NOT_FOUND => (
            "Page not found",
            "Check the address, or start at a page of this list.",
        ),
        StatusCode::METHOD_NOT_ALLOWED => (
            "This address does not accept the request",
            "Nothing was changed. Open the page again and send its form.",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            "The request is too large",
            "Nothing was changed. Send less data at a time.",
        ),
        StatusCode::TOO_MANY_REQUESTS => (
            "Too many requests",
            "Too many requests came from your address. Try again in a minute.",
        ),
        StatusCode::SERVICE_UNAVAILABLE => ("The register is busy", "Try again in a moment."),
        status if status.is_client_error() => (
            "The request could not be answered",
            "Check the address, or start at a page of this list.",
        ),
        _ => (
            "Something went wrong",
            "The error was logged. Try again later.",
        ),
    };
    ErrorPage { pages, title, text }.response(status)
}

impl ErrorPage {
    fn response(&self, status: StatusCode) -> HttpResponse {
        let mut response = page(status, Keep::Fresh, self.render());
        vary_by_accept(&mut response);
        response
    }
}

/// Tells caches that the response depends on `Accept`.
fn vary_by_accept<B>(response: &mut HttpResponse<B>) {
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept"));
}
