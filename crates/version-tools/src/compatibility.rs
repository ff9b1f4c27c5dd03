//! Whether a version still keeps what it promised: its contract as it was committed, against the
//! contract as it is now.
//!
//! A contract is two documents: the OpenAPI document, and what that one does not say ([`shape`]).
//! Both are compared as data, so that a contract of any age can be compared, also one of which no
//! code is left. What breaks a client is told from what only adds to the contract (contract,
//! section 9.1): a request must be able to stay as it is, and a reply must hold what it held.

use std::fmt;

use adapter_kit::label::Label;
use adapter_kit::versions::Served;
use domain::Lists;
use serde_json::Value;

use crate::openapi;

mod documents;
mod schemas;
pub mod shape;

/// What a version promises.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The OpenAPI document.
    pub openapi: Value,
    /// What the OpenAPI document does not say.
    pub shape: Value,
}

impl Contract {
    /// The contract of a version as it is now.
    ///
    /// # Errors
    ///
    /// When a document cannot be written, which does not happen.
    pub fn of(served: &Served, lists: &Lists) -> Result<Self, serde_json::Error> {
        Ok(Self {
            openapi: serde_json::to_value(openapi::document(served, lists))?,
            shape: shape::of(served.version, lists),
        })
    }

    /// What changed from this contract to a later one.
    #[must_use]
    pub fn changes_to(&self, now: &Self) -> Vec<Change> {
        let mut changes = Changes::default();
        documents::compare(&self.openapi, &now.openapi, &mut changes);
        shape::compare(&self.shape, &now.shape, &mut changes);
        changes.0
    }
}

/// What a change does to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A client that worked may not work any more.
    Breaking,
    /// The contract says more than before, and nothing else.
    Additive,
}

/// A change of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it does to clients.
    pub effect: Effect,
    /// Where it is, from the outside in.
    pub place: String,
    /// What it is about: the name of a field, a path or a code.
    pub subject: String,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} {}", self.place, self.subject, self.what)
    }
}

/// The changes found so far.
#[derive(Debug, Default)]
struct Changes(Vec<Change>);

impl Changes {
    fn breaking(&mut self, place: &str, subject: impl fmt::Display, what: impl Into<String>) {
        self.add(Effect::Breaking, place, subject, what);
    }

    fn additive(&mut self, place: &str, subject: impl fmt::Display, what: impl Into<String>) {
        self.add(Effect::Additive, place, subject, what);
    }

    fn add(&mut self, effect: Effect, place: &str, subject: impl fmt::Display, what: impl Into<String>) {
        let change = Change { effect, place: place.to_owned(), subject: subject.to_string(), what: what.into() };
        // One schema stands in many replies; its change is told once.
        if !self.0.contains(&change) {
            self.0.push(change);
        }
    }
}

/// What became of a version that was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is served, with these changes.
    Served(Vec<Change>),
    /// It is not served any more, and clients are told so.
    Removed,
    /// It is neither served nor among the removed ones.
    Lost,
}

/// The outcome of a version that was promised, among those that are served now.
///
/// # Errors
///
/// When a document cannot be written, which does not happen.
pub fn outcome(
    label: Label,
    promised: &Contract,
    served: Option<&Served>,
    removed: &[Label],
    lists: &Lists,
) -> Result<Outcome, serde_json::Error> {
    Ok(match served {
        Some(served) => Outcome::Served(promised.changes_to(&Contract::of(served, lists)?)),
        None if removed.contains(&label) => Outcome::Removed,
        None => Outcome::Lost,
    })
}
