//! Checks whether a version still keeps its contract: compares the committed contract with the
//! current one.
//!
//! A contract consists of the OpenAPI document and the [`shape`], which contains what OpenAPI
//! cannot express. Both are compared as data, so that the comparison needs no code of the old
//! version. A change is breaking if a client must change a request, or if a reply lacks something
//! that it had (contract, section 9.1).

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
    /// The parts of the contract that OpenAPI cannot express.
    pub shape: Value,
}

impl Contract {
    /// Returns the current contract of a version.
    ///
    /// # Errors
    ///
    /// Fails if a document cannot be serialised, which indicates a bug.
    pub fn new(served: &Served, lists: &Lists) -> Result<Self, serde_json::Error> {
        let openapi =
            serde_json::to_value(crate::openapi::document(served, lists, Profile::Complete))?;
        Ok(Self {
            openapi,
            shape: shape::describe(served.version, lists),
        })
    }

    /// Returns the changes from this contract to a later one.
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
    /// Adds a change of a field, a path or a code (`subject`) at a place in the contract. `breaks`
    /// tells whether the change breaks clients, and `what` completes the sentence that begins with
    /// `subject`.
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
        let no_advice = String::new();
        let change = Change::new(
            effect,
            ChangeDetail::Contract { subject },
            place,
            summary,
            no_advice,
        );
        // Several replies can share a schema, so its changes are found several times.
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

    /// Adds a breaking change for each entry that is only in `before`, described as `removed`, and
    /// an additive change for each entry that is only in `now`, described as `added`. Returns the
    /// name, the old value and the new value of each common entry, in the order of `before`.
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
        for (name, _) in &now {
            let is_new = before.iter().all(|(other, _)| other != name);
            if is_new {
                self.additive(place, name, added);
            }
        }
        both
    }
}

/// Returns the entries of a JSON object; empty if the value is absent or not an object.
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
    /// The version is served, with these changes.
    Served(Vec<Change>),
    /// The version is listed as removed.
    Removed,
    /// The version is neither served nor listed as removed.
    Lost,
}

/// Compares the committed contract of a version with the served one.
///
/// # Errors
///
/// Fails if a document cannot be serialised, which indicates a bug.
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
