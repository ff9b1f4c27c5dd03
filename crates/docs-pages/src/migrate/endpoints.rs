//! What becomes of the endpoints of one version in another, for people.

use adapter_kit::{ApiVersion, Endpoint, Method};

use http_kit::responses::page::day;

/// An endpoint and what becomes of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// What is asked of which path.
    pub(super) endpoint: String,
    /// What becomes of it.
    pub(super) words: String,
}

/// The endpoints that differ between two versions. An endpoint that ends in one version is listed
/// there too.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let ends = |endpoint| to.endpoints.deprecation(endpoint);
    let replacement = |endpoint: Endpoint| {
        to.endpoints
            .replacement(endpoint)
            .map_or_else(String::new, |other| format!("; use {}", named(other)))
    };
    let change = |endpoint: Endpoint| {
        let words = match (
            from.endpoints.has(endpoint),
            to.endpoints.has(endpoint),
            ends(endpoint),
        ) {
            (true, true, Some(deprecation)) => format!(
                "deprecated in {} from {}, and removed in {}{}",
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
