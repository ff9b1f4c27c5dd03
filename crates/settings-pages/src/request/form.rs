//! Form values and faults.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::values::text::is_absent;

/// The field with the form token.
pub(crate) const TOKEN: &str = "form_token";

#[derive(Debug, Clone, Default)]
pub(crate) struct Form {
    fields: BTreeMap<String, String>,
}

/// Faults with the names of their fields, in the order of the form.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<(Cow<'static, str>, String)>);

impl Form {
    pub(crate) fn read(encoded: &[u8]) -> Self {
        Self {
            fields: form_urlencoded::parse(encoded).into_owned().collect(),
        }
    }

    pub(crate) fn from_fields(fields: BTreeMap<String, String>) -> Self {
        Self { fields }
    }

    /// Returns a value without surrounding white space, or an empty string without a visible
    /// character.
    pub(crate) fn value(&self, name: &str) -> &str {
        let text = self.raw_value(name).trim();
        if is_absent(text) { "" } else { text }
    }

    /// Returns the unchanged value: line numbers of pasted files are counted from its start.
    pub(crate) fn raw_value(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Faults {
    pub(crate) fn add(&mut self, field: impl Into<Cow<'static, str>>, words: impl Into<String>) {
        self.0.push((field.into(), words.into()));
    }

    /// Returns the value of a field. For `Err`, adds the fault and returns `None`.
    pub(crate) fn keep<T>(&mut self, field: &'static str, value: Result<T, String>) -> Option<T> {
        value.map_err(|words| self.add(field, words)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Cow<'static, str>, String)> {
        self.0.iter()
    }

    pub(crate) fn message(&self, field: &str) -> Option<&str> {
        self.iter()
            .find(|(name, _)| *name == field)
            .map(|(_, words)| words.as_str())
    }
}
