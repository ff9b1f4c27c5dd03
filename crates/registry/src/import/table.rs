//! Reads the requested columns of a file with a header row, one row at a time.

use trainee_file::{FileFault, FileRows, Limits, Row as FileRow};

use super::{ImportError, RowProblem};

/// A row: its first line, and its cells or the problem of the row.
type Row = (u64, Result<Vec<String>, RowProblem>);

/// A file whose header row has been read.
pub(super) struct Table<'a> {
    rows: FileRows<'a>,
    /// The positions of the requested columns in a row; `None` for a missing optional column.
    positions: Vec<Option<usize>>,
    width: usize,
    /// Whether the file has no further rows, because a quotation mark is not closed.
    is_over: bool,
}

impl<'a> Table<'a> {
    /// Reads the header row. All required columns must be present.
    pub(super) fn open(
        text: &'a str,
        columns: &'static [&'static str],
        optional_columns: &'static [&'static str],
    ) -> Result<Self, ImportError> {
        let mut rows = FileRows::new(text, &Limits::NONE);
        let header = rows.next_row()?.ok_or(FileFault::Empty)?.cells;
        let mut positions = Vec::new();
        let mut missing = Vec::new();
        for (&column, is_optional) in columns
            .iter()
            .map(|column| (column, false))
            .chain(optional_columns.iter().map(|column| (column, true)))
        {
            let mut found = header
                .iter()
                .enumerate()
                .filter(|(_, name)| name.eq_ignore_ascii_case(column))
                .map(|(position, _)| position);
            // The second one shows that the header row has the column twice.
            match (found.next(), found.next()) {
                (Some(position), None) => positions.push(Some(position)),
                (Some(_), Some(_)) => return Err(ImportError::ColumnTwice(column)),
                (None, _) if is_optional => positions.push(None),
                (None, _) => missing.push(column),
            }
        }
        if !missing.is_empty() {
            return Err(ImportError::MissingColumns {
                needed: columns,
                missing,
            });
        }
        Ok(Self {
            rows,
            positions,
            width: header.len(),
            is_over: false,
        })
    }

    /// The next row: its first line, and its cells in the order of the requested columns.
    pub(super) fn next(&mut self) -> Result<Option<Row>, ImportError> {
        if self.is_over {
            return Ok(None);
        }
        match self.rows.next_row() {
            Ok(None) => Ok(None),
            Ok(Some(row)) => Ok(Some((row.line, self.requested_cells(row)))),
            Err(FileFault::OpenQuote(line)) => {
                self.is_over = true;
                Ok(Some((line, Err(RowProblem::Unclosed))))
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// The requested cells of a row. Blank cells at the end of a row may be left out or added, except
    /// those of requested columns.
    fn requested_cells(&self, mut row: FileRow) -> Result<Vec<String>, RowProblem> {
        let found = row.cells.len();
        let is_cut = self.positions.iter().flatten().any(|at| *at >= found);
        let has_more = row
            .cells
            .get(self.width..)
            .is_some_and(|beyond| beyond.iter().any(|cell| !cell.is_empty()));
        if is_cut || has_more {
            return Err(RowProblem::Ragged {
                found,
                expected: self.width,
            });
        }
        let mut cell = |at: &Option<usize>| {
            at.and_then(|at| row.cells.get_mut(at))
                .map(std::mem::take)
                .unwrap_or_default()
        };
        Ok(self.positions.iter().map(&mut cell).collect())
    }
}
