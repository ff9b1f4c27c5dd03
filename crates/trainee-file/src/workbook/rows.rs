//! Collects the cells of a sheet as rows, within the limits of a file.

use crate::cells::{Row, trim_cell};
use crate::fault::{FileFault, Limits};
use crate::text::is_no_text;
use crate::workbook_fault::WorkbookFault;

/// The rows of a sheet so far, without blank rows.
pub(super) struct SheetRows<'a> {
    limits: &'a Limits,
    rows: Vec<Row>,
    /// The most cells of a row.
    width: usize,
    /// The bytes of all texts. The cells of a workbook can share one text, so that a small file has
    /// large cells.
    text_bytes: usize,
}

impl<'a> SheetRows<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            rows: Vec::new(),
            width: 0,
            text_bytes: 0,
        }
    }

    /// Adds the text of the cell at a row and a column, both from 0. Rows must come in their order.
    pub(super) fn add(&mut self, row: usize, column: usize, text: &str) -> Result<(), FileFault> {
        let text = trim_cell(text);
        if text.is_empty() {
            return Ok(());
        }
        let line = row as u64 + 1;
        if column >= self.limits.columns {
            return Err(FileFault::TooManyColumns(line, self.limits.columns));
        }
        if text.len() > self.limits.cell_bytes {
            return Err(FileFault::CellTooLong(line, self.limits.cell_bytes));
        }
        self.text_bytes = self.text_bytes.saturating_add(text.len());
        if self.text_bytes > self.limits.unpacked_bytes() {
            return Err(WorkbookFault::TooLarge(self.limits.unpacked_bytes()).into());
        }
        if text.contains(is_no_text) {
            return Err(WorkbookFault::ControlCharacter(cell_name(row, column)).into());
        }
        let cells = self.cells_of(line)?;
        if cells.len() <= column {
            cells.resize(column + 1, String::new());
        }
        if let Some(cell) = cells.get_mut(column) {
            *cell = text;
        }
        self.width = self.width.max(column + 1);
        Ok(())
    }

    /// The cells of the last row, which begins here if its line is new.
    fn cells_of(&mut self, line: u64) -> Result<&mut Vec<String>, FileFault> {
        let last = self.rows.last().map_or(0, |row| row.line);
        if line < last {
            return Err(WorkbookFault::Damaged.into());
        }
        if line > last {
            // The first row has the headings.
            if self.rows.len() > self.limits.rows {
                return Err(FileFault::TooManyRows(self.limits.rows));
            }
            let cells = Vec::with_capacity(self.width);
            self.rows.push(Row { line, cells });
        }
        let row = self.rows.last_mut().ok_or(WorkbookFault::Damaged)?;
        Ok(&mut row.cells)
    }

    /// Returns the rows, with as many cells as the longest one, so that none counts as short.
    pub(super) fn finish(mut self, sheet: &str) -> Result<Vec<Row>, FileFault> {
        if self.rows.is_empty() {
            return Err(WorkbookFault::EmptySheet(sheet.to_owned()).into());
        }
        for row in &mut self.rows {
            row.cells.resize(self.width, String::new());
        }
        Ok(self.rows)
    }
}

/// Returns the name of a cell in a spreadsheet, such as `C3`. Row and column count from 0.
pub(super) fn cell_name(row: usize, column: usize) -> String {
    let mut letters = String::new();
    let mut left = column + 1;
    while let Some(above) = left.checked_sub(1) {
        letters.insert(0, char::from(b'A' + (above % 26) as u8));
        left = above / 26;
    }
    format!("{letters}{}", row + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named_as_in_a_spreadsheet() {
        let names = [0, 25, 26, 701, 702].map(|column| cell_name(2, column));
        assert_eq!(names, ["A3", "Z3", "AA3", "ZZ3", "AAA3"]);
    }
}
