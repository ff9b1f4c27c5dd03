//! Whether a version still keeps its contract: the committed one against the present one.
//!
//! A contract is two documents: the OpenAPI document, and what that one does not say ([`shape`]).
//! Both are compared as data, so that a contract can be compared of which no code is left. A change
//! is breaking when a request cannot stay as it is, or a reply does not have what it had (contract,
//! section 9.1).

use std::fmt;

use adapter_kit::label::Label;
use adapter_kit::versions::Served;
use domain::Lists;
use serde_json::{Map, Value};

use crate::difference::{Change, ChangeDetail, Effect};
use crate::openapi::Profile;

mod openapi;
mod schemas;
pub mod shape;

/// The contract of a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The OpenAPI document.
    pub openapi: Value,
    /// What the OpenAPI document does not say.
    pub shape: Value,
}

impl Contract {
    /// The present contract of a version.
    ///
    /// # Errors
    ///
    /// When a document cannot be written, which does not happen.
    pub fn new(served: &Served, lists: &Lists) -> Result<Self, serde_json::Error> {
        let openapi =
            serde_json::to_value(crate::openapi::document(served, lists, Profile::Complete))?;
        Ok(Self {
            openapi,
            shape: shape::describe(served.version, lists),
        })
    }

    /// What changed from this contract to a later one.
    #[must_use]
    pub fn changes_to(&self, now: &Self) -> Vec<Change> {
        let mut changes = Changes::default();
        openapi::compare(&self.openapi, &now.openapi, &mut changes);
        shape::compare(&self.shape, &now.shape, &mut changes);
        changes.0
    }
}

/// The changes found so far.
#[derive(Debug, Default)]
struct Changes(Vec<Change>);

impl Changes {
    /// Adds a change at a place in the contract, of a field, a path or a code there.
    fn add(
        &mut self,
        breaks: bool,
        place: &str,
        subject: impl fmt::Display,
        what: impl fmt::Display,
    ) {
        let effect = if breaks {
            Effect::Refused
        } else {
            Effect::NewlyPossible
        };
        let subject = subject.to_string();
        let summary = format!("{subject} {what}");
        let change = Change::new(
            effect,
            ChangeDetail::Contract { subject },
            place,
            summary,
            String::new(),
        );
        // Many replies have the same schema.
        if !self.0.contains(&change) {
            self.0.push(change);
        }
    }

    fn breaking(&mut self, place: &str, subject: impl fmt::Display, what: impl fmt::Display) {
        self.add(true, place, subject, what);
    }

    fn additive(&mut self, place: &str, subject: impl fmt::Display, what: impl fmt::Display) {
        self.add(false, place, subject, what);
    }

    /// Adds what was removed, which breaks clients, and what was added, which does not; gives what
    /// both have, in the order of the first.
    fn matched<'a>(
        &mut self,
        place: &str,
        (before, removed): (Vec<(String, &'a Value)>, &str),
        (now, added): (Vec<(String, &'a Value)>, &str),
    ) -> Vec<(String, &'a Value, &'a Value)> {
        let mut both = Vec::new();
        for (name, old) in &before {
            match now.iter().find(|(other, _)| other == name) {
                Some((_, new)) => both.push((name.clone(), *old, *new)),
                None => self.breaking(place, name, removed),
            }
        }
        for (name, _) in now
            .iter()
            .filter(|(name, _)| !before.iter().any(|(other, _)| other == name))
        {
            self.additive(place, name, added);
        }
        both
    }
}

/// The names and values of an object in a document; none where there is no object.
fn entries(object: Option<&Value>) -> Vec<(String, &Value)> {
    let entries = object
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter);
    entries.map(|(name, value)| (name.clone(), value)).collect()
}

/// Whether a version with a committed contract is still served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is served, with these changes.
    Served(Vec<Change>),
    /// It is no longer served, and listed as removed.
    Removed,
    /// It is neither served nor listed as removed.
    Lost,
}

/// Compares the committed contract of a version with the served one.
///
/// # Errors
///
/// When a document cannot be written, which does not happen.
pub fn outcome(
    label: Label,
    committed: &Contract,
    served: Option<&Served>,
    removed: &[Label],
    lists: &Lists,
) -> Result<Outcome, serde_json::Error> {
    Ok(match served {
        Some(served) => Outcome::Served(committed.changes_to(&Contract::new(served, lists)?)),
        None if removed.contains(&label) => Outcome::Removed,
        None => Outcome::Lost,
    })
}
