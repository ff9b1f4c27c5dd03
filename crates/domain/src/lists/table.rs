//! Reads the rows of one list, and says where a malformed one is.

use thiserror::Error;

/// A list that cannot be used.
#[derive(Debug, Error)]
#[error("list {list}, line {line}: {kind}")]
pub struct ListError {
    /// The name of the list.
    pub list: String,
    /// The line in its file, counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub kind: ListErrorKind,
}

/// What is wrong with a list.
#[derive(Debug, Error)]
pub enum ListErrorKind {
    /// It is not a table of comma-separated values.
    #[error("not comma-separated values")]
    Csv(#[source] csv::Error),
    /// A column is missing.
    #[error("column {0} is missing or empty")]
    Missing(String),
    /// A cell is neither `true` nor `false`.
    #[error("column {0} must be true or false")]
    NotFlag(String),
    /// A cell is not a whole number.
    #[error("column {0} must be a whole number")]
    NotNumber(String),
    /// A cell holds a word that is not one of the few allowed.
    #[error("column {0} holds a word that is not allowed there")]
    NotAllowed(String),
}

/// One row of a list.
pub(super) struct Row<'a> {
    list: &'a str,
    headers: csv::StringRecord,
    cells: csv::StringRecord,
}

/// The rows of a list with a header row.
pub(super) fn rows<'a>(list: &'a str, text: &str) -> Result<Vec<Row<'a>>, ListError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        ListError { list: list.to_owned(), line, kind: ListErrorKind::Csv(error) }
    };
    let headers = reader.headers().map_err(broken)?.clone();
    reader.records().map(|cells| Ok(Row { list, headers: headers.clone(), cells: cells.map_err(broken)? })).collect()
}

impl Row<'_> {
    /// The text of a column that must not be empty.
    pub(super) fn text(&self, column: &str) -> Result<&str, ListError> {
        self.cell(column).filter(|cell| !cell.is_empty()).ok_or_else(|| self.error(ListErrorKind::Missing, column))
    }

    /// The text of a column that must exist.
    pub(super) fn optional(&self, column: &str) -> Result<Option<&str>, ListError> {
        let cell = self.cell(column).ok_or_else(|| self.error(ListErrorKind::Missing, column))?;
        Ok((!cell.is_empty()).then_some(cell))
    }

    /// A column of `true` and `false`.
    pub(super) fn flag(&self, column: &str) -> Result<bool, ListError> {
        match self.text(column)? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.error(ListErrorKind::NotFlag, column)),
        }
    }

    /// A column of whole numbers.
    pub(super) fn number<N: std::str::FromStr>(&self, column: &str) -> Result<N, ListError> {
        self.text(column)?.parse().map_err(|_| self.error(ListErrorKind::NotNumber, column))
    }

    /// A column of years that a list need not have.
    pub(super) fn year(&self, column: &str) -> Result<Option<i32>, ListError> {
        match self.cell(column) {
            None | Some("") => Ok(None),
            Some(_) => self.number(column).map(Some),
        }
    }

    /// A column that holds one of a few words.
    pub(super) fn one_of(&self, column: &str, words: &[&'static str]) -> Result<&'static str, ListError> {
        let text = self.text(column)?;
        words.iter().find(|word| **word == text).copied().ok_or_else(|| self.error(ListErrorKind::NotAllowed, column))
    }

    fn cell(&self, column: &str) -> Option<&str> {
        self.headers.iter().position(|header| header == column).and_then(|at| self.cells.get(at))
    }

    fn error(&self, kind: fn(String) -> ListErrorKind, column: &str) -> ListError {
        let line = self.cells.position().map_or(1, csv::Position::line);
        ListError { list: self.list.to_owned(), line, kind: kind(column.to_owned()) }
    }
}
