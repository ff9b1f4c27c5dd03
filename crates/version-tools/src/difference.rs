//! What changes for a client that moves from one version to another, and what to do about it, as
//! data.
//!
//! It is computed from the values of the two versions and the dictionary, in either direction and
//! between any two. It knows no particular version, and nothing of what lies between the two. Two
//! rules count as the same when they have the same name, demand the same and read the same fields,
//! whatever the versions call these; what a rule does inside cannot be compared.

use std::fmt;

use adapter_kit::label::Label;
use adapter_kit::versions::Served;
use domain::Lists;
use serde::Serialize;
use serde_json::{Map, Value, json};

mod accepted_codes;
mod endpoints;
mod fields;
mod lists;
mod markdown;
mod messages;
mod read_only_names;
mod rules;
mod wire;

pub use accepted_codes::{CodeName, CodeSuccessor, CodesChange, CodesChangeKind, YearsChange};
pub use endpoints::{EndpointChange, EndpointChangeKind};
pub use fields::{FieldChange, FieldChangeKind};
pub use lists::NestedInListsChange;
pub use messages::{NestedErrorsChange, VocabularyChange};
pub use read_only_names::ReadOnlyNamesChange;
pub use rules::{RuleChange, RuleChangeKind, RuleStage, RuleSummary};
pub use wire::{WireChange, WirePart};

/// What is different in a version, for a client of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The version that the client was written for.
    pub from: Label,
    /// The version that it moves to.
    pub to: Label,
    /// What changes, in the order of the effects.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its effect on a client that stays as it is.
    pub effect: Effect,
    /// Whether it breaks such a client.
    pub breaking: bool,
    /// What it is about: a record, an endpoint, or a place in a contract.
    pub of: String,
    /// What changes, in Markdown.
    pub summary: String,
    /// What to do about it, in Markdown.
    pub advice: String,
    /// The same JSON before and after, where that says more than words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Example>,
    /// What changed, as data.
    #[serde(flatten)]
    pub detail: ChangeDetail,
}

/// JSON before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// As the version had it that the client was written for.
    pub before: String,
    /// As the version has it that it moves to.
    pub after: String,
}

/// The effect of a change on a client that stays as it is; the most breaking first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A request that was accepted is refused.
    Refused,
    /// A request is accepted, and something else is recorded.
    #[serde(rename = "recorded_otherwise")]
    RecordedDifferently,
    /// A response is to be read differently.
    #[serde(rename = "read_otherwise")]
    ReadDifferently,
    /// Nothing changes for the client yet.
    WorthKnowing,
    /// The client can do something that it could not do before.
    NewlyPossible,
}

impl Effect {
    /// All effects, in order.
    pub const ALL: &'static [Self] = &[
        Self::Refused,
        Self::RecordedDifferently,
        Self::ReadDifferently,
        Self::WorthKnowing,
        Self::NewlyPossible,
    ];

    /// Whether it breaks a client that stays as it is.
    #[must_use]
    pub const fn is_breaking(self) -> bool {
        match self {
            Self::Refused | Self::RecordedDifferently | Self::ReadDifferently => true,
            Self::WorthKnowing | Self::NewlyPossible => false,
        }
    }
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum ChangeDetail {
    /// A field of a request or of a response.
    Field(FieldChange),
    /// Read-only names that the other version does not know.
    ReadOnlyNames(ReadOnlyNamesChange),
    /// An endpoint.
    Endpoint(EndpointChange),
    /// A rule, or a gate.
    Rule(RuleChange),
    /// The codes of a list that a request can have.
    Codes(CodesChange),
    /// The academic years in which some subjects are funded without student finance.
    ExceptionYears(YearsChange),
    /// A term in messages.
    #[serde(rename = "word")]
    Vocabulary(VocabularyChange),
    /// The form of the problems in nested items.
    NestedErrors(NestedErrorsChange),
    /// The nested records in lists of trainees.
    NestedInLists(NestedInListsChange),
    /// A way of writing something.
    Wire(WireChange),
    /// A committed contract.
    Contract {
        /// The name of a field, a path or a code.
        subject: String,
    },
}

impl Change {
    pub(crate) fn new(
        effect: Effect,
        detail: ChangeDetail,
        of: impl Into<String>,
        summary: String,
        advice: String,
    ) -> Self {
        Self {
            effect,
            breaking: effect.is_breaking(),
            of: of.into(),
            summary,
            advice,
            example: None,
            detail,
        }
    }

    /// The change with JSON before and after it.
    pub(crate) fn with_example(self, before: &Value, after: &Value) -> Self {
        Self {
            example: Some(Example {
                before: before.to_string(),
                after: after.to_string(),
            }),
            ..self
        }
    }

    /// What a change log names: a field, a path or a code of a contract, or what the change is
    /// about.
    #[must_use]
    pub fn subject(&self) -> &str {
        if let ChangeDetail::Contract { subject } = &self.detail {
            subject
        } else {
            &self.of
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.of, self.summary)
    }
}

impl Difference {
    /// What is different in one version, for a client of the other.
    #[must_use]
    pub fn between(from: &Served, to: &Served, lists: &Lists) -> Self {
        let mut changes = fields::changes(from, to);
        changes.extend(read_only_names::changes(from, to));
        changes.extend(rules::changes(from.version, to.version));
        changes.extend(accepted_codes::changes(from.version, to.version, lists));
        changes.extend(endpoints::changes(from.version, to.version));
        changes.extend(lists::changes(from.version, to.version));
        changes.extend(messages::changes(from.version, to.version));
        changes.extend(wire::changes(from.version, to.version, lists));
        changes.sort_by_key(|change| change.effect);
        Self {
            from: from.version.label,
            to: to.version.label,
            changes,
        }
    }

    /// Whether a client of one can use the other as it is, and finds nothing new.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes that break a client that stays as it is.
    pub fn breaking(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.breaking)
    }

    /// The changes with this effect.
    pub fn with_effect(&self, effect: Effect) -> impl Iterator<Item = &Change> {
        self.changes
            .iter()
            .filter(move |change| change.effect == effect)
    }

    /// The changes of fields.
    pub fn fields(&self) -> impl Iterator<Item = &FieldChange> {
        self.details(|detail| {
            if let ChangeDetail::Field(field) = detail {
                Some(field)
            } else {
                None
            }
        })
    }

    /// The changes of endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &EndpointChange> {
        self.details(|detail| {
            if let ChangeDetail::Endpoint(endpoint) = detail {
                Some(endpoint)
            } else {
                None
            }
        })
    }

    /// The changes of rules and gates.
    pub fn rules(&self) -> impl Iterator<Item = &RuleChange> {
        self.details(|detail| {
            if let ChangeDetail::Rule(rule) = detail {
                Some(rule)
            } else {
                None
            }
        })
    }

    /// The changes of accepted codes.
    pub fn codes(&self) -> impl Iterator<Item = &CodesChange> {
        self.details(|detail| {
            if let ChangeDetail::Codes(codes) = detail {
                Some(codes)
            } else {
                None
            }
        })
    }

    fn details<'a, T: 'a>(
        &'a self,
        of: fn(&'a ChangeDetail) -> Option<&'a T>,
    ) -> impl Iterator<Item = &'a T> {
        self.changes
            .iter()
            .filter_map(move |change| of(&change.detail))
    }
}

#[cfg(test)]
mod tests;

/// An object with a value at the path of a field.
fn at_path(path: &str, value: Value) -> Value {
    at_paths([(path, value)])
}

/// An object with values at the paths of fields, those of a group in one object.
fn at_paths<'a>(values: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let mut object = Map::new();
    for (path, value) in values {
        let Some((group, name)) = path.split_once('.') else {
            object.insert(path.to_owned(), value);
            continue;
        };
        if let Some(members) = object
            .entry(group)
            .or_insert_with(|| json!({}))
            .as_object_mut()
        {
            members.insert(name.to_owned(), value);
        }
    }
    Value::Object(object)
}
