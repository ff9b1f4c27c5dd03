//! Endpoints that are new, removed or deprecated.

use adapter_kit::endpoint::{Endpoint, EndpointRow};
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
    /// The endpoint has another method, path or status of success.
    Changed {
        /// The endpoint before.
        #[serde(serialize_with = "as_name")]
        before: &'static EndpointRow,
        /// The endpoint after.
        #[serde(serialize_with = "as_name")]
        after: &'static EndpointRow,
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
        (true, true) => {
            if deprecation(from).is_some() && deprecation(to).is_none() {
                kinds.push(EndpointChangeKind::NoLongerDeprecated);
            }
            let (before, after) = (from.row(endpoint), to.row(endpoint));
            let told = |row: &EndpointRow| (row.method, row.path, row.status);
            if told(before) != told(after) {
                kinds.push(EndpointChangeKind::Changed { before, after });
            }
        }
        (false, false) => {}
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
        .map(|kind| describe(EndpointChange { endpoint, kind }, from, to))
        .collect()
}

/// Returns advice to use another endpoint, and whether it reads the same body.
fn instead(old: &EndpointRow, new: &EndpointRow) -> String {
    let same_body = if old.request.is_some() && old.request == new.request {
        " with the same body"
    } else {
        ""
    };
    format!(
        "Use `{}`{same_body} instead of `{}`.",
        new.name(),
        old.name()
    )
}

fn describe(change: EndpointChange, from: &ApiVersion, to: &ApiVersion) -> Change {
    let meaning = change.endpoint.meaning();
    let old = from.row(change.endpoint).name();
    let endpoint = to.row(change.endpoint).name();
    let instead = |other: Endpoint| instead(from.row(change.endpoint), to.row(other));
    let succeeded = to.endpoints.deprecated.iter().find(|deprecation| {
        to.endpoints.replacement(deprecation.endpoint) == Some(change.endpoint)
    });
    let (effect, summary, advice) = match change.kind {
        EndpointChangeKind::Added => (
            Effect::NewlyPossible,
            format!("New endpoint `{endpoint}`. {meaning}"),
            match succeeded {
                Some(deprecation) => format!(
                    "Use this endpoint instead of the deprecated `{}`.",
                    to.row(deprecation.endpoint).name()
                ),
                None => "You can use this endpoint.".to_owned(),
            },
        ),
        EndpointChangeKind::Removed {
            replaced_by: Some(other),
        } => (
            Effect::Refused,
            format!("Removed endpoint `{old}`."),
            instead(other),
        ),
        EndpointChangeKind::Removed { replaced_by: None } => (
            Effect::Refused,
            format!("Removed endpoint `{old}`. {meaning}"),
            format!("Stop using `{old}`. {} has no replacement.", to.label),
        ),
        EndpointChangeKind::Deprecated {
            since,
            replaced_by,
            removed_in,
        } => (
            Effect::WorthKnowing,
            format!("`{endpoint}` is deprecated from {since} and removed in {removed_in}."),
            replaced_by.map_or_else(|| format!("Stop using `{endpoint}`."), instead),
        ),
        EndpointChangeKind::Changed { before, after } => changed(before, after),
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

/// Returns the effect, the summary and the advice for an endpoint with another method, path or
/// status.
fn changed(before: &EndpointRow, after: &EndpointRow) -> (Effect, String, String) {
    let (old, new) = (before.name(), after.name());
    let mut sentences = Vec::new();
    if old != new {
        sentences.push(format!("`{old}` is `{new}`."));
    }
    if before.status != after.status {
        sentences.push(format!(
            "A successful reply of `{new}` has the status {} instead of {}.",
            after.status, before.status
        ));
    }
    if old != new {
        let advice = format!("Use `{new}` instead of `{old}`.");
        return (Effect::Refused, sentences.join(" "), advice);
    }
    let advice = format!("Accept the status {}.", after.status);
    (Effect::ReadDifferently, sentences.join(" "), advice)
}

/// Serialises an endpoint as its method and path.
fn as_name<S: Serializer>(row: &EndpointRow, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&row.name())
}

/// Serialises a day as text, such as `2026-10-05`.
fn as_text<S: Serializer>(day: &NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}
