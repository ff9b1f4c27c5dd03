//! One trainee as a sequential machine: the reply and the next state of each operation.

use serde_json::Value;

use super::linearizability::Operation;

/// The fields that clients change.
pub(crate) const FIELDS: [&str; 3] = ["middle_names", "previous_last_name", "provider_trainee_id"];

/// What a client was shown of a trainee; as much of it makes the state of the trainee.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shown {
    /// The values of [`FIELDS`].
    fields: [Option<String>; 3],
    /// The identifiers of the placements, as they are ordered.
    pub(crate) placements: Vec<String>,
    /// The years of the degrees.
    degrees: Vec<i64>,
    /// The entity tag. In the state of a trainee: `None` if no client has received it since the
    /// last change.
    pub(crate) tag: Option<String>,
}

impl Shown {
    /// What a record shows, with the entity tag that came with it.
    pub(crate) fn from_record(record: &Value, tag: Option<String>) -> Self {
        let list = |name: &str| {
            record[name]
                .as_array()
                .unwrap_or_else(|| panic!("no {name}: {record}"))
                .iter()
        };
        Self {
            fields: FIELDS.map(|field| record[field].as_str().map(str::to_owned)),
            placements: list("placements")
                .map(|one| one["placement_id"].as_str().unwrap().to_owned())
                .collect(),
            degrees: list("degrees")
                .map(|one| one["graduation_year"].as_i64().unwrap())
                .collect(),
            tag,
        }
    }

    /// The state once a client has seen this of it; nothing when it cannot have done so.
    fn seen(mut self, shown: &Self) -> Option<Self> {
        let is_same = self.fields == shown.fields
            && self.placements == shown.placements
            && self.degrees == shown.degrees
            && (self.tag.is_none() || shown.tag.is_none() || self.tag == shown.tag);
        self.tag = self.tag.or_else(|| shown.tag.clone());
        is_same.then_some(self)
    }

    fn change(&mut self, field: usize, value: &str) {
        if self.fields[field].as_deref() != Some(value) {
            self.fields[field] = Some(value.to_owned());
            self.tag = None;
        }
    }
}

/// What a client asked for, and was answered.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    /// Registers the trainee; whether it was this request that did so.
    Register {
        is_first: bool,
        shown: Shown,
    },
    Read {
        shown: Shown,
    },
    /// Sets the field at this place.
    Update {
        field: usize,
        value: String,
        shown: Shown,
    },
    /// Like `Update`, if the trainee has the tag; otherwise no record is shown.
    UpdateIfMatch {
        tag: String,
        field: usize,
        value: String,
        shown: Option<Shown>,
    },
    AddPlacement {
        placement: String,
    },
    /// Nothing is shown when the placement is not there.
    DeletePlacement {
        placement: String,
        shown: Option<Shown>,
    },
    /// Adds a degree of this year; whether there was none.
    AddDegree {
        year: i64,
        is_new: bool,
    },
}

impl Operation for Request {
    /// Nothing before the trainee is registered.
    type State = Option<Shown>;

    fn apply(&self, state: &Option<Shown>) -> Option<Option<Shown>> {
        if let Self::Register { is_first, shown } = self {
            return match state {
                None => is_first.then(|| Some(shown.clone())),
                Some(state) if !is_first => state.clone().seen(shown).map(Some),
                Some(_) => None,
            };
        }
        let mut state = state.clone()?;
        let after = match self {
            Self::Register { .. } => None,
            Self::Read { shown } => state.seen(shown),
            Self::Update {
                field,
                value,
                shown,
            } => {
                state.change(*field, value);
                state.seen(shown)
            }
            Self::UpdateIfMatch {
                tag,
                field,
                value,
                shown: Some(shown),
            } => {
                if state.tag.as_ref().is_some_and(|known| known != tag) {
                    return None;
                }
                state.change(*field, value);
                state.seen(shown)
            }
            Self::UpdateIfMatch {
                tag, shown: None, ..
            } => (state.tag.as_ref() != Some(tag)).then_some(state),
            Self::AddPlacement { placement } => {
                state.placements.push(placement.clone());
                state.tag = None;
                Some(state)
            }
            Self::DeletePlacement {
                placement,
                shown: Some(shown),
            } => {
                let at = state.placements.iter().position(|one| one == placement)?;
                state.placements.remove(at);
                state.tag = None;
                state.seen(shown)
            }
            Self::DeletePlacement {
                placement,
                shown: None,
            } => (!state.placements.contains(placement)).then_some(state),
            Self::AddDegree { year, is_new } => {
                let at = state.degrees.partition_point(|other| other < year);
                if (state.degrees.get(at) != Some(year)) != *is_new {
                    return None;
                }
                if *is_new {
                    state.degrees.insert(at, *year);
                    state.tag = None;
                }
                Some(state)
            }
        };
        after.map(Some)
    }
}
