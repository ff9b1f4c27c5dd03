//! Descriptions of the endpoints that differ between two versions.

use adapter_kit::{ApiVersion, Endpoint, Method};

use http_kit::responses::page::day;

/// An endpoint and its change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The method and path.
    pub(super) endpoint: String,
    /// The kind of the change.
    pub(super) kind: ChangeKind,
    /// The description of the change.
    pub(super) words: String,
}

/// The kind of a change, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChangeKind {
    /// The target version does not have the endpoint.
    Removed,
    /// The endpoint is deprecated in the target version.
    Deprecated,
    /// The endpoint is deprecated in the source version only.
    NoLongerDeprecated,
    /// Only the target version has the endpoint.
    New,
}

/// Returns the endpoints that differ between two versions, and the deprecated endpoints of the
/// target version, the most severe changes first.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let mut changes: Vec<Change> = Endpoint::ALL
        .iter()
        .filter_map(|endpoint| change(*endpoint, from, to))
        .collect();
    changes.sort_by_key(|change| change.kind);
    changes
}

/// Returns the change of an endpoint between two versions; `None` if there is nothing to report.
fn change(endpoint: Endpoint, from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let label = to.label;
    let replacement = to.endpoints.replacement(endpoint);
    let request = endpoint.row().request;
    let has_same_body =
        request.is_some() && replacement.is_some_and(|other| other.row().request == request);
    let same_body = if has_same_body {
        " with the same body"
    } else {
        ""
    };
    let (kind, words) = match (
        from.endpoints.has(endpoint),
        to.endpoints.has(endpoint),
        to.endpoints.deprecation(endpoint),
    ) {
        (_, true, Some(deprecation)) => (
            ChangeKind::Deprecated,
            format!(
                "deprecated in {label} from {}; removed in {}{}",
                day(deprecation.since),
                deprecation.removed_in,
                instead(replacement, same_body)
            ),
        ),
        (true, false, _) => (
            ChangeKind::Removed,
            format!(
                "not in {label}{}",
                instead(to.endpoints.counterpart(endpoint), "")
            ),
        ),
        (false, true, None) => (
            ChangeKind::New,
            format!("new in {label}. {}", endpoint.meaning()),
        ),
        (true, true, None) if from.endpoints.deprecation(endpoint).is_some() => (
            ChangeKind::NoLongerDeprecated,
            format!("not deprecated in {label}"),
        ),
        (true, true, None) | (false, false, _) => return None,
    };
    Some(Change {
        endpoint: named(endpoint),
        kind,
        words,
    })
}

/// Returns the end of a sentence that names the endpoint to use instead, with `how` after it.
fn instead(other: Option<Endpoint>, how: &str) -> String {
    other.map_or_else(
        || "; no endpoint replaces it".to_owned(),
        |other| format!("; use {}{how} instead", named(other)),
    )
}

/// Returns the method and the path, with a space that does not break lines.
fn named(endpoint: Endpoint) -> String {
    let method = match endpoint.method() {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::PutOrPatch => "PUT or PATCH",
        Method::Delete => "DELETE",
    };
    format!("{method}\u{a0}{}", endpoint.path())
}
