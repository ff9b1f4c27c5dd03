//! A row of a file, with its cells by field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::cells::Row;
use crate::columns::{Column, INPUT_SUFFIX, LISTS, List};
use crate::record::input;

/// A row of a file, with its cells by field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraineeRow {
    /// The first line of the row in the file, from 1.
    pub line: u64,
    /// The identifier of the trainee to change; `None` if the cell is blank.
    pub trainee_id: Option<String>,
    /// The time of the trainee's last change when the file was made.
    pub updated_at: Option<String>,
    /// Fields with their cells, in the order of the file, including blank cells.
    pub fields: Vec<(String, String)>,
    /// The nested records, by list and number.
    pub nested: Vec<NestedRow>,
}

/// A nested record of a row, with at least one cell that is not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedRow {
    /// The list of the record.
    pub list: List,
    /// The number in the names of its columns.
    pub number: usize,
    /// The identifier of the record to change; `None` if the cell is blank.
    pub id: Option<String>,
    /// Fields with their cells, in the order of the file, including blank cells.
    pub fields: Vec<(String, String)>,
}

impl TraineeRow {
    /// Reads a row by its columns. Cells without a column are omitted.
    #[must_use]
    pub fn new(row: &Row, columns: &[Column]) -> Self {
        let mut read = Self {
            line: row.line,
            ..Self::default()
        };
        let mut nested: BTreeMap<(usize, usize), NestedRow> = BTreeMap::new();
        for (column, cell) in columns.iter().zip(&row.cells) {
            match column {
                Column::TraineeId => read.trainee_id = filled(cell),
                Column::UpdatedAt => read.updated_at = filled(cell),
                Column::Field(field) => read.fields.push((field.clone(), cell.clone())),
                Column::Nested {
                    list,
                    number,
                    field,
                } => {
                    // The key sorts nested records by list, then by number.
                    let position = LISTS.iter().position(|known| known == list);
                    let key = (position.unwrap_or(LISTS.len()), *number);
                    let record = nested.entry(key).or_insert_with(|| NestedRow {
                        list: *list,
                        number: *number,
                        id: None,
                        fields: Vec::new(),
                    });
                    if field == list.id {
                        record.id = filled(cell);
                    } else {
                        record.fields.push((field.clone(), cell.clone()));
                    }
                }
                Column::Ignored => {}
            }
        }
        read.nested = nested.into_values().filter(NestedRow::is_filled).collect();
        read
    }

    /// Returns the body that registers the trainee, without the `data` around it. Blank cells are
    /// omitted.
    #[must_use]
    pub fn body(&self) -> Map<String, Value> {
        let mut body = filled_fields(&self.fields);
        for list in LISTS {
            let nested: Vec<Value> = self
                .nested_rows(list)
                .map(|nested| Value::Object(nested.body()))
                .collect();
            if !nested.is_empty() {
                body.insert(format!("{}{INPUT_SUFFIX}", list.name), nested.into());
            }
        }
        body
    }

    /// Returns the cell of a field. `None` if the file has no column for it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, cell)| cell.as_str())
    }

    /// The nested records of a list.
    fn nested_rows(&self, list: List) -> impl Iterator<Item = &NestedRow> {
        self.nested.iter().filter(move |nested| nested.list == list)
    }

    /// Returns the name of the column for a field in an error of the register: `degrees.1.subject`
    /// for `degrees_attributes[0].subject`, if the first degree of the row has the number 1.
    #[must_use]
    pub fn column_name(&self, field: &str) -> String {
        for list in LISTS {
            let Some(path) = field
                .strip_prefix(list.name)
                .and_then(|rest| rest.strip_prefix(INPUT_SUFFIX))
            else {
                continue;
            };
            let Some((index, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']'))
            else {
                return list.name.to_owned();
            };
            let nested = index
                .parse()
                .ok()
                .and_then(|index| self.nested_rows(list).nth(index));
            let number =
                nested.map_or_else(|| index.to_owned(), |nested| nested.number.to_string());
            return format!("{}.{number}{rest}", list.name);
        }
        field.to_owned()
    }
}

impl NestedRow {
    /// Returns the body that adds the record, without the `data` around it. Blank cells are
    /// omitted.
    #[must_use]
    pub fn body(&self) -> Map<String, Value> {
        filled_fields(&self.fields)
    }

    /// Returns the name of the column of a field.
    #[must_use]
    pub fn column_name(&self, field: &str) -> String {
        let column = Column::Nested {
            list: self.list,
            number: self.number,
            field: field.to_owned(),
        };
        column.to_string()
    }

    /// Whether the record has a cell that is not blank.
    fn is_filled(&self) -> bool {
        self.id.is_some() || self.fields.iter().any(|(_, cell)| !cell.is_empty())
    }
}

/// The cell, or `None` if it is blank.
fn filled(cell: &str) -> Option<String> {
    (!cell.is_empty()).then(|| cell.to_owned())
}

/// The cells that are not blank, as members of a request body.
fn filled_fields(fields: &[(String, String)]) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(field, cell)| (field.clone(), input(cell)))
        .collect()
}
