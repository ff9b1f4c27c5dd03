//! Replies with a page: HTML with headers for security and caching.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, NaiveDate, Utc};

use domain::values::iso_8601::timestamp;

use crate::responses::etag;
use crate::responses::shared_content::{Condition, SharedContent, conditional};

/// The content security policy. A page loads only the style, the icon and the script, from this
/// server. It runs no other scripts, and no other page can show it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// `Cache-Control` of a page that browsers may store but must request again each time.
const FRESH: &str = "no-cache";

/// Whether caches may store a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Caches may store the page, but must request it again each time.
    Fresh,
    /// Caches must not store the page, because it shows data that a client sent.
    Never,
}

/// The media type of a page.
pub const HTML: &str = "text/html; charset=utf-8";

/// The headers of every page. `caching` is the value of `Cache-Control`.
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

/// A reply with a page and the headers of every page.
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

/// A recent time as HTML: the short time, with the full time for programs and as title.
pub fn time(time: DateTime<Utc>) -> String {
    time_element(time, &short_time(time))
}

/// Like [`time`], but with the year, for entries that are kept for years.
pub fn time_with_year(time: DateTime<Utc>) -> String {
    time_element(time, &time.format("%-d %b %Y, %H:%M").to_string())
}

/// An element with `words`, the full time for programs, and the full time as title.
fn time_element(time: DateTime<Utc>, words: &str) -> String {
    let full = timestamp(time);
    let title = time.format("%Y-%m-%d %H:%M:%S UTC");
    format!("<time datetime=\"{full}\" title=\"{title}\">{words}</time>")
}

/// The length of a name that fits a line of a table on a telephone, in bytes.
const SHORT_NAME: usize = 24;

/// A name as HTML. A browser may break a long one after `_`, `.` and `/`, and nowhere else.
pub fn breakable(name: &str) -> String {
    let is_long = name.len() > SHORT_NAME;
    let mut html = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            character => html.push(character),
        }
        if is_long && matches!(character, '_' | '.' | '/') {
            html.push_str("<wbr>");
        }
    }
    html
}

/// A day for people: `26 November 2025`.
pub fn day(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    #[test]
    fn time_has_short_words_and_the_full_time() {
        let at = Utc.with_ymd_and_hms(2026, 11, 26, 11, 37, 5).unwrap();
        assert_eq!(
            time(at),
            "<time datetime=\"2026-11-26T11:37:05.000Z\" title=\"2026-11-26 11:37:05 UTC\">26 Nov, 11:37</time>"
        );
        assert!(time_with_year(at).contains(">26 Nov 2026, 11:37<"));
    }

    #[test]
    fn long_name_is_escaped_and_breaks_after_separators() {
        assert_eq!(
            breakable("degrees_attributes[0].<subject>"),
            "degrees_<wbr>attributes[0].<wbr>&lt;subject&gt;"
        );
        assert_eq!(breakable("a_b"), "a_b");
    }
}
