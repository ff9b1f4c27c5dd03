//! `GET /api/versions`: lists all versions with their dates and documents (contract, section 9.5).
//! Needs no token.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::compose::Data;
use adapter_kit::lifecycle::Removed;
use adapter_kit::{ApiVersion, Label, Status, Versions};
use http_kit::paths::{self, OpenApiDocument};
use http_kit::responses::sending::JSON;
use serde::Serialize;
use versions::REMOVED;

use crate::error::ApiError;
use crate::response::DATA_POLICY;
use crate::state::GatewayState;

/// How long a client may keep the list, in seconds.
const MAX_AGE_SECONDS: u32 = 3_600;

/// A version in the list.
#[derive(Debug, Serialize)]
struct Listed {
    label: String,
    status: &'static str,
    since: Option<String>,
    deprecated_on: Option<String>,
    sunset_on: Option<String>,
    removed: bool,
    successor: Option<String>,
    links: Links,
}

/// The addresses of a version and its documents; null for those that do not exist.
#[derive(Debug, Default, Serialize)]
struct Links {
    #[serde(rename = "self")]
    base: Option<String>,
    documentation: Option<String>,
    openapi: Option<String>,
    openapi_3_0: Option<String>,
    release_notes: Option<String>,
    migration_guide: Option<String>,
}

/// Returns the list of versions; needs no token.
///
/// # Errors
///
/// If the list cannot be written as JSON, which does not happen.
pub fn answer(state: &GatewayState, request: &HttpRequest) -> Result<HttpResponse, ApiError> {
    let list = state
        .contents
        .get(paths::VERSIONS, || list(state.versions))?;
    let caching = format!("public, max-age={MAX_AGE_SECONDS}");
    let headers = [
        (CONTENT_TYPE, JSON),
        (CACHE_CONTROL, caching.as_str()),
        (CONTENT_SECURITY_POLICY, DATA_POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok(list.response(request, &headers))
}

/// The list as JSON, newest version first.
fn list(versions: &Versions) -> Result<Vec<u8>, ApiError> {
    let mut listed: Vec<(Label, Listed)> = versions
        .iter()
        .map(|served| {
            (
                served.version.label,
                served_version(served.version, versions),
            )
        })
        .chain(
            REMOVED
                .iter()
                .map(|removed| (removed.label, removed_version(removed, versions))),
        )
        .collect();
    listed.sort_by_key(|(label, _)| std::cmp::Reverse(*label));
    let listed: Vec<Listed> = listed.into_iter().map(|(_, version)| version).collect();
    serde_json::to_vec(&Data { data: listed }).map_err(ApiError::unwritable)
}

/// The entry of a version that is served.
fn served_version(version: &ApiVersion, versions: &Versions) -> Listed {
    let label = version.label;
    Listed {
        label: label.to_string(),
        status: match version.publication.status {
            Status::Released => "released",
            Status::SandboxOnly => "sandbox",
        },
        since: version.publication.since.as_ref().map(ToString::to_string),
        deprecated_on: version
            .publication
            .deprecated_on
            .as_ref()
            .map(ToString::to_string),
        sunset_on: version
            .publication
            .sunset_on
            .as_ref()
            .map(ToString::to_string),
        removed: false,
        successor: versions
            .successor(label)
            .map(|successor| successor.to_string()),
        links: Links {
            base: Some(label.base_path()),
            documentation: Some(paths::documentation(label)),
            openapi: Some(OpenApiDocument::Version31.versioned_path(label)),
            openapi_3_0: Some(OpenApiDocument::Version30.versioned_path(label)),
            release_notes: Some(paths::release_notes(label)),
            migration_guide: migration_guide(label, versions),
        },
    }
}

/// The entry of a removed version. Its successor is the newest version, not the next one, which
/// will be removed next.
fn removed_version(removed: &Removed, versions: &Versions) -> Listed {
    Listed {
        label: removed.label.to_string(),
        status: "removed",
        since: Some(removed.since.to_string()),
        deprecated_on: None,
        sunset_on: None,
        removed: true,
        successor: versions
            .newest()
            .map(|newest| newest.version.label.to_string()),
        links: Links {
            migration_guide: migration_guide(removed.label, versions),
            ..Links::default()
        },
    }
}

/// The address of the migration guide to the newest version; `None` for the newest version.
fn migration_guide(label: Label, versions: &Versions) -> Option<String> {
    let newest = versions.newest()?.version.label;
    (newest != label).then(|| paths::migration_guide(label, newest))
}
