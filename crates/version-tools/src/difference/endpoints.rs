//! Endpoints that have come, gone, or should no longer be used.

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
    /// How it changed.
    #[serde(flatten)]
    pub kind: EndpointChangeKind,
}

/// How an endpoint changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum EndpointChangeKind {
    /// It is new.
    Added,
    /// It is removed.
    Removed {
        /// What to use instead.
        replaced_by: Option<Endpoint>,
    },
    /// It still works, and should no longer be used.
    Deprecated {
        /// The day since when.
        #[serde(serialize_with = "as_text")]
        since: NaiveDate,
        /// What to use instead.
        replaced_by: Option<Endpoint>,
        /// The version in which it is removed.
        removed_in: Label,
    },
    /// It should not be used in the other version, and can be here.
    NoLongerDeprecated,
}

/// The changes of all endpoints.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    Endpoint::ALL
        .iter()
        .flat_map(|endpoint| endpoint_changes(*endpoint, from, to))
        .collect()
}

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
        .find(|gone| gone.endpoint.row().replaced_by == Some(endpoint));
    let (effect, summary, advice) = match change.kind {
        EndpointChangeKind::Added => (
            Effect::NewlyPossible,
            format!("There is `{endpoint}`. {}", endpoint.meaning()),
            match succeeded {
                Some(gone) => format!(
                    "Use it instead of `{}`, which is deprecated.",
                    gone.endpoint
                ),
                None => "Use it if you need it.".to_owned(),
            },
        ),
        EndpointChangeKind::Removed {
            replaced_by: Some(other),
        } => (
            Effect::Refused,
            format!("There is no `{endpoint}`."),
            format!("Use `{other}` instead of `{endpoint}`."),
        ),
        EndpointChangeKind::Removed { replaced_by: None } => (
            Effect::Refused,
            format!("There is no `{endpoint}`. {}", endpoint.meaning()),
            format!(
                "Do without `{endpoint}`: nothing in {} takes its place.",
                to.label
            ),
        ),
        EndpointChangeKind::Deprecated {
            since,
            replaced_by,
            removed_in,
        } => (
            Effect::WorthKnowing,
            format!("`{endpoint}` is deprecated since {since}, and removed in {removed_in}."),
            replaced_by.map_or_else(
                || format!("Stop using `{endpoint}`."),
                |other| format!("Use `{other}` instead of `{endpoint}`."),
            ),
        ),
        EndpointChangeKind::NoLongerDeprecated => (
            Effect::WorthKnowing,
            format!("`{endpoint}` is not deprecated."),
            "Nothing to do.".to_owned(),
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

fn as_text<S: Serializer>(day: &NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}
