//! Faults of files, and the limits of a file.

use crate::workbook_fault::WorkbookFault;

/// How many times the size of a file a workbook can have when it is unpacked.
const UNPACKED_SIZE: usize = 5;

/// The limits of a file. All are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Rows below the headings.
    pub rows: usize,
    /// Cells of a row.
    pub columns: usize,
    /// Bytes of a cell, as UTF-8.
    pub cell_bytes: usize,
}

impl Limits {
    /// The limits of a file that a server reads.
    pub const UPLOAD: Self = Self {
        bytes: 10 * 1024 * 1024,
        rows: 5_000,
        columns: 200,
        cell_bytes: 64 * 1024,
    };
    /// No limits, for a program that reads the files of its user.
    pub const NONE: Self = Self {
        bytes: usize::MAX,
        rows: usize::MAX,
        columns: usize::MAX,
        cell_bytes: usize::MAX,
    };

    /// The bytes of all parts of a workbook when they are unpacked.
    pub(crate) fn unpacked_bytes(&self) -> usize {
        self.bytes.saturating_mul(UNPACKED_SIZE)
    }

    /// Fails if a file has too many bytes.
    pub(crate) fn check_size(&self, file: &[u8]) -> Result<(), FileFault> {
        let limit = self.bytes;
        if file.len() > limit {
            return Err(FileFault::TooLarge { limit });
        }
        Ok(())
    }
}

/// The reason that a file cannot be read. `Display` is one sentence for the person who chose the
/// file. Lines and columns count from 1; the line of a row is its first one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// There is no cell with text.
    #[error("The file is empty.")]
    Empty,
    /// There are headings, and no row with text below them.
    #[error("The file has headings and no rows of trainees.")]
    NoRows,
    /// The file has more bytes than the limit.
    #[error(
        "The file is larger than {megabytes} MB; split it into smaller files.",
        megabytes = limit / 1_048_576
    )]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A format other than CSV, with its article.
    #[error("The file is {0}, not CSV; open it in a spreadsheet and save it as CSV UTF-8.")]
    OtherFormat(&'static str),
    /// The line has bytes that cannot be text.
    #[error("Line {0} has bytes that are not text; save the file as CSV UTF-8.")]
    NotText(u64),
    /// The line is not UTF-8, unlike other lines.
    #[error("Line {0} is not UTF-8, unlike other lines; save the file as CSV UTF-8.")]
    MixedEncodings(u64),
    /// A cell of the row at this line begins with a quotation mark and has no end.
    #[error(
        "The quotation mark at the beginning of a cell in the row at line {0} is never closed; add \
         the second one."
    )]
    OpenQuote(u64),
    /// A row has more cells than the limit: its line, and the limit.
    #[error("Line {0} has more than {1} cells; remove columns that are not needed.")]
    TooManyColumns(u64, usize),
    /// The file has more rows than the limit.
    #[error("The file has more than {0} rows of trainees; split it into smaller files.")]
    TooManyRows(usize),
    /// A row has a cell of more bytes than the limit: its line, and the limit.
    #[error(
        "Line {0} has a cell of more than {kilobytes} KB; check its quotation marks.",
        kilobytes = .1 / 1024
    )]
    CellTooLong(u64, usize),
    /// The column has values, but no heading.
    #[error("Column {0} has no heading; write a name in the first row.")]
    BlankHeading(usize),
    /// The heading of the column has more characters than the limit.
    #[error("The heading of column {0} has more than {1} characters; write a short name.")]
    HeadingTooLong(usize, usize),
    /// Two columns have the same heading.
    #[error("Two columns are called {0:?}; each needs a unique name in the first row.")]
    RepeatedHeading(String),
    /// A row has more cells than the first one.
    #[error(
        "Line {line} has {cells} cells, and the first row has {columns}; put quotation marks around \
         cells that contain {separator}."
    )]
    TooManyCells {
        /// The line of the row.
        line: u64,
        /// The cells of the row.
        cells: usize,
        /// The cells of the first row.
        columns: usize,
        /// The name of the separator in the plural.
        separator: &'static str,
    },
    /// The file is a workbook that cannot be read.
    #[error(transparent)]
    Workbook(#[from] WorkbookFault),
}
