//! Links in the headers of replies (RFC 8288): added to those that are there, and to the page that
//! helps with an error.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderValue, LINK};
use adapter_kit::Label;

use crate::paths;

/// What a link to help says of itself.
const HELP: &str = "rel=\"help\"";

/// A link to the page of problems of a version, at a code or a status.
#[must_use]
pub fn help(label: Label, problem: &str) -> String {
    format!(
        "<{}>; {HELP}; type=\"text/html\"",
        paths::problem(label, problem)
    )
}

/// Adds links to the headers of a reply, in one header and before those that are there. Links
/// consist of labels, dates and parts of paths, and are always the value of a header.
pub fn add_first(headers: &mut HeaderMap, links: &str) {
    let others = there(headers).map_or_else(String::new, |others| format!(", {others}"));
    set(headers, &format!("{links}{others}"));
}

fn there(headers: &HeaderMap) -> Option<&str> {
    headers.get(LINK).and_then(|links| links.to_str().ok())
}

fn set(headers: &mut HeaderMap, links: &str) {
    if let Ok(links) = HeaderValue::from_str(links) {
        headers.insert(LINK, links);
    }
}

/// Adds a link to the page about the status, where a version refuses a request and the reply has no
/// such link yet. A reply with the status 410 gets none: that of a removed version has links to the
/// migration guide already, and that of an outdated cursor needs no page.
pub fn add_help(response: &mut HttpResponse, label: Label) {
    let status = response.status();
    let others = there(response.headers());
    if !status.is_client_error()
        || status == StatusCode::GONE
        || others.is_some_and(|links| links.contains(HELP))
    {
        return;
    }
    let others = others.map_or_else(String::new, |others| format!("{others}, "));
    let links = format!(
        "{others}{}",
        help(label, &paths::status_anchor(status.as_str()))
    );
    set(response.headers_mut(), &links);
}
