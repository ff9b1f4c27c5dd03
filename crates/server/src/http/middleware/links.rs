//! Links in the headers of replies (RFC 8288): added to those that are there, and to the page that helps with an error.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderValue, LINK};
use adapter_kit::Label;

use crate::pages::documents;

/// What a link to help says of itself.
const HELP: &str = "rel=\"help\"";

/// A link to the page of problems of a version, at a code or a status.
#[must_use]
pub fn help(label: Label, problem: &str) -> String {
    format!("<{}>; {HELP}; type=\"text/html\"", documents::about_problem(label, problem))
}

/// Adds a link to the headers of a reply, in one header with those that are there. Links consist of labels, dates and parts
/// of paths, and are always the value of a header.
pub fn add(headers: &mut HeaderMap, link: &str) {
    let before = headers.get(LINK).and_then(|links| links.to_str().ok());
    let links = before.map_or_else(|| link.to_owned(), |before| format!("{before}, {link}"));
    if let Ok(links) = HeaderValue::from_str(&links) {
        headers.insert(LINK, links);
    }
}

/// Adds a link to the page about the status, where a version refuses a request and the reply has no such link yet. A
/// version that is gone says where to go by its links, and a cursor that is gone by having none.
pub fn add_help(response: &mut HttpResponse, label: Label) {
    let status = response.status();
    let has_help = || response.headers().get_all(LINK).any(|links| links.to_str().is_ok_and(|links| links.contains(HELP)));
    if status.is_client_error() && status != StatusCode::GONE && !has_help() {
        add(response.headers_mut(), &help(label, &documents::status_anchor(status.as_u16())));
    }
}
