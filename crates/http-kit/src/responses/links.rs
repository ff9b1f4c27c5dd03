//! Links in the `Link` headers of replies (RFC 8288), such as a link to the page that helps with an
//! error.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderValue, LINK};
use adapter_kit::Label;

use crate::paths;

/// The relation type of a link to a page that helps with an error.
const HELP: &str = "rel=\"help\"";

/// A link to the page of problems of a version, at a code or a status.
#[must_use]
pub fn help(label: Label, problem: &str) -> String {
    format!(
        "<{}>; {HELP}; type=\"text/html\"",
        paths::problem(label, problem)
    )
}

/// Adds links to the `Link` header of a reply, before those that the header has already.
pub fn add_first(headers: &mut HeaderMap, links: &str) {
    let others = existing_links(headers).map_or_else(String::new, |others| format!(", {others}"));
    set_links(headers, &format!("{links}{others}"));
}

fn existing_links(headers: &HeaderMap) -> Option<&str> {
    headers.get(LINK).and_then(|links| links.to_str().ok())
}

/// Replaces the `Link` header. Links consist of labels, dates and parts of paths, so they are
/// always valid as the value of a header.
fn set_links(headers: &mut HeaderMap, links: &str) {
    if let Ok(links) = HeaderValue::from_str(links) {
        headers.insert(LINK, links);
    }
}

/// Adds a link to the page about the status of an error of the client, unless the reply has a link
/// to help already. A reply with the status 410 gets no link: for a removed version it links to the
/// migration guide already, and an outdated cursor needs no page.
pub fn add_help(response: &mut HttpResponse, label: Label) {
    let status = response.status();
    let others = existing_links(response.headers());
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
    set_links(response.headers_mut(), &links);
}
