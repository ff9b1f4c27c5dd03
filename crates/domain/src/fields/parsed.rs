//! A record as it was parsed from a request.

use crate::fields::field_set::FieldSet;
use crate::problem::{Notice, Problem};
use crate::records::record::{Changes as _, NestedLists, Record};

/// What a request sends for one record: the changes that could be parsed, and the problems of the
/// rest.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedRecord<R: Record> {
    /// The changes that could be parsed.
    pub changes: R::Changes,
    /// The nested records.
    pub nested: <R::Nested as NestedLists>::Parsed,
    /// The problems of what could not be parsed.
    pub problems: Vec<Problem>,
    /// Fields that could not be parsed; no rule that needs one of them is run.
    pub unread: FieldSet<R::Field>,
    /// What the client should know besides.
    pub notices: Vec<Notice>,
    /// Names that the version does not have, also when they are not refused.
    pub unrecognised: UnrecognisedNames,
    /// Whether a value that cannot be recorded as it was sent is a problem, rather than a notice.
    pub is_strict: bool,
}

/// Names of a request that its version does not have, in nested records too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnrecognisedNames {
    /// Names that only other versions know, each once.
    pub of_other_versions: Vec<&'static str>,
    /// The number of names that no version knows. They are not kept: they may be anything.
    pub unknown: usize,
}

impl UnrecognisedNames {
    /// Adds a name of another version, once.
    pub fn add_of_other_version(&mut self, name: &'static str) {
        if !self.of_other_versions.contains(&name) {
            self.of_other_versions.push(name);
        }
    }

    /// Adds the names of a nested record.
    pub fn merge(&mut self, nested: &Self) {
        nested
            .of_other_versions
            .iter()
            .for_each(|name| self.add_of_other_version(name));
        self.unknown += nested.unknown;
    }
}

impl<R: Record> Default for ParsedRecord<R> {
    fn default() -> Self {
        Self {
            changes: R::Changes::default(),
            nested: Default::default(),
            problems: Vec::new(),
            unread: FieldSet::new(),
            notices: Vec::new(),
            unrecognised: UnrecognisedNames::default(),
            is_strict: false,
        }
    }
}

impl<R: Record> ParsedRecord<R> {
    /// These changes, without problems and nested records.
    #[must_use]
    pub fn from_changes(changes: R::Changes) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }

    /// The requested text of a field, when it is text.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<String> {
        self.changes
            .requested(field)
            .and_then(|value| value.as_text().map(str::to_owned))
    }
}
