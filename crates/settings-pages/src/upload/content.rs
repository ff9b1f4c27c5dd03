//! What is stored of a file and its rows.

use std::fmt;

use adapter_kit::Endpoint;
use serde::{Deserialize, Serialize};
use storage::accounts::uploads::UploadRecord;
use trainee_file::{Column, ColumnProposal, Names, Remedy, Table};

use crate::upload::repair_choices::{RepairChoices, repair_kind};

/// The character between two cells of a stored row. Files cannot contain it.
const SEPARATOR: char = '\u{1f}';
/// The longest example, in characters.
const EXAMPLE_CHARS: usize = 40;

/// What is known of a file as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileContent {
    /// The sheets of a workbook; the first one was read. None for CSV.
    pub(crate) sheets: Vec<String>,
    /// The headings, as the file spells them.
    pub(crate) header: Vec<String>,
    /// The columns below the headings.
    pub(crate) columns: Vec<FileColumn>,
    /// The lines of rows with fewer cells than headings.
    pub(crate) short_rows: Vec<u64>,
    /// The repairs that the person must decide about.
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) choices: RepairChoices,
}

/// A column of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileColumn {
    /// The first values, shortened.
    pub(crate) examples: Vec<String>,
    /// The name; `None` for a heading that was not recognised.
    name: Option<String>,
    /// The names of the fields that the heading or the values propose.
    proposals: Vec<String>,
}

impl FileColumn {
    /// The column; `None` without a name, and for a name that is no longer known.
    pub(crate) fn column(&self, names: &Names) -> Option<Column> {
        names.recognise(self.name.as_ref()?)
    }

    /// The proposed columns.
    pub(crate) fn proposals(&self, names: &Names) -> Vec<Column> {
        let proposals = self.proposals.iter();
        proposals.filter_map(|name| names.recognise(name)).collect()
    }
}

impl From<ColumnProposal> for FileColumn {
    fn from(found: ColumnProposal) -> Self {
        Self {
            examples: found.examples.iter().map(|cell| shortened(cell)).collect(),
            name: found.column.as_ref().map(Column::to_string),
            proposals: found.proposals.iter().map(Column::to_string).collect(),
        }
    }
}

/// A proposal to repair the cells of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposal {
    /// The name of the repair in forms, and in the list of accepted repairs.
    pub(crate) name: String,
    /// The heading of the column.
    pub(crate) heading: String,
    /// The name of what happened.
    pub(crate) kind: String,
    /// The number of cells.
    pub(crate) cells: usize,
    /// Cells as they are, and as they become.
    pub(crate) examples: Vec<(String, String)>,
}

impl Proposal {
    /// What happened.
    pub(crate) fn sentence(&self) -> String {
        repair_kind(&self.kind).map_or_else(String::new, |kind| kind.to_string())
    }

    /// What can be done about the cells.
    pub(crate) fn remedy(&self) -> Remedy {
        repair_kind(&self.kind).map_or(Remedy::Correct, trainee_file::Mangled::remedy)
    }
}

impl FileContent {
    /// The content of a file that was read, with the columns that were found in it.
    pub(crate) fn new(table: &Table, sheets: Vec<String>, found: Vec<ColumnProposal>) -> Self {
        Self {
            sheets,
            header: table.header.clone(),
            columns: found.into_iter().map(FileColumn::from).collect(),
            short_rows: table.short_rows.clone(),
            ..Self::default()
        }
    }

    /// The content of an upload; `None` if it was deleted.
    pub(crate) fn read(upload: &UploadRecord) -> Option<Self> {
        serde_json::from_str(&upload.content).ok()
    }

    /// The text to store.
    pub(crate) fn to_stored(&self) -> String {
        // Texts, numbers and lists of them are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Assigns the columns.
    pub(crate) fn assign(&mut self, columns: &[Option<Column>]) {
        for (known, column) in self.columns.iter_mut().zip(columns) {
            known.name = column.as_ref().map(Column::to_string);
        }
    }

    /// The assigned columns, for work on the rows: a column without a name is ignored.
    pub(crate) fn known_columns(&self, names: &Names) -> Vec<Column> {
        let columns = self.columns.iter();
        columns
            .map(|column| column.column(names).unwrap_or(Column::Ignored))
            .collect()
    }
}

fn shortened(cell: &str) -> String {
    let mut text: String = cell.chars().take(EXAMPLE_CHARS).collect();
    if text.len() < cell.len() {
        text.push('…');
    }
    text
}

/// Writes the cells of a row as one text.
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

/// The cells of a stored row.
pub(crate) fn split_cells(text: &str) -> Vec<String> {
    text.split(SEPARATOR).map(str::to_owned).collect()
}

/// What is known of a row besides its cells and its problems.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RowDetails {
    /// The columns with cells whose values are not certain, with the names of what happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) doubts: Vec<(usize, String)>,
    /// The entity tag of the trainee that was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    /// The requests of a row that changes a trainee, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requests: Vec<StoredRequest>,
    /// The fields that change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<CellChange>,
    /// What the register says about the values of an accepted row, such as that one is not stored as
    /// it is in the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

impl RowDetails {
    /// The details of a stored text; none if it was deleted.
    pub(crate) fn read(stored: &str) -> Self {
        serde_json::from_str(stored).unwrap_or_default()
    }

    /// The text to store.
    pub(crate) fn to_stored(&self) -> String {
        // Texts, numbers and lists of them are always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A request of a row, stored by the check until it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    /// The name of the endpoint.
    pub(crate) endpoint: String,
    /// The identifier of the nested record in the path; empty if there is none.
    pub(crate) nested_id: String,
    /// The body; empty for a request that reads.
    pub(crate) body: String,
    /// The entity tag of the nested record that was checked.
    pub(crate) if_match: Option<String>,
    /// The beginning of the names of the columns of a nested record, such as `placements.1.`; empty
    /// for the trainee.
    pub(crate) columns: String,
}

impl StoredRequest {
    /// A request about a trainee, or about the nested record of these columns.
    pub(crate) fn new(endpoint: Endpoint, body: String, columns: String) -> Self {
        Self {
            endpoint: endpoint.name().to_owned(),
            nested_id: String::new(),
            body,
            if_match: None,
            columns,
        }
    }

    /// The endpoint; `None` if this release does not know it.
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        let mut endpoints = Endpoint::ALL.iter().copied();
        endpoints.find(|endpoint| endpoint.name() == self.endpoint)
    }
}

/// A field that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CellChange {
    /// The heading of the column.
    pub(crate) heading: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A problem of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellProblem {
    /// The heading of the column, or the name of a field without one; blank for the whole row.
    pub(crate) heading: String,
    pub(crate) words: String,
}

impl CellProblem {
    /// A problem of the whole row.
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
    fn long_examples_are_shortened() {
        assert_eq!(shortened(&"x".repeat(40)), "x".repeat(40));
        assert_eq!(shortened(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
    }

    #[test]
    fn joined_cells_are_split_as_they_were() {
        let cells = ["", "a\n", "", "ë,\"", ""].map(str::to_owned);
        assert_eq!(split_cells(&join_cells(&cells)), cells);
        assert_eq!(split_cells(&join_cells(&[String::new()])), [""]);
    }
}
