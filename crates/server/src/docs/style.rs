//! `GET /docs/style.css`: what the pages look like. The text is part of the program.

use std::sync::LazyLock;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use actix_web::{HttpRequest, HttpResponse, Resource};

use crate::entity_tag::{self, Comparison};
use crate::mount::read_only;

const STYLE: &str = include_str!("../../templates/docs/style.css");
/// How long a browser may use it without asking, in seconds.
const MAX_AGE_SECONDS: u32 = 3_600;

static ENTITY_TAG: LazyLock<String> = LazyLock::new(|| entity_tag::of(STYLE.as_bytes()));

/// The resource.
pub(super) fn resource() -> Resource {
    read_only("/style.css", |request: HttpRequest| std::future::ready(answer(&request)))
}

fn answer(request: &HttpRequest) -> HttpResponse {
    let header = request.headers().get(IF_NONE_MATCH).and_then(|header| header.to_str().ok());
    let cached = header.and_then(|tags| entity_tag::find(tags, &ENTITY_TAG, Comparison::Weak));
    let unchanged = cached.is_some();
    let mut response = if unchanged { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response
        .insert_header((ETAG, cached.as_ref().unwrap_or(&ENTITY_TAG).as_str()))
        .insert_header((CACHE_CONTROL, format!("public, max-age={MAX_AGE_SECONDS}")))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"));
    if unchanged {
        return response.finish();
    }
    response.insert_header((CONTENT_TYPE, "text/css; charset=utf-8")).body(STYLE)
}
