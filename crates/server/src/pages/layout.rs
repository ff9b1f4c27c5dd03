//! A page as it is sent: HTML with the headers that keep it to itself. What stands on it is not known here.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::Label;
use askama::Template;
use chrono::NaiveDate;

use crate::http::error::ApiError;
use crate::http::etag;
use crate::http::shared_content::{Condition, SharedContent, conditional};

/// Nothing is loaded but the style, from here; nothing is run; no other page frames this one.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// To be requested again each time.
const FRESH: &str = "no-cache";

/// Where a reader is, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The list of versions.
    Index,
    /// The page that rewrites a body.
    Migrate,
    /// What is written about versions.
    Written,
    /// A document of a version.
    Document(Label),
    /// The search in the documents of a version.
    Search(Label),
    /// No page.
    Missing,
}

impl Place {
    /// The version whose documents are read.
    pub(super) fn version(self) -> Option<Label> {
        match self {
            Self::Document(label) | Self::Search(label) => Some(label),
            Self::Index | Self::Migrate | Self::Written | Self::Missing => None,
        }
    }

    /// Whether the page has a search of its own.
    pub(super) fn is_search(self) -> bool {
        matches!(self, Self::Search(_))
    }
}

/// A page that may be kept for a while, or must not be kept at all because it shows what somebody sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// To be requested again each time.
    Fresh,
    /// Not to be stored anywhere.
    Never,
}

/// The media type of a page.
pub(super) const HTML: &str = "text/html; charset=utf-8";

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

/// A page that is the same for everyone, and holds nothing of a request.
pub(super) fn shared_page(request: &HttpRequest, content: &SharedContent) -> HttpResponse {
    content.response(request, &headers(FRESH))
}

/// A page without anything that somebody sent in a body, with its entity tag. It is not compressed.
pub(super) fn tagged_page(request: &HttpRequest, html: String) -> HttpResponse {
    let tag = etag::of(html.as_bytes());
    match conditional(request, &tag, &headers(FRESH)) {
        Condition::Cached(mut response) => response.finish(),
        Condition::Modified(mut response) => response.body(html),
    }
}

/// The text of a page.
pub(super) fn html(template: &impl Template) -> Result<String, askama::Error> {
    template.render()
}

/// The page as a reply. One that could not be written is reported like any internal error.
pub(crate) fn page(status: StatusCode, keep: Keep, html: Result<String, askama::Error>) -> HttpResponse {
    let html = match html {
        Ok(html) => html,
        Err(error) => return ApiError::UnwritablePage(error).response_without_version().into(),
    };
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

/// A day as people write it.
pub(crate) fn day(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}
