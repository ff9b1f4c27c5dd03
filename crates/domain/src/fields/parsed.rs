//! A record parsed from a request.

use crate::fields::field_set::FieldSet;
use crate::problem::{Notice, Problem};
use crate::records::record::{Changes as _, NestedLists, Record};

/// A record in a request: the parsed changes, and the problems of all other values.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedRecord<R: Record> {
    /// The parsed changes.
    pub changes: R::Changes,
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

    /// Returns the requested text of a field, or `None` if the request sends no text for the field.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<String> {
        self.changes
            .requested(field)
            .and_then(|value| value.as_text().map(str::to_owned))
    }
}
