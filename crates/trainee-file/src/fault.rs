//! Faults of files, and the limits of a file.

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
}

/// The reason that a file cannot be read. `Display` is one sentence for the person who chose the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// There is no cell with text.
    #[error("The file is empty.")]
    Empty,
    /// The file has more bytes than the limit.
    #[error("The file is larger than {} MB; split it into smaller files.", limit / 1_048_576)]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A workbook, a PDF, a web page, or an archive.
    #[error("The file is {kind}, not CSV; open it in a spreadsheet and save it as CSV UTF-8.")]
    OtherFormat {
        /// The format, with its article.
        kind: &'static str,
    },
    /// The file has bytes that no text has.
    #[error("Line {line} has bytes that are not text; save the file as CSV UTF-8.")]
    NotText {
        /// The line, from 1.
        line: u64,
    },
    /// The file mixes UTF-8 with other bytes.
    #[error("Line {line} is not UTF-8, unlike other lines; save the file as CSV UTF-8.")]
    MixedEncodings {
        /// The first line that is not UTF-8, from 1.
        line: u64,
    },
    /// A cell begins with a quotation mark and has no end.
    #[error(
        "The quotation mark at the beginning of a cell in the row at line {line} is never closed; \
         add the second one."
    )]
    OpenQuote {
        /// The first line of the row, from 1.
        line: u64,
    },
    /// A row has more cells than the limit.
    #[error("Line {line} has more than {limit} cells; remove columns that are not needed.")]
    TooManyColumns {
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// The file has more rows than the limit.
    #[error("The file has more than {limit} rows of trainees; split it into smaller files.")]
    TooManyRows {
        /// The limit.
        limit: usize,
    },
    /// A cell is longer than the limit.
    #[error(
        "Line {line} has a cell of more than {} KB; check its quotation marks.",
        limit / 1024
    )]
    CellTooLong {
        /// The first line of the row, from 1.
        line: u64,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A column with values has no heading.
    #[error("Column {number} has no heading; write a name in the first row.")]
    BlankHeading {
        /// The column, from 1.
        number: usize,
    },
    /// Two columns have the same heading.
    #[error("Two columns are called {heading:?}; each needs a unique name in the first row.")]
    RepeatedHeading {
        /// The heading.
        heading: String,
    },
    /// A row has another number of cells than the first one.
    #[error(
        "Line {line} has {cells} cells, and the first row has {columns}; put quotation marks around \
         cells that contain {separator}."
    )]
    CellCount {
        /// The first line of the row, from 1.
        line: u64,
        /// The cells of the row.
        cells: usize,
        /// The cells of the first row.
        columns: usize,
        /// The name of the separator in the plural.
        separator: &'static str,
    },
}
