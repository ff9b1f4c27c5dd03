//! Reads a CSV file with a header row, one row at a time.

use std::borrow::Cow;
use std::io::{self, Chain, Read};

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use domain::values::text::is_blank;
use encoding_rs::WINDOWS_1252;

use super::file_format::is_column;
use super::{ImportError, RowProblem, file_format};

/// A file whose header row has been read.
pub(super) struct Table<R> {
    rows: Rows<R>,
    record: ByteRecord,
    /// The positions of the requested columns in a row; `None` for a missing optional column.
    positions: Vec<Option<usize>>,
    width: usize,
}

/// The rows of the file.
///
/// Every row ends at a line feed, so the line number of its end is exact, also after blank lines.
struct Rows<R>(Reader<Chain<LineFeeds<R>, Ending>>);

/// A reader that converts the line ends CR and CRLF to LF.
struct LineFeeds<R> {
    file: R,
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line
    /// end.
    follows_return: bool,
}

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.file.read(buffer)?;
            let mut kept = Vec::with_capacity(count);
            for byte in buffer.iter().take(count).copied() {
                let is_second = byte == b'\n' && self.follows_return;
                self.follows_return = byte == b'\r';
                if !is_second {
                    kept.push(if self.follows_return { b'\n' } else { byte });
                }
            }
            // Zero bytes mean the end of the file.
            if count == 0 || !kept.is_empty() {
                buffer
                    .iter_mut()
                    .zip(&kept)
                    .for_each(|(kept, byte)| *kept = *byte);
                return Ok(kept.len());
            }
        }
    }
}

/// The position of a row in the file.
struct RowPosition {
    /// The first line of the row, counted from 1.
    line: u64,
    /// Whether all quotes of the row are closed. An unclosed quote takes in the rest of the file.
    is_closed: bool,
}

/// Line ends appended to a file: one ends the last row, and one is an empty row. A last row whose
/// quotes are closed ends before the empty row. An unclosed quote takes in all bytes to the end.
struct Ending {
    left: &'static [u8],
    /// Whether the reader has asked for more bytes than there are.
    is_over: bool,
}

impl Read for Ending {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.left.read(buffer)?;
        self.is_over |= count == 0;
        Ok(count)
    }
}

impl<R: Read> Rows<R> {
    /// The rows of a file, with the [`Ending`] after them.
    fn new(file: R) -> Self {
        let rows = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(
                LineFeeds {
                    file,
                    follows_return: false,
                }
                .chain(Ending {
                    left: b"\n\n",
                    is_over: false,
                }),
            );
        Self(rows)
    }

    /// Reads the next row with a cell that is not blank, and returns its position, or `None` at the
    /// end.
    fn next(&mut self, record: &mut ByteRecord) -> Result<Option<RowPosition>, ImportError> {
        loop {
            if !self.0.read_byte_record(record).map_err(io::Error::from)? {
                return Ok(None);
            }
            let is_closed = !self.0.get_ref().get_ref().1.is_over;
            if !is_closed || !cells(record).all(|cell| is_blank(&cell)) {
                let inside: usize = record
                    .iter()
                    .map(|cell| cell.iter().filter(|byte| **byte == b'\n').count())
                    .sum();
                // The reader is at the line after the row; an unclosed row has no line end.
                let after = inside as u64 + u64::from(is_closed);
                return Ok(Some(RowPosition {
                    line: self.0.position().line().saturating_sub(after),
                    is_closed,
                }));
            }
        }
    }
}

impl<R: Read> Table<R> {
    /// Reads the header row. All required columns must be present.
    pub(super) fn open(
        file: R,
        columns: &'static [&'static str],
        optional_columns: &'static [&'static str],
    ) -> Result<Self, ImportError> {
        let mut rows = Rows::new(file);
        let mut record = ByteRecord::new();
        rows.next(&mut record)?;
        let header: Vec<_> = cells(&record).map(Cow::into_owned).collect();
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
                .filter(|(_, name)| is_column(name, column))
                .map(|(position, _)| position);
            // The second one shows that the header row has the column twice.
            match (found.next(), found.next()) {
                (Some(position), None) => positions.push(Some(position)),
                (Some(_), Some(_)) => return Err(ImportError::ColumnTwice(column)),
                (None, _) if is_optional => positions.push(None),
                (None, _) => missing.push(column),
            }
        }
        if missing.is_empty() {
            Ok(Self {
                rows,
                width: header.len(),
                record,
                positions,
            })
        } else {
            Err(
                match file_format::detect(&record, cells(&record), columns) {
                    Some(format) => ImportError::Format(format),
                    None => ImportError::MissingColumns {
                        needed: columns,
                        missing,
                    },
                },
            )
        }
    }

    /// The next row: its first line, and its cells in the order of the requested columns.
    #[expect(
        clippy::type_complexity,
        reason = "a row borrows from the table, so an iterator is not possible"
    )]
    pub(super) fn next(
        &mut self,
    ) -> Result<Option<(u64, Result<Vec<Cow<'_, str>>, RowProblem>)>, ImportError> {
        let Some(RowPosition { line, is_closed }) = self.rows.next(&mut self.record)? else {
            return Ok(None);
        };
        if !is_closed {
            return Ok(Some((line, Err(RowProblem::Unclosed))));
        }
        if self.record.len() != self.width {
            let problem = RowProblem::Ragged {
                found: self.record.len(),
                expected: self.width,
            };
            return Ok(Some((line, Err(problem))));
        }
        let cell =
            |at: &Option<usize>| decoded(at.and_then(|at| self.record.get(at)).unwrap_or_default());
        Ok(Some((line, Ok(self.positions.iter().map(cell).collect()))))
    }
}

/// The texts of the cells of a row.
fn cells(record: &ByteRecord) -> impl Iterator<Item = Cow<'_, str>> {
    record.iter().map(decoded)
}

/// The text of a cell. Bytes that are not valid UTF-8 are decoded as Windows-1252; text in
/// Windows-1252 is rarely valid UTF-8.
fn decoded(cell: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(cell) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(cell).0,
    }
}
