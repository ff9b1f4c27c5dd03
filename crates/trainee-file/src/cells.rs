//! Reads the rows of cells of a text. No row and no cell takes more memory than its limit.

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};
use visible_text::is_blank;

use crate::apostrophe::remove_apostrophe;
use crate::fault::{FileFault, Limits};

/// The separators, with their names in the plural. If several fit equally well, the first is used.
const SEPARATORS: [(u8, &str); 3] = [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs")];
/// The beginning of a line that only names the separator. Spreadsheets write and read such lines.
const SEPARATOR_LINE: &str = "sep=";
/// The initial size of the memory for a cell, in bytes. A longer cell doubles the size.
const FIRST_CELL_BYTES: usize = 1024;

/// A row of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The first line of the row in the file, from 1.
    pub line: u64,
    /// The cells, without surrounding white space and without an added apostrophe.
    pub cells: Vec<String>,
}

/// The rows of the text of a file, without those whose cells are all blank.
pub struct FileRows<'a> {
    text: &'a [u8],
    reader: Reader,
    at: usize,
    lines: LineCounter<'a>,
    limits: &'a Limits,
    cell: Vec<u8>,
    /// The number of cells of the previous row, because most rows have the same number.
    width: usize,
    /// The name of the separator in the plural.
    pub(crate) separator: &'static str,
}

impl<'a> FileRows<'a> {
    /// Begins at the first row. If the first line names a separator, this one is used. Otherwise
    /// the separator that results in the most cells of the first row is used.
    #[must_use]
    pub fn new(text: &'a str, limits: &'a Limits) -> Self {
        if let Some((separator, at)) = named_separator(text) {
            return Self::with_separator(text, at, separator, limits);
        }
        let [first, others @ ..] = SEPARATORS;
        let mut best = (count_first_row(text, first, limits), first);
        for separator in others {
            let cells = count_first_row(text, separator, limits);
            if cells > best.0 {
                best = (cells, separator);
            }
        }
        Self::with_separator(text, 0, best.1, limits)
    }

    /// Begins at the byte `at`, with a separator and its name.
    fn with_separator(
        text: &'a str,
        at: usize,
        (byte, separator): (u8, &'static str),
        limits: &'a Limits,
    ) -> Self {
        Self {
            text: text.as_bytes(),
            reader: ReaderBuilder::new().delimiter(byte).build(),
            at,
            lines: LineCounter::new(text.as_bytes()),
            limits,
            cell: vec![0; FIRST_CELL_BYTES],
            width: 0,
            separator,
        }
    }

    /// Returns the next row that has text, `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// [`FileFault`] if the row breaks a limit, or a quotation mark is not closed.
    pub fn next_row(&mut self) -> Result<Option<Row>, FileFault> {
        loop {
            let line = self.lines.line_of(self.at);
            let mut cells = Vec::with_capacity(self.width);
            let mut is_blank = true;
            while let Some((cell, is_last)) = self.next_cell(line)? {
                if cells.len() == self.limits.columns {
                    return Err(FileFault::TooManyColumns(line, self.limits.columns));
                }
                is_blank &= cell.is_empty();
                cells.push(cell);
                if is_last {
                    break;
                }
            }
            if cells.is_empty() {
                return Ok(None);
            }
            self.width = cells.len();
            if !is_blank {
                return Ok(Some(Row { line, cells }));
            }
        }
    }

    /// Returns the next cell, and whether it is the last of its row. `None` at the end of the file.
    fn next_cell(&mut self, line: u64) -> Result<Option<(String, bool)>, FileFault> {
        let mut length = 0;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            // A line end after the file ends the last cell, unless its quotation mark is still
            // open.
            let input = if rest.is_empty() { b"\n" } else { rest };
            let output = self.cell.get_mut(length..).unwrap_or_default();
            let (result, read, written) = self.reader.read_field(input, output);
            length += written;
            self.at += read.min(rest.len());
            if length > self.limits.cell_bytes {
                return Err(FileFault::CellTooLong(line, self.limits.cell_bytes));
            }
            match result {
                ReadFieldResult::Field { record_end } => {
                    let cell = self.cell.get(..length).unwrap_or_default();
                    let cell = String::from_utf8_lossy(cell);
                    return Ok(Some((trim_cell(&cell), record_end)));
                }
                ReadFieldResult::OutputFull => self.cell.resize(self.cell.len() * 2, 0),
                ReadFieldResult::InputEmpty if rest.is_empty() && length > 0 => {
                    return Err(FileFault::OpenQuote(line));
                }
                ReadFieldResult::InputEmpty if rest.is_empty() => return Ok(None),
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::End => return Ok(None),
            }
        }
    }
}

/// The separator that the first line names, and the position after it; `None` if the line names
/// none.
fn named_separator(text: &str) -> Option<((u8, &'static str), usize)> {
    let rest = text.strip_prefix(SEPARATOR_LINE)?;
    let byte = *rest.as_bytes().first()?;
    let separator = SEPARATORS.into_iter().find(|(known, _)| *known == byte)?;
    let is_alone = rest.get(1..)?.starts_with(['\r', '\n']);
    is_alone.then_some((separator, SEPARATOR_LINE.len() + 1))
}

/// The number of cells of the first row. A row that cannot be read counts as one cell.
fn count_first_row(text: &str, separator: (u8, &'static str), limits: &Limits) -> usize {
    match FileRows::with_separator(text, 0, separator, limits).next_row() {
        Ok(Some(row)) => row.cells.len(),
        Err(FileFault::TooManyColumns(_, limit)) => limit.saturating_add(1),
        Ok(None) | Err(_) => 1,
    }
}

/// The text of a cell without surrounding white space and without an added apostrophe. Invisible
/// text is blank.
pub(crate) fn trim_cell(text: &str) -> String {
    if is_blank(text) {
        return String::new();
    }
    let text = text.trim();
    remove_apostrophe(text).unwrap_or(text).to_owned()
}

/// The line that contains a byte of a text, from 1.
pub(crate) fn line_at(text: &[u8], byte: usize) -> u64 {
    let before = text.get(..byte).unwrap_or(text);
    let mut lines = LineCounter::new(before);
    lines.line_of(byte)
}

/// Counts the lines of a text like an editor: each ends with LF, CR or both.
struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The line of the first row at or after a byte. Line ends at this byte are skipped. Calls must
    /// have ascending positions.
    fn line_of(&mut self, byte: usize) -> u64 {
        while let Some(next) = self.text.get(self.at)
            && (self.at < byte || matches!(next, b'\r' | b'\n'))
        {
            let follows_return =
                self.at.checked_sub(1).and_then(|at| self.text.get(at)) == Some(&b'\r');
            self.line += u64::from(*next == b'\r' || (*next == b'\n' && !follows_return));
            self.at += 1;
        }
        self.line
    }
}
