//! Endpoints that have come, gone, or should no longer be used.

use adapter_kit::endpoint::Endpoint;
use adapter_kit::label::Label;
use adapter_kit::version::{ApiVersion, Deprecation};
use chrono::NaiveDate;
use serde::Serialize;
use serde::ser::Serializer;

use super::{About, Change, Effect};

/// A change of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointChange {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// What has become of it.
    #[serde(flatten)]
    pub turn: EndpointTurn,
}

/// What has become of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum EndpointTurn {
    /// It has come.
    Added,
    /// It has gone.
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
        replaced_by: Endpoint,
        /// The version in which it is gone.
        removed_in: Label,
    },
    /// It should not be used in the other version, and can be here.
    NoLongerDeprecated,
}

/// The changes of all endpoints.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    Endpoint::ALL.iter().flat_map(|endpoint| of(*endpoint, from, to)).collect()
}

fn of(endpoint: Endpoint, from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let has = |version: &ApiVersion| version.endpoints.all().any(|other| other == endpoint);
    let deprecation = |version: &ApiVersion| version.endpoints.deprecation(endpoint);
    let mut turns = Vec::new();
    match (has(from), has(to)) {
        (false, true) => turns.push(EndpointTurn::Added),
        (true, false) => turns.push(EndpointTurn::Removed { replaced_by: instead(endpoint, from, to) }),
        (true, true) if deprecation(from).is_some() && deprecation(to).is_none() => {
            turns.push(EndpointTurn::NoLongerDeprecated);
        }
        (true, true) | (false, false) => {}
    }
    if let Some(Deprecation { since, replaced_by, removed_in, .. }) = deprecation(to)
        && deprecation(from).is_none()
    {
        turns.push(EndpointTurn::Deprecated { since: *since, replaced_by: *replaced_by, removed_in: *removed_in });
    }
    turns.into_iter().map(|turn| told(EndpointChange { endpoint, turn }, to)).collect()
}

/// What does in a version what an endpoint of the other does: its successor there, or what it succeeds.
fn instead(endpoint: Endpoint, from: &ApiVersion, to: &ApiVersion) -> Option<Endpoint> {
    let successor = from.endpoints.deprecation(endpoint).map(|gone| gone.replaced_by);
    let succeeded = from.endpoints.deprecated.iter().find(|gone| gone.replaced_by == endpoint);
    let candidates = [successor, succeeded.map(|gone| gone.endpoint)];
    candidates.into_iter().flatten().find(|other| to.endpoints.all().any(|there| there == *other))
}

fn told(change: EndpointChange, to: &ApiVersion) -> Change {
    let endpoint = change.endpoint;
    let succeeded = to.endpoints.deprecated.iter().find(|gone| gone.replaced_by == endpoint);
    let (effect, summary, advice) = match change.turn {
        EndpointTurn::Added => (
            Effect::NewlyPossible,
            format!("There is `{endpoint}`. {}", endpoint.meaning()),
            match succeeded {
                Some(gone) => format!("Use it instead of `{}`, which is deprecated.", gone.endpoint),
                None => "Use it if you need it.".to_owned(),
            },
        ),
        EndpointTurn::Removed { replaced_by: Some(other) } => {
            (Effect::Refused, format!("There is no `{endpoint}`."), format!("Use `{other}` instead of `{endpoint}`."))
        }
        EndpointTurn::Removed { replaced_by: None } => (
            Effect::Refused,
            format!("There is no `{endpoint}`. {}", endpoint.meaning()),
            format!("Do without `{endpoint}`: nothing in {} takes its place.", to.label),
        ),
        EndpointTurn::Deprecated { since, replaced_by, removed_in } => (
            Effect::WorthKnowing,
            format!("`{endpoint}` is deprecated since {since}, and removed in {removed_in}."),
            format!("Use `{replaced_by}` instead of `{endpoint}`."),
        ),
        EndpointTurn::NoLongerDeprecated => {
            (Effect::WorthKnowing, format!("`{endpoint}` is not deprecated."), "Nothing to do.".to_owned())
        }
    };
    Change::new(effect, About::Endpoint(change), "endpoint", summary, advice)
}

fn as_text<S: Serializer>(day: &NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}
