//! The OpenAPI documents of each version, for its clients and for the committed files.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::Served;
use domain::Lists;
use http_kit::paths::OpenApiDocument;
use http_kit::responses::sending::JSON;
use version_tools::openapi;

use crate::error::ApiError;
use crate::state::GatewayState;

/// Answers a request for an OpenAPI document of a version; needs no token.
#[must_use]
pub fn answer(
    served: &Served,
    document: OpenApiDocument,
    state: &GatewayState,
    request: &HttpRequest,
) -> HttpResponse {
    let address = document.versioned_path(served.version.label);
    let bytes = || {
        written(served, document, state.lists)
            .map(String::into_bytes)
            .map_err(ApiError::unwritable)
    };
    match state.contents.get(&address, bytes) {
        Ok(document) => document.response(
            request,
            &[
                (CONTENT_TYPE, JSON),
                (CACHE_CONTROL, "public, max-age=3600"),
            ],
        ),
        Err(failure) => failure.response_without_version().into(),
    }
}

/// Redirects from [`http_kit::paths::FORMER_OPENAPI_DOCUMENT`] to the OpenAPI document of a version.
#[must_use]
pub fn redirect(served: &Served) -> HttpResponse {
    let address = OpenApiDocument::Version31.versioned_path(served.version.label);
    HttpResponse::PermanentRedirect()
        .insert_header((LOCATION, address))
        .finish()
}

/// The document as text, as it is served and committed.
///
/// # Errors
///
/// When a value of the document cannot be JSON.
pub fn written(
    served: &Served,
    document: OpenApiDocument,
    lists: &Lists,
) -> Result<String, serde_json::Error> {
    let version_3_1 = openapi::document(served, lists);
    let mut text = match document {
        OpenApiDocument::Version31 => serde_json::to_string_pretty(&version_3_1),
        OpenApiDocument::Version30 => serde_json::to_value(version_3_1)
            .and_then(|document| serde_json::to_string_pretty(&openapi::in_version_3_0(document))),
    }?;
    text.push('\n');
    Ok(text)
}
