//! A page as it is sent: HTML with the headers that keep it to itself. What stands on it is not
//! known here.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, NaiveDate, Utc};

use crate::responses::etag;
use crate::responses::shared_content::{Condition, SharedContent, conditional};

/// Nothing is loaded but the style, from here; nothing is run; no other page frames this one.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// To be requested again each time.
const FRESH: &str = "no-cache";

/// A page that may be cached, or must not be cached because it shows data that a client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// To be requested again each time.
    Fresh,
    /// Not to be stored anywhere.
    Never,
}

/// The media type of a page.
pub const HTML: &str = "text/html; charset=utf-8";

/// The headers of every page, with how it may be stored.
fn headers(caching: &'static str) -> [(HeaderName, &'static str); 5] {
    [
        (CONTENT_TYPE, HTML),
        (CACHE_CONTROL, caching),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
}

/// A page without data of a request, which all clients share.
pub fn shared_page(request: &HttpRequest, content: &SharedContent) -> HttpResponse {
    content.response(request, &headers(FRESH))
}

/// A page without data of a request body, with its entity tag. It is not compressed.
pub fn tagged_page(request: &HttpRequest, html: String) -> HttpResponse {
    let tag = etag::compute(html.as_bytes());
    match conditional(request, &tag, &headers(FRESH)) {
        Condition::Cached(mut response) => response.finish(),
        Condition::Modified(mut response) => response.body(html),
    }
}

/// The page as a reply.
pub fn page(status: StatusCode, keep: Keep, html: String) -> HttpResponse {
    let caching = match keep {
        Keep::Fresh => FRESH,
        Keep::Never => "no-store",
    };
    let mut response = HttpResponse::build(status);
    for header in headers(caching) {
        response.insert_header(header);
    }
    response.body(html)
}

/// A time in UTC for people: `26 Nov, 11:37`.
pub fn short_time(time: DateTime<Utc>) -> String {
    time.format("%-d %b, %H:%M").to_string()
}

/// A day as people write it.
pub fn day(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}
