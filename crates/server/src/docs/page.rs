//! A page as it is sent: HTML with the headers that keep it to itself. What stands on it is not known here.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use askama::Template;
use chrono::NaiveDate;

use crate::failure::Failure;

/// Nothing is loaded but the style, from here; nothing is run; no other page frames this one.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Where a reader is, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The list of versions.
    Index,
    /// The page that rewrites a body.
    Migrate,
}

/// A page that may be kept for a while, or must not be kept at all because it shows what somebody sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// To be asked for again each time.
    Fresh,
    /// Not to be stored anywhere.
    Never,
}

/// The text of a page.
pub(super) fn html(template: &impl Template) -> Result<String, askama::Error> {
    template.render()
}

/// The page as a reply. One that could not be written is told like any failure of ours.
pub(super) fn page(status: StatusCode, keep: Keep, html: Result<String, askama::Error>) -> HttpResponse {
    let html = match html {
        Ok(html) => html,
        Err(error) => return Failure::UnwritablePage(error).reply_to_anyone().into(),
    };
    let caching = match keep {
        Keep::Fresh => "no-cache",
        Keep::Never => "no-store",
    };
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CACHE_CONTROL, caching))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(html)
}

/// A day as people write it.
pub(super) fn day(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}
