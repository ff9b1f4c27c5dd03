//! A file of trainees as a provider's system writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use adapter_kit::ApiVersion;
use serde_json::Value;

use super::super::version_requests::{Person, body_of_creates};

/// One of this number of rows has no identifier of the provider, so it is found by what was sent
/// before.
const WITHOUT_IDENTIFIER: usize = 5;
/// One of this number of rows is shown by the register in another form.
const WITH_SPACES: usize = 7;
/// One of this number of rows is changed.
const CHANGED: usize = 4;
/// One of this number of rows gets another placement.
const WITH_ANOTHER_PLACEMENT: usize = 8;
/// A column of a placement that no trainee has at first.
const ANOTHER_PLACEMENT: &str = "placements.9.name";

/// Rows of cells by their columns.
pub(super) struct TraineeFile {
    rows: Vec<BTreeMap<String, String>>,
}

impl TraineeFile {
    pub(super) fn new(version: &'static ApiVersion, count: usize) -> Self {
        let example = cells(&body_of_creates(version)["data"]);
        let row = |number: usize| {
            let mut row = example.clone();
            let person = Person::new("sync", number);
            let identifier = if number.is_multiple_of(WITHOUT_IDENTIFIER) {
                String::new()
            } else {
                format!("S-{number}")
            };
            let names = if number.is_multiple_of(WITH_SPACES) {
                "Ann  Bea"
            } else {
                "Ann"
            };
            row.insert("provider_trainee_id".to_owned(), identifier);
            row.insert("first_names".to_owned(), names.to_owned());
            row.insert("last_name".to_owned(), person.last_name);
            row.insert("email".to_owned(), person.email);
            row.insert("middle_names".to_owned(), String::new());
            row.insert(ANOTHER_PLACEMENT.to_owned(), String::new());
            row
        };
        Self {
            rows: (0..count).map(row).collect(),
        }
    }

    /// Changes some rows. Those that have no identifier are left alone: their rows say themselves
    /// who they are.
    pub(super) fn change(&mut self) {
        for (number, row) in self.rows.iter_mut().enumerate() {
            if number.is_multiple_of(WITHOUT_IDENTIFIER) {
                continue;
            }
            if number.is_multiple_of(CHANGED) {
                row.insert("middle_names".to_owned(), "Cleo".to_owned());
            }
            if number.is_multiple_of(WITH_ANOTHER_PLACEMENT) {
                row.insert(ANOTHER_PLACEMENT.to_owned(), "Another School".to_owned());
            }
        }
    }

    pub(super) fn write(&self, path: &Path) {
        let columns: BTreeSet<&String> = self.rows.iter().flat_map(BTreeMap::keys).collect();
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |cells: Vec<String>| cells.join(",") + "\r\n";
        let mut text = line(columns.iter().map(|column| quoted(column)).collect());
        for row in &self.rows {
            text += &line(
                columns
                    .iter()
                    .map(|column| quoted(row.get(*column).map_or("", String::as_str)))
                    .collect(),
            );
        }
        std::fs::write(path, text).unwrap();
    }

    /// Each row is registered once, with its last values.
    pub(super) fn require_registered(&self, register: &BTreeMap<String, String>) {
        let records = register
            .values()
            .map(|record| serde_json::from_str::<Value>(record).unwrap());
        let by_email: BTreeMap<String, Value> = records
            .map(|record| (record["email"].as_str().unwrap().to_owned(), record))
            .collect();
        assert_eq!(by_email.len(), self.rows.len());
        for row in &self.rows {
            let record = &by_email[&row["email"]];
            for field in ["provider_trainee_id", "last_name", "middle_names"] {
                assert_eq!(
                    record[field].as_str().unwrap_or_default(),
                    row[field],
                    "{record}"
                );
            }
            let named = |placement: &&Value| placement["name"] == row[ANOTHER_PLACEMENT].as_str();
            let another = record["placements"]
                .as_array()
                .unwrap()
                .iter()
                .filter(named)
                .count();
            assert_eq!(
                another,
                usize::from(!row[ANOTHER_PLACEMENT].is_empty()),
                "{record}"
            );
        }
    }
}

/// A body as the cells of a row.
fn cells(data: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut cells = BTreeMap::new();
    for (field, value) in data.as_object().unwrap() {
        let Some(records) = value.as_array() else {
            cells.insert(field.clone(), text(value));
            continue;
        };
        let list = field.strip_suffix("_attributes").unwrap();
        for (number, record) in records.iter().enumerate() {
            let named = record.as_object().unwrap().iter();
            cells.extend(
                named.map(|(field, value)| (format!("{list}.{}.{field}", number + 1), text(value))),
            );
        }
    }
    cells
}
