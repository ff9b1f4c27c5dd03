//! A file of trainees: rows of cells under headings.

use std::collections::BTreeSet;

use crate::apostrophe::APOSTROPHE;
use crate::cells::{FileRows, Row};
use crate::fault::{FileFault, Limits};
use crate::text::decode_text;
use crate::workbook;

/// The maximum number of characters of a heading.
const MAX_HEADING_CHARS: usize = 200;

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
    /// Reads a file within [`Limits::UPLOAD`]: CSV, or the first sheet of a workbook.
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
        Self::read_sheet(bytes, None, limits)
    }

    /// Like [`Table::read_within`], for one of the [`sheet_names`](crate::sheet_names) of a
    /// workbook. `None` is the first one. A CSV file has no sheets, and is read whole.
    ///
    /// # Errors
    ///
    /// [`FileFault`], whose `Display` is one sentence for the person who chose the file.
    pub fn read_sheet(
        bytes: &[u8],
        sheet: Option<&str>,
        limits: &Limits,
    ) -> Result<Self, FileFault> {
        limits.check_size(bytes)?;
        if workbook::is_workbook(bytes)? {
            let mut rows = workbook::read_rows(bytes, sheet, limits)?.into_iter();
            // The rows of a sheet have equal lengths, so no fault names the separator.
            return Self::from_rows(|| Ok(rows.next()), "", limits);
        }
        let text = decode_text(bytes)?;
        let mut rows = FileRows::new(&text, limits);
        let separator = rows.separator;
        Self::from_rows(|| rows.next_row(), separator, limits)
    }

    /// Collects the rows of a file. The first one has the headings.
    fn from_rows(
        mut next_row: impl FnMut() -> Result<Option<Row>, FileFault>,
        separator: &'static str,
        limits: &Limits,
    ) -> Result<Self, FileFault> {
        let first = next_row()?.ok_or(FileFault::Empty)?;
        let mut table = Self {
            header: first.cells.into_iter().map(remove_mark).collect(),
            rows: Vec::new(),
            short_rows: Vec::new(),
        };
        table.require_short_headings()?;
        let named = table.header.iter().rposition(|name| !name.is_empty());
        let needed = named.map_or(0, |last| last + 1);
        while let Some(row) = next_row()? {
            if table.rows.len() == limits.rows {
                return Err(FileFault::TooManyRows(limits.rows));
            }
            if row.cells.len() < needed {
                table.short_rows.push(row.line);
            }
            let row = fit_row(row, table.header.len(), separator)?;
            table.rows.push(row);
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

    /// Fails if a heading is too long to be shown.
    fn require_short_headings(&self) -> Result<(), FileFault> {
        let is_long = |heading: &String| heading.chars().nth(MAX_HEADING_CHARS).is_some();
        match self.header.iter().position(is_long) {
            Some(at) => Err(FileFault::HeadingTooLong(at + 1, MAX_HEADING_CHARS)),
            None => Ok(()),
        }
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
