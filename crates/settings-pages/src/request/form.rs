//! What was filled in, and what is wrong with it, in words for the page. Knows no particular form.

use std::collections::BTreeMap;

use domain::values::text::is_absent;

/// The name of the field with the token of the session.
pub(crate) const TOKEN: &str = "form_token";

/// A form as somebody filled it in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form {
    fields: BTreeMap<String, String>,
}

/// What is wrong with a form: each fault with the name of its field, in the order of the form.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<(&'static str, String)>);

impl Form {
    /// Reads a form as browsers encode it.
    pub(crate) fn read(encoded: &[u8]) -> Self {
        Self {
            fields: form_urlencoded::parse(encoded).into_owned().collect(),
        }
    }

    /// The text of a field without white space around it; empty when nothing of it is visible.
    pub(crate) fn value(&self, name: &str) -> &str {
        let text = self.untrimmed(name).trim();
        if is_absent(text) { "" } else { text }
    }

    /// What stands in a field, as it was typed: the lines of rows are counted from its beginning.
    pub(crate) fn untrimmed(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Faults {
    /// Adds a fault.
    pub(crate) fn add(&mut self, field: &'static str, words: impl Into<String>) {
        self.0.push((field, words.into()));
    }

    /// Keeps a value, or the fault in its place.
    pub(crate) fn keep<T>(&mut self, field: &'static str, value: Result<T, String>) -> Option<T> {
        value.map_err(|words| self.add(field, words)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.0.iter()
    }

    /// That of a field.
    pub(crate) fn message(&self, field: &str) -> Option<&str> {
        self.iter()
            .find(|(name, _)| *name == field)
            .map(|(_, words)| words.as_str())
    }
}
