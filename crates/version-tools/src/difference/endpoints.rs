//! Endpoints that are new, removed or deprecated.

use adapter_kit::endpoint::Endpoint;
use adapter_kit::label::Label;
use adapter_kit::version::{ApiVersion, Deprecation};
use chrono::NaiveDate;
use serde::Serialize;
use serde::ser::Serializer;

use super::{Change, ChangeDetail, Effect};

/// A change of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointChange {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The kind of change.
    #[serde(flatten)]
    pub kind: EndpointChangeKind,
}

/// The kind of change of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum EndpointChangeKind {
    /// The endpoint is new.
    Added,
    /// The endpoint is removed.
    Removed {
        /// The replacement, if there is one.
        replaced_by: Option<Endpoint>,
    },
    /// The endpoint still works, but clients should stop using it.
    Deprecated {
        /// The first day of the deprecation.
        #[serde(serialize_with = "as_text")]
        since: NaiveDate,
        /// The replacement, if there is one.
        replaced_by: Option<Endpoint>,
        /// The version that removes the endpoint.
        removed_in: Label,
    },
    /// The endpoint is deprecated in the version that the client leaves, but not in the target
    /// version.
    NoLongerDeprecated,
}

/// Returns the changes of all endpoints.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    Endpoint::ALL
        .iter()
        .flat_map(|endpoint| endpoint_changes(*endpoint, from, to))
        .collect()
}

/// Returns the changes of an endpoint. A new endpoint can be deprecated at the same time.
fn endpoint_changes(endpoint: Endpoint, from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let deprecation = |version: &ApiVersion| version.endpoints.deprecation(endpoint);
    let mut kinds = Vec::new();
    match (from.endpoints.has(endpoint), to.endpoints.has(endpoint)) {
        (false, true) => kinds.push(EndpointChangeKind::Added),
        (true, false) => kinds.push(EndpointChangeKind::Removed {
            replaced_by: to.endpoints.counterpart(endpoint),
        }),
        (true, true) if deprecation(from).is_some() && deprecation(to).is_none() => {
            kinds.push(EndpointChangeKind::NoLongerDeprecated);
        }
        (true, true) | (false, false) => {}
    }
    if let Some(Deprecation {
        since, removed_in, ..
    }) = deprecation(to).filter(|_| deprecation(from).is_none())
    {
        let replaced_by = to.endpoints.replacement(endpoint);
        kinds.push(EndpointChangeKind::Deprecated {
            since: *since,
            replaced_by,
            removed_in: *removed_in,
        });
    }
    kinds
        .into_iter()
        .map(|kind| describe(EndpointChange { endpoint, kind }, to))
        .collect()
}

fn describe(change: EndpointChange, to: &ApiVersion) -> Change {
    let endpoint = change.endpoint;
    let succeeded = to
        .endpoints
        .deprecated
        .iter()
        .find(|deprecation| deprecation.endpoint.row().replaced_by == Some(endpoint));
    let (effect, summary, advice) = match change.kind {
        EndpointChangeKind::Added => (
            Effect::NewlyPossible,
            format!("New endpoint `{endpoint}`. {}", endpoint.meaning()),
            match succeeded {
                Some(deprecation) => format!(
                    "Use this endpoint instead of the deprecated `{}`.",
                    deprecation.endpoint
                ),
                None => "You can use this endpoint.".to_owned(),
            },
        ),
        EndpointChangeKind::Removed {
            replaced_by: Some(other),
        } => (
            Effect::Refused,
            format!("Removed endpoint `{endpoint}`."),
            format!("Use `{other}` instead of `{endpoint}`."),
        ),
        EndpointChangeKind::Removed { replaced_by: None } => (
            Effect::Refused,
            format!("Removed endpoint `{endpoint}`. {}", endpoint.meaning()),
            format!("Stop using `{endpoint}`. {} has no replacement.", to.label),
        ),
        EndpointChangeKind::Deprecated {
            since,
            replaced_by,
            removed_in,
        } => (
            Effect::WorthKnowing,
            format!("`{endpoint}` is deprecated from {since} and removed in {removed_in}."),
            replaced_by.map_or_else(
                || format!("Stop using `{endpoint}`."),
                |other| format!("Use `{other}` instead of `{endpoint}`."),
            ),
        ),
        EndpointChangeKind::NoLongerDeprecated => (
            Effect::WorthKnowing,
            format!("`{endpoint}` is no longer deprecated."),
            "You do not need to do anything.".to_owned(),
        ),
    };
    Change::new(
        effect,
        ChangeDetail::Endpoint(change),
        "endpoint",
        summary,
        advice,
    )
}

/// Serialises a day as text, such as `2026-10-05`.
fn as_text<S: Serializer>(day: &NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}
