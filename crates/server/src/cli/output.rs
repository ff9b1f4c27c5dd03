//! The standard output of a command.
//!
//! The reader may close the pipe before the end, like `head`. Printing then returns an error
//! without a message: see [`super::CommandError::silent_status`].

use std::fmt;
use std::io::{self, Write as _};

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value, json};
use trainee_file::add_apostrophe;

use super::CommandError;

/// Prints a line.
pub(super) fn line(line: impl fmt::Display) -> Result<(), CommandError> {
    text(format_args!("{line}\n"))
}

/// Prints a text that contains its own line ends.
pub(super) fn text(text: impl fmt::Display) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(CommandError::Print)
}

/// Prints an answer as JSON.
pub(super) fn json(answer: &impl Serialize) -> Result<(), CommandError> {
    line(serde_json::to_string_pretty(answer).map_err(CommandError::Unwritable)?)
}

/// Prints an answer as JSON on one line.
pub(super) fn json_line(answer: &impl Serialize) -> Result<(), CommandError> {
    line(serde_json::to_string(answer).map_err(CommandError::Unwritable)?)
}

/// Prints the number of rows of each table.
pub(super) fn counts(counts: &[(&str, impl fmt::Display)]) -> Result<(), CommandError> {
    let width = counts
        .iter()
        .map(|(table, _)| table.len())
        .max()
        .unwrap_or_default();
    counts
        .iter()
        .try_for_each(|(table, rows)| line(format_args!("{table:width$}  {rows}")))
}

/// The text for a list without entries.
pub(super) const EMPTY: &str = "none";

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// Columns of text
    Table,
    /// Comma-separated values
    Csv,
    /// A JSON array of objects
    Json,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// Text and tables
    Table,
    /// JSON
    Json,
}

/// The option of commands that print a list.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct ListOutput {
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    output: ListFormat,
}

/// The option of commands that print a report.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct ReportOutput {
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    output: ReportFormat,
}

impl ReportOutput {
    /// The requested format.
    pub(super) fn format(self) -> ReportFormat {
        self.output
    }
}

/// A cell of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Cell {
    Text(String),
    Number(i64),
    Missing,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: TryInto<i64>> From<Number<T>> for Cell {
    fn from(Number(number): Number<T>) -> Self {
        number.try_into().map_or(Self::Missing, Self::Number)
    }
}

/// A number as a cell of a list.
pub(super) struct Number<T>(pub(super) T);

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.pad(text),
            Self::Number(number) => formatter.pad(&number.to_string()),
            Self::Missing => formatter.pad(""),
        }
    }
}

impl ListOutput {
    /// Prints the rows of a list in the requested format.
    pub(super) fn print<const N: usize>(
        self,
        headings: [&str; N],
        rows: &[[Cell; N]],
    ) -> Result<(), CommandError> {
        match self.output {
            ListFormat::Table => table(headings, rows),
            ListFormat::Csv => text(csv(headings, rows).map_err(CommandError::Print)?),
            ListFormat::Json => json(&objects(headings, rows)),
        }
    }

    /// Prints a line below a table. The formats for programs omit it.
    pub(super) fn note(self, note: impl fmt::Display) -> Result<(), CommandError> {
        match self.output {
            ListFormat::Table => line(note),
            ListFormat::Csv | ListFormat::Json => Ok(()),
        }
    }

    /// The requested format.
    pub(super) fn format(self) -> ListFormat {
        self.output
    }
}

/// Converts rows to objects with the headings as keys.
fn objects<const N: usize>(headings: [&str; N], rows: &[[Cell; N]]) -> Vec<Map<String, Value>> {
    let mut objects = Vec::with_capacity(rows.len());
    for row in rows {
        let entries = headings.iter().zip(row);
        let entries = entries.map(|(heading, cell)| ((*heading).to_owned(), json!(cell)));
        objects.push(entries.collect());
    }
    objects
}

/// A CSV file with a row of headings.
fn csv<const N: usize>(headings: [&str; N], rows: &[[Cell; N]]) -> io::Result<String> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(headings)?;
    for row in rows {
        file.write_record(row.iter().map(csv_field))?;
    }
    let bytes = file.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The text of a cell. Text that a spreadsheet would read as a formula gets an apostrophe as a
/// prefix, because some texts come from clients, such as names of tokens.
fn csv_field(cell: &Cell) -> String {
    let text = cell.to_string();
    if text.parse::<f64>().is_ok() {
        text
    } else {
        add_apostrophe(text)
    }
}

/// Prints rows in columns under headings, or [`EMPTY`] without rows.
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    rows: &[[Cell; N]],
) -> Result<(), CommandError> {
    if rows.is_empty() {
        line(EMPTY)
    } else {
        text(columns(headings, rows))
    }
}

/// A table as text: columns under headings, each as wide as its longest cell.
fn columns<const N: usize>(headings: [&str; N], rows: &[[Cell; N]]) -> String {
    let headings = headings.map(|heading| Cell::from(heading.to_owned()));
    let mut widths = [0; N];
    for row in std::iter::once(&headings).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.to_string().chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [[Cell; 3]; 2] {
        [
            [
                "10000001".to_owned().into(),
                "Zoë".to_owned().into(),
                Number(7_u32).into(),
            ],
            [
                "1".to_owned().into(),
                "=A provider".to_owned().into(),
                Cell::Missing,
            ],
        ]
    }

    #[test]
    fn columns_have_width_of_widest_cell() {
        assert_eq!(
            columns(["ukprn", "name", "tokens"], &rows()),
            "ukprn     name         tokens\n10000001  Zoë          7\n1         =A provider\n"
        );
    }

    #[test]
    fn json_has_an_object_for_each_row() {
        let objects = objects(["ukprn", "name", "tokens"], &rows());
        assert_eq!(
            serde_json::to_value(objects).unwrap(),
            json!([
                { "ukprn": "10000001", "name": "Zoë", "tokens": 7 },
                { "ukprn": "1", "name": "=A provider", "tokens": null },
            ])
        );
    }

    #[test]
    fn csv_has_no_formulas() {
        assert_eq!(
            csv(["ukprn", "name", "tokens"], &rows()).unwrap(),
            "ukprn,name,tokens\n10000001,Zoë,7\n1,'=A provider,\n"
        );
        let field = |text: &str| csv_field(&Cell::from(text.to_owned()));
        for formula in ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-"] {
            assert_eq!(field(formula), format!("'{formula}"));
        }
        for other in ["", "Records, old", "10000001", "-7", "+4.5", "a=b"] {
            assert_eq!(field(other), other);
        }
    }
}
