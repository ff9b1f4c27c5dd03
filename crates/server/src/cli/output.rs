//! The output of a command, on standard output.
//!
//! Whoever reads it may stop before the end, as `head` does. That is an error like any other here,
//! of which nothing is said: see [`super::CommandError::silent_status`].

use std::fmt;
use std::io::{self, Write as _};

use serde::Serialize;

use super::CommandError;

/// Prints a line.
pub(super) fn line(line: impl fmt::Display) -> Result<(), CommandError> {
    text(format_args!("{line}\n"))
}

/// Prints a text that ends its lines itself.
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

/// Prints how many rows each table has.
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

/// What is printed where a list has no entries.
pub(super) const EMPTY: &str = "none";

/// Prints rows of text under headings, in columns; without rows, [`EMPTY`].
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    rows: &[[String; N]],
) -> Result<(), CommandError> {
    if rows.is_empty() {
        line(EMPTY)
    } else {
        text(columns(headings, rows))
    }
}

fn columns<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let headings = headings.map(str::to_owned);
    let mut widths = [0; N];
    for row in std::iter::once(&headings).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["10000001".to_owned(), "Zoë".to_owned()],
            ["1".to_owned(), "A provider".to_owned()],
        ];
        assert_eq!(
            columns(["ukprn", "name"], &rows),
            "ukprn     name\n10000001  Zoë\n1         A provider\n"
        );
    }
}
