//! The OpenAPI document of each version: for its clients, and for the files in which it is committed.

use std::sync::{Arc, OnceLock};

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Served, openapi};
use domain::Lists;

use crate::entity_tag::{Comparison, find};
use crate::reply::{JSON, Written};

/// The document of a version, written when it is first asked for.
#[derive(Debug, Clone)]
pub struct Document {
    served: &'static Served,
    lists: &'static Lists,
    written: Arc<OnceLock<Written>>,
}

impl Document {
    /// The document of a version in a register with these code lists.
    #[must_use]
    pub fn new(served: &'static Served, lists: &'static Lists) -> Self {
        Self { served, lists, written: Arc::default() }
    }

    /// Answers whoever asks for the document, with or without a token.
    #[must_use]
    pub fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let Written { body, entity_tag } = self.written.get_or_init(|| Written::of(written(self.served, self.lists)));
        let known = request.headers().get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let cached = known.and_then(|tags| find(tags, entity_tag, Comparison::Weak));
        let is_known = cached.is_some();
        let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        response
            .insert_header((ETAG, cached.as_ref().unwrap_or(entity_tag).as_str()))
            .insert_header((CACHE_CONTROL, "public, max-age=3600"));
        if is_known { response.finish() } else { response.insert_header((CONTENT_TYPE, JSON)).body(body.clone()) }
    }
}

/// The document as text, as it is served and committed.
#[must_use]
pub fn written(served: &Served, lists: &Lists) -> String {
    let mut text = serde_json::to_string_pretty(&openapi::document(served, lists)).unwrap_or_default();
    text.push('\n');
    text
}
