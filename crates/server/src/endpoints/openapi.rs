//! The OpenAPI document of each version: for its clients, and for the files in which it is committed.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::Served;
use domain::Lists;
use version_tools::openapi;

use crate::http::app_state::AppState;
use crate::http::paths;
use crate::http::response::JSON;

/// Answers whoever asks for the document of a version, with or without a token.
#[must_use]
pub fn answer(served: &Served, register: &AppState, request: &HttpRequest) -> HttpResponse {
    let address = paths::openapi(served.version.label);
    match register.contents.get(&address, || Ok(written(served, register.lists).into_bytes())) {
        Ok(document) => document.response(request, &[(CONTENT_TYPE, JSON), (CACHE_CONTROL, "public, max-age=3600")]),
        Err(failure) => failure.response_without_version().into(),
    }
}

/// The document as text, as it is served and committed.
#[must_use]
pub fn written(served: &Served, lists: &Lists) -> String {
    let mut text = serde_json::to_string_pretty(&openapi::document(served, lists)).unwrap_or_default();
    text.push('\n');
    text
}
