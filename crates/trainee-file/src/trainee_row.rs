//! A row of a file by the fields of its columns.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::cells::Row;
use crate::columns::{Column, INPUT_SUFFIX, LISTS, List};
use crate::record::input;

/// A row by the fields of its columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraineeRow {
    /// The first line of the row in the file, from 1.
    pub line: u64,
    /// The trainee to change.
    pub trainee_id: Option<String>,
    /// When the trainee changed last, as the person saw it.
    pub updated_at: Option<String>,
    /// Field and cell, in the order of the file. A blank cell is there too.
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
    /// The identifier of the record to change.
    pub id: Option<String>,
    /// Field and cell, in the order of the file. A blank cell is there too.
    pub fields: Vec<(String, String)>,
}

impl TraineeRow {
    /// Reads a row by its columns. Cells without a column are left out.
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
                    let place = LISTS.iter().position(|known| known == list);
                    let key = (place.unwrap_or(LISTS.len()), *number);
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

    /// Returns the body that registers the trainee, without its envelope. A blank cell is left out.
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

    fn nested_rows(&self, list: List) -> impl Iterator<Item = &NestedRow> {
        self.nested.iter().filter(move |nested| nested.list == list)
    }

    /// Returns the name of the column behind a field of a reply, such as
    /// `degrees_attributes[0].subject`.
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
    /// Returns the body that adds the record, without its envelope. A blank cell is left out.
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

    fn is_filled(&self) -> bool {
        self.id.is_some() || self.fields.iter().any(|(_, cell)| !cell.is_empty())
    }
}

fn filled(cell: &str) -> Option<String> {
    (!cell.is_empty()).then(|| cell.to_owned())
}

fn filled_fields(fields: &[(String, String)]) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(field, cell)| (field.clone(), input(cell)))
        .collect()
}
