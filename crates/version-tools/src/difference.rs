//! The changes that a client meets when it moves to another version, with advice, as data.
//!
//! Differences are computed from the values of any two versions and the dictionary, in either
//! direction. Versions between the two are not considered. Two rules are the same if they have the
//! same name, the same description and read the same fields, regardless of the names of these
//! fields.
//! The code of rules cannot be compared.

use std::fmt;

use adapter_kit::label::Label;
use adapter_kit::versions::Served;
use domain::Lists;
use serde::Serialize;
use serde_json::Value;

mod accepted_codes;
mod endpoints;
mod examples;
mod fields;
mod lists;
mod markdown;
mod messages;
mod read_only_names;
mod rules;
mod sections;
mod wire;

pub use accepted_codes::{CodeName, CodesChange, CodesChangeKind, YearsChange};
pub use endpoints::{EndpointChange, EndpointChangeKind};
pub use fields::{FieldChange, FieldChangeKind, FieldUse, Rewriting, WrittenMembers};
pub use lists::NestedInListsChange;
pub use messages::{NestedErrorsChange, VocabularyChange};
pub use read_only_names::ReadOnlyNamesChange;
pub use rules::{RuleChange, RuleChangeKind, RuleStage, RuleSummary};
pub use sections::Section;
pub use wire::{WireChange, WirePart};

/// The difference between two versions, for a client of the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The version that the client was written for.
    pub from: Label,
    /// The version that the client moves to.
    pub to: Label,
    /// The changes, sorted by effect.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The effect on an unchanged client.
    pub effect: Effect,
    /// Whether the change breaks an unchanged client.
    pub breaking: bool,
    /// The subject, such as a record or an endpoint.
    pub of: String,
    /// A description of the change, in Markdown.
    pub summary: String,
    /// Advice for the client, in Markdown.
    pub advice: String,
    /// JSON before and after the change, if an example helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Example>,
    /// The change, as data.
    #[serde(flatten)]
    pub detail: ChangeDetail,
}

/// JSON before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The JSON in the version that the client was written for.
    pub before: String,
    /// The JSON in the version that the client moves to.
    pub after: String,
}

impl Example {
    pub(crate) fn new(before: &Value, after: &Value) -> Self {
        Self {
            before: before.to_string(),
            after: after.to_string(),
        }
    }
}

/// The effect of a change on an unchanged client, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A formerly accepted request is refused.
    Refused,
    /// A request is accepted, but different values are recorded.
    #[serde(rename = "recorded_otherwise")]
    RecordedDifferently,
    /// A response must be read differently.
    #[serde(rename = "read_otherwise")]
    ReadDifferently,
    /// Nothing changes for the client yet.
    WorthKnowing,
    /// The client has a new possibility.
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

    /// Whether the effect breaks an unchanged client.
    #[must_use]
    pub const fn is_breaking(self) -> bool {
        match self {
            Self::Refused | Self::RecordedDifferently | Self::ReadDifferently => true,
            Self::WorthKnowing | Self::NewlyPossible => false,
        }
    }
}

/// The kind of a change, with its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum ChangeDetail {
    /// A field of a request or of a response.
    Field(FieldChange),
    /// Read-only names that are unknown in the other version.
    ReadOnlyNames(ReadOnlyNamesChange),
    /// An endpoint.
    Endpoint(EndpointChange),
    /// A rule, or a gate.
    Rule(RuleChange),
    /// The codes of a list that a request can have.
    Codes(CodesChange),
    /// The academic years with funding for some subjects without student finance.
    ExceptionYears(YearsChange),
    /// A term in messages.
    #[serde(rename = "word")]
    Vocabulary(VocabularyChange),
    /// The form of the problems in nested items.
    NestedErrors(NestedErrorsChange),
    /// Nested records in lists of trainees.
    NestedInLists(NestedInListsChange),
    /// A wire form.
    Wire(WireChange),
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

    /// Adds an example to the change, if there is one.
    pub(crate) fn with_example(self, example: Option<Example>) -> Self {
        Self { example, ..self }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.of, self.summary)
    }
}

impl Difference {
    /// Computes the difference between two versions for a client of the first.
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

    /// Returns the changes that break an unchanged client.
    pub fn breaking(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.breaking)
    }

    /// Returns the changes of fields.
    pub fn fields(&self) -> impl Iterator<Item = &FieldChange> {
        self.details(|detail| {
            if let ChangeDetail::Field(field) = detail {
                Some(field)
            } else {
                None
            }
        })
    }

    /// Returns the changes of endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &EndpointChange> {
        self.details(|detail| {
            if let ChangeDetail::Endpoint(endpoint) = detail {
                Some(endpoint)
            } else {
                None
            }
        })
    }

    /// Returns the changes of rules and gates.
    pub fn rules(&self) -> impl Iterator<Item = &RuleChange> {
        self.details(|detail| {
            if let ChangeDetail::Rule(rule) = detail {
                Some(rule)
            } else {
                None
            }
        })
    }

    /// Returns the changes of accepted codes.
    pub fn codes(&self) -> impl Iterator<Item = &CodesChange> {
        self.details(|detail| {
            if let ChangeDetail::Codes(codes) = detail {
                Some(codes)
            } else {
                None
            }
        })
    }

    /// Returns the details of the changes of one kind. `select` returns `None` for other kinds.
    fn details<'a, T: 'a>(
        &'a self,
        select: fn(&'a ChangeDetail) -> Option<&'a T>,
    ) -> impl Iterator<Item = &'a T> {
        self.changes
            .iter()
            .filter_map(move |change| select(&change.detail))
    }
}

#[cfg(test)]
mod tests;
