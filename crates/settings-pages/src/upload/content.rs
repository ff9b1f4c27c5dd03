//! What is stored of a file and its rows.

use std::fmt;

use adapter_kit::Endpoint;
use serde::{Deserialize, Serialize};
use storage::accounts::uploads::UploadRecord;
use trainee_file::{Column, ColumnProposal, Names, Remedy, Table};

use crate::upload::repair_choices::{RepairChoices, find_kind};

/// Between two cells of a stored row. Files cannot contain it.
const SEPARATOR: char = '\u{1f}';
const EXAMPLE_CHARS: usize = 40;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileContent {
    /// Of a workbook; the first one was read.
    pub(crate) sheets: Vec<String>,
    /// Spelled like in the file.
    pub(crate) header: Vec<String>,
    pub(crate) columns: Vec<FileColumn>,
    /// Lines of rows with fewer cells than headings.
    pub(crate) short_rows: Vec<u64>,
    /// The person must decide about them.
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) choices: RepairChoices,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileColumn {
    /// The first values, shortened.
    pub(crate) examples: Vec<String>,
    /// `None` for a heading that was not recognised.
    name: Option<String>,
    /// Names of fields that the heading or the values propose.
    proposals: Vec<String>,
}

impl FileColumn {
    /// Returns `None` without a name, and for a name that is no longer known.
    pub(crate) fn recognise(&self, names: &Names) -> Option<Column> {
        names.recognise(self.name.as_ref()?)
    }

    pub(crate) fn recognise_proposals(&self, names: &Names) -> Vec<Column> {
        let proposals = self.proposals.iter();
        proposals.filter_map(|name| names.recognise(name)).collect()
    }
}

impl From<ColumnProposal> for FileColumn {
    fn from(found: ColumnProposal) -> Self {
        Self {
            examples: found.examples.iter().map(|cell| shorten(cell)).collect(),
            name: found.column.as_ref().map(Column::to_string),
            proposals: found.proposals.iter().map(Column::to_string).collect(),
        }
    }
}

/// Proposes to repair the cells of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposal {
    /// In forms, and in the list of accepted repairs.
    pub(crate) name: String,
    pub(crate) heading: String,
    /// The name of what happened.
    pub(crate) kind: String,
    pub(crate) cells: usize,
    /// Cells as they are, and as they become.
    pub(crate) examples: Vec<(String, String)>,
}

impl Proposal {
    pub(crate) fn describe(&self) -> String {
        find_kind(&self.kind).map_or_else(String::new, |kind| kind.to_string())
    }

    pub(crate) fn remedy(&self) -> Remedy {
        find_kind(&self.kind).map_or(Remedy::Correct, trainee_file::Mangled::remedy)
    }
}

impl FileContent {
    pub(crate) fn new(table: &Table, sheets: Vec<String>, found: Vec<ColumnProposal>) -> Self {
        Self {
            sheets,
            header: table.header.clone(),
            columns: found.into_iter().map(FileColumn::from).collect(),
            short_rows: table.short_rows.clone(),
            ..Self::default()
        }
    }

    /// Returns `None` if the content was deleted.
    pub(crate) fn read(upload: &UploadRecord) -> Option<Self> {
        serde_json::from_str(&upload.content).ok()
    }

    pub(crate) fn to_stored(&self) -> String {
        // Texts, numbers and lists of them are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn assign(&mut self, columns: &[Option<Column>]) {
        for (known, column) in self.columns.iter_mut().zip(columns) {
            known.name = column.as_ref().map(Column::to_string);
        }
    }

    /// Returns the assigned columns. A column without a name is ignored.
    pub(crate) fn recognise_columns(&self, names: &Names) -> Vec<Column> {
        let columns = self.columns.iter();
        columns
            .map(|column| column.recognise(names).unwrap_or(Column::Ignored))
            .collect()
    }
}

fn shorten(cell: &str) -> String {
    let mut text: String = cell.chars().take(EXAMPLE_CHARS).collect();
    if text.len() < cell.len() {
        text.push('…');
    }
    text
}

pub(crate) fn join_cells(cells: &[String]) -> String {
    let mut text = String::with_capacity(cells.iter().map(|cell| cell.len() + 1).sum());
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            text.push(SEPARATOR);
        }
        text.push_str(cell);
    }
    text
}

pub(crate) fn split_cells(text: &str) -> Vec<String> {
    text.split(SEPARATOR).map(str::to_owned).collect()
}

/// What is stored of a row besides its cells and its problems.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RowDetails {
    /// The cells whose values are not certain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) doubts: Vec<Doubt>,
    /// Of the trainee that was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    /// For a row that changes a trainee, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requests: Vec<StoredRequest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<CellChange>,
    /// What the register says about values of an accepted row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// A column with an uncertain cell, and the name of what happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Doubt(pub(crate) usize, pub(crate) String);

impl RowDetails {
    pub(crate) fn read(stored: &str) -> Self {
        // Rows that are not to be sent have no details.
        serde_json::from_str(stored).unwrap_or_default()
    }

    pub(crate) fn to_stored(&self) -> String {
        // Texts, numbers and lists of them are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Stored by the check until it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    pub(crate) endpoint: String,
    /// Of the nested record in the path; empty if there is none.
    pub(crate) nested_id: String,
    /// Empty for a request that reads.
    pub(crate) body: String,
    /// Of the nested record that was checked.
    pub(crate) if_match: Option<String>,
    /// The beginning of the names of the columns of a nested record, such as `placements.1.`; empty
    /// for the trainee.
    pub(crate) columns: String,
}

impl StoredRequest {
    pub(crate) fn new(endpoint: Endpoint, body: String, columns: String) -> Self {
        Self {
            endpoint: endpoint.name().to_owned(),
            nested_id: String::new(),
            body,
            if_match: None,
            columns,
        }
    }

    /// Returns `None` if this release does not know the endpoint.
    pub(crate) fn find_endpoint(&self) -> Option<Endpoint> {
        let mut endpoints = Endpoint::ALL.iter().copied();
        endpoints.find(|endpoint| endpoint.name() == self.endpoint)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CellChange {
    /// The heading of the column.
    pub(crate) heading: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellProblem {
    /// The name of a field without a column; blank for the whole row.
    pub(crate) heading: String,
    pub(crate) words: String,
}

impl CellProblem {
    pub(crate) fn from_words(words: impl Into<String>) -> Self {
        Self {
            heading: String::new(),
            words: words.into(),
        }
    }
}

impl fmt::Display for CellProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.heading.is_empty() {
            formatter.write_str(&self.words)
        } else {
            write!(formatter, "{}: {}", self.heading, self.words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_examples_are_shorten() {
        assert_eq!(shorten(&"x".repeat(40)), "x".repeat(40));
        assert_eq!(shorten(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
    }

    #[test]
    fn joined_cells_are_split_as_they_were() {
        let cells = ["", "a\n", "", "ë,\"", ""].map(str::to_owned);
        assert_eq!(split_cells(&join_cells(&cells)), cells);
        assert_eq!(split_cells(&join_cells(&[String::new()])), [""]);
    }
}
