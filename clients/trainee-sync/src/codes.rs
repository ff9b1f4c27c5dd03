//! The kinds of the fields of a version, from its OpenAPI document, and the codes of the fields of a
//! file, from its code lists.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;
use trainee_file::{CellKind, CodeNames, Codes, Column, List, at, cell};

use crate::register::Register;

/// Fields whose kind the OpenAPI document does not name.
const KINDS: [(&str, CellKind); 2] = [
    ("agency_id", CellKind::Digits(&[13, 17])),
    ("date_of_birth", CellKind::BirthDate),
];
/// The beginnings of the patterns of days and of years.
const DAY_PATTERN: &str = r"\d{4}-(";
const YEAR_PATTERN: &str = r"\d{4}(";

/// The kinds and the codes of the fields of a version. The names of all its lists of codes are
/// known, their codes only after [`VersionCodes::load`].
#[derive(Debug, Default)]
pub(crate) struct VersionCodes {
    kinds: BTreeMap<(Option<&'static str>, String), CellKind>,
    /// The names of fields that the register has a code list for.
    listed: BTreeSet<String>,
    lists: BTreeMap<String, CodeList>,
}

/// The codes of a list.
#[derive(Debug, Default)]
struct CodeList {
    codes: BTreeSet<String>,
    names: CodeNames,
}

impl VersionCodes {
    /// Adds a field with its schema. A field with an enumeration has its codes without names.
    pub(crate) fn add_field(&mut self, list: Option<List>, field: &str, schema: &Value) {
        let pattern = at(schema, "pattern").as_str().unwrap_or_default();
        let pattern = pattern.trim_start_matches(['^', '(']);
        let known = KINDS.iter().find(|(name, _)| *name == field);
        let kind = if let Some((_, kind)) = known {
            *kind
        } else if pattern.starts_with(DAY_PATTERN) {
            CellKind::Date
        } else if pattern.starts_with(YEAR_PATTERN) {
            CellKind::Year
        } else if let Some(values) = at(schema, "enum").as_array() {
            let codes = values
                .iter()
                .filter_map(Value::as_str)
                .filter(|code| !code.is_empty());
            let list = self.lists.entry(field.to_owned()).or_default();
            list.codes.extend(codes.map(str::to_owned));
            CellKind::Code
        } else if self.listed.contains(field) {
            CellKind::Code
        } else {
            return;
        };
        self.kinds
            .insert((list.map(|list| list.name), field.to_owned()), kind);
    }

    /// Adds the names of the fields that `GET /reference-data` knows. Call this before
    /// [`VersionCodes::add_field`].
    pub(crate) fn add_listed_fields(&mut self, fields: &Value) {
        let fields = fields
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        self.listed.extend(fields.map(str::to_owned));
    }

    /// Loads the code lists for the columns of a file, each once.
    pub(crate) fn load(&mut self, register: &Register<'_>, columns: &[Column]) -> Result<()> {
        let mut fields = BTreeSet::new();
        for column in columns {
            if let Column::Field(field) | Column::Nested { field, .. } = column
                && self.listed.contains(field)
            {
                fields.insert(field);
            }
        }
        for field in fields {
            let list = CodeList::new(&register.code_list(field)?);
            self.lists.insert(field.clone(), list);
        }
        Ok(())
    }
}

impl CodeList {
    fn new(document: &Value) -> Self {
        let entries = at(document, "entries").as_array();
        let entries: Vec<_> = entries
            .into_iter()
            .flatten()
            .map(|entry| (cell(at(entry, "code")), cell(at(entry, "display_name"))))
            .collect();
        let named = entries
            .iter()
            .map(|(code, name)| (code.as_str(), name.as_str()));
        let names = CodeNames::new(named);
        let codes = entries.into_iter().map(|(code, _)| code).collect();
        Self { codes, names }
    }
}

impl Codes for VersionCodes {
    fn kind(&self, list: Option<List>, field: &str) -> CellKind {
        let key = (list.map(|list| list.name), field.to_owned());
        self.kinds.get(&key).copied().unwrap_or(CellKind::Text)
    }

    fn code(&self, _: Option<List>, field: &str, text: &str) -> Option<String> {
        let list = self.lists.get(field)?;
        if list.codes.contains(text) {
            return Some(text.to_owned());
        }
        list.names.find(text).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainee_file::LISTS;

    use super::*;

    #[test]
    fn kinds_follow_schemas() {
        let mut codes = VersionCodes::default();
        codes.add_listed_fields(&json!(["institution", ""]));
        let day = r"^(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ].+)?|\s*)$";
        let year = r"^\d{4}(-\d{2}-\d{2}([T ].+)?)?$";
        for (field, schema, kind) in [
            ("start", json!({ "pattern": day }), CellKind::Date),
            (
                "date_of_birth",
                json!({ "pattern": day }),
                CellKind::BirthDate,
            ),
            ("year", json!({ "pattern": year }), CellKind::Year),
            (
                "sex",
                json!({ "enum": ["10", 10, "", null] }),
                CellKind::Code,
            ),
            ("institution", json!({}), CellKind::Code),
            ("name", json!({ "pattern": "\\S" }), CellKind::Text),
        ] {
            codes.add_field(Some(LISTS[1]), field, &schema);
            assert_eq!(codes.kind(Some(LISTS[1]), field), kind, "{field}");
            assert_eq!(codes.kind(None, field), CellKind::Text, "{field}");
        }
        assert_eq!(codes.code(None, "sex", "10").as_deref(), Some("10"));
        assert_eq!(codes.code(None, "sex", ""), None);
    }

    #[test]
    fn name_of_several_codes_is_no_code() {
        let entry = |code: &str, name: &str| json!({ "code": code, "display_name": name });
        let entries = [entry("01", "One"), entry("02", "Two"), entry("03", "two")];
        let list = CodeList::new(&json!({ "entries": entries }));
        let mut codes = VersionCodes::default();
        codes.lists.insert("number".to_owned(), list);
        let code = |text: &str| codes.code(None, "number", text);
        assert_eq!(code("ONE").as_deref(), Some("01"));
        assert_eq!(code("02").as_deref(), Some("02"));
        assert_eq!(code("two"), None);
    }
}
