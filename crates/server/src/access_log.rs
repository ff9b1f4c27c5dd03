//! One line in the log for each request: what was asked, by its pattern, and how it went. Never a name, an address or a
//! token.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest};
use storage::identifiers::Identifiers;

/// Names the request in logs and in the reply.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest identifier of a request that a client can choose.
const MAX_REQUEST_ID: usize = 64;

/// Answers the request and writes its line.
///
/// # Errors
///
/// Those of the service behind.
pub async fn log(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let started = Instant::now();
    let id = chosen_id(&request);
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    let mut response = next.call(request).await?;
    let pattern = response.request().match_pattern();
    let (version, route) = split(pattern.as_deref());
    log::info!(
        target: "access",
        "{id} {method} {route} {version} {} {:.1} ms",
        response.status().as_u16(),
        started.elapsed().as_secs_f64() * 1_000.0
    );
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    Ok(response)
}

/// The identifier of a request on its way through the server.
struct RequestId(String);

/// By what the request is known in the log and in the history of records; nothing outside the server.
#[must_use]
pub fn request_id(request: &HttpRequest) -> Option<String> {
    request.extensions().get::<RequestId>().map(|RequestId(id)| id.clone())
}

/// The client's identifier when it is well formed, else a new one.
fn chosen_id(request: &ServiceRequest) -> String {
    let sent = request.headers().get(REQUEST_ID).and_then(|header| header.to_str().ok()).unwrap_or_default();
    let well_formed = (1..=MAX_REQUEST_ID).contains(&sent.len())
        && sent.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if well_formed {
        return sent.to_owned();
    }
    Identifiers::draw(1).ok().and_then(|drawn| drawn.next()).unwrap_or_else(|| "-".to_owned())
}

/// The version and the rest of a pattern such as `/api/<version>/trainees/{trainee_id}`.
fn split(pattern: Option<&str>) -> (&str, &str) {
    let Some(pattern) = pattern else { return ("-", "-") };
    match pattern.strip_prefix("/api/").and_then(|rest| rest.split_at_checked(rest.find('/')?)) {
        Some(parts) => parts,
        None => ("-", pattern),
    }
}
