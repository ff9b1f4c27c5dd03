//! The difference between any two versions, as data: what a client of one meets in the other, and what to do about it.
//!
//! It is computed from the values of the two versions and the dictionary, in either direction and between any two. It
//! knows no particular version, and nothing of what lies between the two. Two rules count as the same when they have the
//! same name, demand the same and read the same fields; what a rule does inside cannot be compared.

use adapter_kit::label::Label;
use adapter_kit::versions::Served;
use domain::Lists;
use serde::Serialize;

mod endpoints;
mod fields;
mod manners;
mod markdown;
mod rules;
mod terms;

pub use endpoints::{EndpointChange, EndpointTurn};
pub use fields::{Direction, FieldChange, FieldTurn};
pub use manners::{NestedErrorsChange, WordChange};
pub use rules::{RuleChange, RuleStage, RuleText, RuleTurn};
pub use terms::{CodeName, CodesChange, CodesTurn, YearsChange};

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
    /// What it does to a client that goes on as before.
    pub effect: Effect,
    /// Whether such a client no longer gets what it got.
    pub breaking: bool,
    /// What it is about, in a word or two: a record, or an endpoint.
    pub of: String,
    /// What changes, in Markdown.
    pub summary: String,
    /// What to do about it, in Markdown.
    pub advice: String,
    /// The change itself.
    #[serde(flatten)]
    pub about: About,
}

/// What a change does to a client that goes on as before; what breaks most comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A request that was accepted is refused.
    Refused,
    /// A request is accepted, and something else is recorded.
    RecordedOtherwise,
    /// A response is to be read differently.
    ReadOtherwise,
    /// All goes on as before, for now.
    WorthKnowing,
    /// There is something that the client could not do before.
    NewlyPossible,
}

impl Effect {
    /// All effects, in order.
    pub const ALL: &'static [Self] =
        &[Self::Refused, Self::RecordedOtherwise, Self::ReadOtherwise, Self::WorthKnowing, Self::NewlyPossible];

    /// Whether a client that goes on as before no longer gets what it got.
    #[must_use]
    pub const fn is_breaking(self) -> bool {
        match self {
            Self::Refused | Self::RecordedOtherwise | Self::ReadOtherwise => true,
            Self::WorthKnowing | Self::NewlyPossible => false,
        }
    }
}

/// What a change is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum About {
    /// A field of a request or of a response.
    Field(FieldChange),
    /// An endpoint.
    Endpoint(EndpointChange),
    /// A rule, or a gate.
    Rule(RuleChange),
    /// The codes of a list that a request can have.
    Codes(CodesChange),
    /// The academic years in which some subjects are funded without student finance.
    ExceptionYears(YearsChange),
    /// A word in messages.
    Word(WordChange),
    /// The form of the problems in nested items.
    NestedErrors(NestedErrorsChange),
}

impl Change {
    fn new(effect: Effect, about: About, of: impl Into<String>, summary: String, advice: String) -> Self {
        Self { effect, breaking: effect.is_breaking(), of: of.into(), summary, advice, about }
    }
}

impl Difference {
    /// What is different in one version, for a client of the other.
    #[must_use]
    pub fn between(from: &Served, to: &Served, lists: &Lists) -> Self {
        let mut changes = fields::changes(from, to);
        changes.extend(rules::changes(from.version, to.version));
        changes.extend(terms::changes(from.version, to.version, lists));
        changes.extend(endpoints::changes(from.version, to.version));
        changes.extend(manners::changes(from.version, to.version));
        changes.sort_by_key(|change| change.effect);
        Self { from: from.version.label, to: to.version.label, changes }
    }

    /// Whether a client of one can use the other as it is, and finds nothing new.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes by which a client that goes on as before no longer gets what it got.
    pub fn breaking(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.breaking)
    }

    /// The changes with this effect.
    pub fn with_effect(&self, effect: Effect) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.effect == effect)
    }

    /// The changes of fields.
    pub fn fields(&self) -> impl Iterator<Item = &FieldChange> {
        self.changes
            .iter()
            .filter_map(|change| if let About::Field(field) = &change.about { Some(field) } else { None })
    }

    /// The changes of endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &EndpointChange> {
        self.changes
            .iter()
            .filter_map(|change| if let About::Endpoint(endpoint) = &change.about { Some(endpoint) } else { None })
    }

    /// The changes of rules and gates.
    pub fn rules(&self) -> impl Iterator<Item = &RuleChange> {
        self.changes.iter().filter_map(|change| if let About::Rule(rule) = &change.about { Some(rule) } else { None })
    }

    /// The changes of accepted codes.
    pub fn codes(&self) -> impl Iterator<Item = &CodesChange> {
        self.changes
            .iter()
            .filter_map(|change| if let About::Codes(codes) = &change.about { Some(codes) } else { None })
    }
}

#[cfg(test)]
mod tests;
