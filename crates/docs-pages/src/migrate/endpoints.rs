//! Descriptions of the endpoints that differ between two versions.

use adapter_kit::{ApiVersion, Endpoint, Method};

use http_kit::responses::page::day;

/// An endpoint and its change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The method and path.
    pub(super) endpoint: String,
    /// The description of the change.
    pub(super) words: String,
}

/// Returns the endpoints that differ between two versions, and the deprecated endpoints of the
/// target version.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let replacement = |endpoint: Endpoint| {
        to.endpoints
            .replacement(endpoint)
            .map_or_else(String::new, |other| format!("; use {}", named(other)))
    };
    let change = |endpoint: Endpoint| {
        let words = match (
            from.endpoints.has(endpoint),
            to.endpoints.has(endpoint),
            to.endpoints.deprecation(endpoint),
        ) {
            (true, true, Some(deprecation)) => format!(
                "deprecated in {} from {}; removed in {}{}",
                to.label,
                day(deprecation.since),
                deprecation.removed_in,
                replacement(endpoint)
            ),
            (true, false, _) => format!("not in {}{}", to.label, replacement(endpoint)),
            (false, true, _) => format!("new in {}", to.label),
            (true, true, None) | (false, false, _) => return None,
        };
        Some(Change {
            endpoint: named(endpoint),
            words,
        })
    };
    Endpoint::ALL.iter().copied().filter_map(change).collect()
}

fn named(endpoint: Endpoint) -> String {
    let method = match endpoint.method() {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::PutOrPatch => "PUT or PATCH",
        Method::Delete => "DELETE",
    };
    format!("{method}\u{a0}{}", endpoint.path())
}
