//! A record parsed from a request.

use std::fmt;
use std::sync::Arc;

use crate::fields::field::RecordField as _;
use crate::fields::field_set::FieldSet;
use crate::fields::value::Value;
use crate::lists::Lists;
use crate::problem::{Notice, Problem, ProblemKind};
use crate::records::record::{Changes as _, NestedLists, Record};

/// A record in a request: the parsed changes, and the problems of all other values.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedRecord<R: Record> {
    /// The parsed changes.
    pub changes: R::Changes,
    /// Values that the request sends only in part.
    pub partial: Vec<PartialValue<R::Field>>,
    /// The defaults of fields without a key in a new record. Commands apply those of fields that
    /// no sent value decides.
    pub defaults: Vec<(R::Field, &'static str)>,
    /// The nested records.
    pub nested: <R::Nested as NestedLists>::Parsed,
    /// The problems found while parsing.
    pub problems: Vec<Problem>,
    /// Fields that could not be parsed. Rules that need one of them are skipped.
    pub unread: FieldSet<R::Field>,
    /// Notices for the client.
    pub notices: Vec<Notice>,
    /// Names of response fields that are not inputs, as sent. The field of a group is a path.
    pub read_only: Vec<String>,
    /// Names that the version does not have, including names that are not refused.
    pub unrecognised: UnrecognisedNames,
    /// Whether a value that cannot be recorded as sent is a problem instead of a notice.
    pub is_strict: bool,
}

/// A value of a field that a request sends only in part. The stored value has the rest.
#[derive(Debug, Clone)]
pub struct PartialValue<F> {
    /// The field.
    pub field: F,
    /// The sent part.
    pub sent: Arc<dyn SentPart>,
}

impl<F: PartialEq> PartialEq for PartialValue<F> {
    fn eq(&self, other: &Self) -> bool {
        self.field == other.field && Arc::ptr_eq(&self.sent, &other.sent)
    }
}

/// The sent part of a value.
pub trait SentPart: fmt::Debug + Send + Sync {
    /// Returns the stored value with the sent part; null if nothing remains. Returns `None` if the
    /// sent part does not fit the rest.
    fn complete(&self, stored: &Value<'_>) -> Option<Value<'static>>;
}

/// Names in a request, including its nested records, that the version does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnrecognisedNames {
    /// Names of other versions, each once.
    pub of_other_versions: Vec<&'static str>,
    /// The number of other names. The names are not kept, because they can have any content.
    pub unknown: usize,
}

impl UnrecognisedNames {
    /// Adds a name of another version unless it is present.
    pub fn add_of_other_version(&mut self, name: &'static str) {
        if !self.of_other_versions.contains(&name) {
            self.of_other_versions.push(name);
        }
    }

    /// Adds the names of a nested record.
    pub fn merge(&mut self, nested: &Self) {
        for name in &nested.of_other_versions {
            self.add_of_other_version(name);
        }
        self.unknown += nested.unknown;
    }
}

impl<R: Record> Default for ParsedRecord<R> {
    fn default() -> Self {
        Self {
            changes: R::Changes::default(),
            partial: Vec::new(),
            defaults: Vec::new(),
            nested: Default::default(),
            problems: Vec::new(),
            unread: FieldSet::new(),
            notices: Vec::new(),
            read_only: Vec::new(),
            unrecognised: UnrecognisedNames::default(),
            is_strict: false,
        }
    }
}

impl<R: Record> ParsedRecord<R> {
    /// Returns a record with changes, without nested records, problems and notices.
    #[must_use]
    pub fn from_changes(changes: R::Changes) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }

    /// Requests the values that were sent in part, with the rest from the stored record. A new
    /// record has no rest.
    pub fn complete_values(&mut self, stored: Option<&R::Flat>, lists: &Lists) {
        for PartialValue { field, sent } in std::mem::take(&mut self.partial) {
            let rest = stored.map_or(Value::Null, |stored| R::shown(stored, field, lists));
            let Some(value) = sent.complete(&rest) else {
                let kind = ProblemKind::WrongType {
                    expected: field.info().kind,
                    impossible_date: None,
                };
                self.unread.insert(field);
                self.problems.push(Problem::at(field, kind));
                continue;
            };
            match value.into_input() {
                // The part was read as the type of the field.
                Some(value) => drop(self.changes.set(field, value)),
                None => self.changes.clear(field),
            }
        }
    }

    /// Returns the requested text of a field, or `None` if the request sends no text for the field.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<String> {
        self.changes
            .requested(field)
            .and_then(|value| value.as_text().map(str::to_owned))
    }
}
