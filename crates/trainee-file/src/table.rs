//! A file of trainees: rows of cells under headings.

use std::collections::BTreeSet;

use crate::apostrophe::APOSTROPHE;
use crate::cells::{FileRows, Row};
use crate::fault::{FileFault, Limits};
use crate::text::decode_text;

/// A file of trainees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The headings as in the file. All are different, also if case is ignored.
    pub header: Vec<String>,
    /// The rows below the headings, without blank rows. Each has one cell for each heading.
    pub rows: Vec<Row>,
    /// The lines of rows with fewer cells than headings. Their missing cells are blank.
    pub short_rows: Vec<u64>,
}

impl Table {
    /// Reads a file within [`Limits::UPLOAD`].
    ///
    /// # Errors
    ///
    /// [`FileFault`], whose `Display` is one sentence for the person who chose the file.
    pub fn read(bytes: &[u8]) -> Result<Self, FileFault> {
        Self::read_within(bytes, &Limits::UPLOAD)
    }

    /// Like [`Table::read`], within other limits.
    ///
    /// # Errors
    ///
    /// [`FileFault`], whose `Display` is one sentence for the person who chose the file.
    pub fn read_within(bytes: &[u8], limits: &Limits) -> Result<Self, FileFault> {
        if bytes.len() > limits.bytes {
            let limit = limits.bytes;
            return Err(FileFault::TooLarge { limit });
        }
        let text = decode_text(bytes)?;
        let mut cells = FileRows::new(&text, limits);
        let first = cells.next_row()?.ok_or(FileFault::Empty)?;
        let mut table = Self {
            header: first.cells.into_iter().map(remove_mark).collect(),
            rows: Vec::new(),
            short_rows: Vec::new(),
        };
        let named = table.header.iter().rposition(|name| !name.is_empty());
        let needed = named.map_or(0, |last| last + 1);
        while let Some(row) = cells.next_row()? {
            if table.rows.len() == limits.rows {
                return Err(FileFault::TooManyRows(limits.rows));
            }
            if row.cells.len() < needed {
                table.short_rows.push(row.line);
            }
            table
                .rows
                .push(fit_row(row, table.header.len(), cells.separator)?);
        }
        table.remove_blank_columns()?;
        table.require_unique_headings()?;
        Ok(table)
    }

    /// Removes columns without a heading and without values, which spreadsheets write beside the
    /// data.
    fn remove_blank_columns(&mut self) -> Result<(), FileFault> {
        let Some(first) = self.header.iter().position(String::is_empty) else {
            return Ok(());
        };
        // From the end, so that a removal does not change the positions of the remaining columns.
        for at in (first..self.header.len()).rev() {
            if self
                .header
                .get(at)
                .is_some_and(|heading| !heading.is_empty())
            {
                continue;
            }
            let is_filled = |row: &Row| row.cells.get(at).is_some_and(|cell| !cell.is_empty());
            if self.rows.iter().any(is_filled) {
                return Err(FileFault::BlankHeading(at + 1));
            }
            self.header.remove(at);
            for row in &mut self.rows {
                row.cells.remove(at);
            }
        }
        Ok(())
    }

    /// Fails if two headings are equal, ignoring case.
    fn require_unique_headings(&self) -> Result<(), FileFault> {
        let mut known = BTreeSet::new();
        for heading in &self.header {
            if !known.insert(heading.to_lowercase()) {
                return Err(FileFault::RepeatedHeading(heading.clone()));
            }
        }
        Ok(())
    }
}

/// Returns a heading without the apostrophe that templates write before it.
fn remove_mark(heading: String) -> String {
    heading
        .strip_prefix(APOSTROPHE)
        .map_or(heading.clone(), |rest| rest.trim_start().to_owned())
}

/// Returns the row with one cell for each heading. Missing cells are blank, and blank cells after the
/// last heading are removed.
fn fit_row(mut row: Row, columns: usize, separator: &'static str) -> Result<Row, FileFault> {
    while row.cells.len() > columns && row.cells.last().is_some_and(String::is_empty) {
        row.cells.pop();
    }
    if row.cells.len() <= columns {
        row.cells.resize(columns, String::new());
        return Ok(row);
    }
    Err(FileFault::TooManyCells {
        line: row.line,
        cells: row.cells.len(),
        columns,
        separator,
    })
}
