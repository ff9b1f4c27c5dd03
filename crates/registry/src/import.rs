//! Reads CSV files, and imports schools and training partners from them.
//!
//! Files are read like uploaded files of trainees, in all their encodings and with all their
//! separators ([`trainee_file::FileRows`]). This module checks the rows;
//! [`storage::records::organisations::merge`] compares them with the register and writes the
//! differences while servers may run. A rejected row is reported and does not affect the others.

mod organisations;
pub mod reference_data;
mod row;
mod table;

use std::collections::HashMap;
use std::io::{self, Read};

use domain::values::trn::MalformedTrn;
use storage::accounts::users::Actor;
use storage::error::StorageError;
use storage::observations::imports::{ImportCounts, ImportKind, NewImport, RefusedLine};
use storage::records::organisations::merge::{Merge, Merged, Organisation};
use storage::store::Store;
use trainee_file::{FileFault, decode};

pub use self::row::Row;
use self::table::Table;

/// The message for a file that has only a header row.
pub const NO_ROWS: &str = "the file has no rows below the header row";

/// A value that can be read from a row.
pub trait Importable: Sized {
    /// The required columns, by their names in the header row.
    const COLUMNS: &'static [&'static str];

    /// The columns that a file may omit.
    const OPTIONAL_COLUMNS: &'static [&'static str] = &[];

    /// Reads a row.
    ///
    /// # Errors
    ///
    /// The reason for rejecting the row.
    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem>;
}

/// An organisation that can be read from a row, with the kind and the command of its import.
pub trait ImportableOrganisation: Importable + Organisation {
    /// The kind of the import.
    const KIND: ImportKind;
    /// The command of the import.
    const OPERATION: &'static str;
}

/// The result of an import.
#[derive(Debug)]
pub struct Report {
    /// The counts of the accepted rows.
    pub merged: Merged,
    /// The rejected rows, in the order of the file.
    pub refused: Vec<RefusedRow>,
    /// The line and the reason, if the import stopped before the end of the file.
    pub stopped: Option<Stopped<ImportError>>,
    /// Whether the report could be stored.
    pub stored: Result<(), StorageError>,
}

/// Processing of a file stopped before its end: the line and the reason.
#[derive(Debug, Clone, Copy)]
pub struct Stopped<R> {
    /// The first line whose result is uncertain, counted from 1.
    pub line: u64,
    /// The reason.
    pub reason: R,
}

/// A rejected row.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// The first line of the row, counted from 1.
    pub line: u64,
    /// The reason.
    pub problem: RowProblem,
}

/// The reasons for rejecting a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowProblem {
    /// The row is longer or shorter than the header.
    #[error("the row has {found} columns, but the header row has {expected}")]
    Ragged {
        /// Columns of the row.
        found: usize,
        /// Columns of the header row.
        expected: usize,
    },
    /// A quote is never closed, so the row takes in the rest of the file.
    #[error("a quotation mark is not closed; no later rows were read")]
    Unclosed,
    /// The URN is missing or malformed.
    #[error("URN must be 6 digits")]
    BadUrn,
    /// The URN is reserved for special values.
    #[error("the URN is reserved: schools and training partners cannot have it")]
    ReservedUrn,
    /// The UKPRN is malformed.
    #[error("UKPRN must be 8 digits")]
    BadUkprn,
    /// Another training partner is stored with the UKPRN.
    #[error("another training partner has the UKPRN {0}")]
    UkprnInUse(String),
    /// The row has neither a URN nor a UKPRN.
    #[error("a URN or a UKPRN is required")]
    NoNumber,
    /// The teacher reference number is malformed.
    #[error(transparent)]
    BadTrn(#[from] MalformedTrn),
    /// A date is malformed or does not exist.
    #[error("{0} must be a date of the form YYYY-MM-DD")]
    BadDate(&'static str),
    /// A timestamp is malformed or does not exist.
    #[error("{0} must be a timestamp of the form YYYY-MM-DDThh:mm:ss.sssZ")]
    BadTimestamp(&'static str),
    /// A required value is blank.
    #[error("{0} is blank")]
    Blank(&'static str),
    /// A text is too long.
    #[error("{column} is longer than {max} characters")]
    TooLong {
        /// The column.
        column: &'static str,
        /// The maximum length, in characters.
        max: usize,
    },
    /// An earlier row has the same number.
    #[error("{number} is already on line {line}")]
    Repeated {
        /// The URN or the UKPRN.
        number: String,
        /// The line of the first row with it.
        line: u64,
    },
}

impl RowProblem {
    /// The message without values of the row.
    #[must_use]
    pub fn without_values(&self) -> String {
        match self {
            Self::Repeated { line, .. } => format!("line {line} has the same number"),
            Self::UkprnInUse(_) => "another training partner has the UKPRN".to_owned(),
            Self::Ragged { .. }
            | Self::Unclosed
            | Self::BadUrn
            | Self::ReservedUrn
            | Self::BadUkprn
            | Self::NoNumber
            | Self::BadTrn(_)
            | Self::BadDate(_)
            | Self::BadTimestamp(_)
            | Self::Blank(_)
            | Self::TooLong { .. } => self.to_string(),
        }
    }
}

/// The reasons why an import fails or stops.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The file has another format, or is damaged.
    #[error(transparent)]
    File(#[from] FileFault),
    /// Required columns are missing.
    #[error(
        "the header row must have the columns {}; missing: {}",
        list(.needed),
        list(.missing)
    )]
    MissingColumns {
        /// The required columns.
        needed: &'static [&'static str],
        /// The missing ones.
        missing: Vec<&'static str>,
    },
    /// The header row names a column twice.
    #[error("the header row has the column {0:?} twice")]
    ColumnTwice(&'static str),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The names of columns in quotes, separated by commas.
fn list(columns: &[&str]) -> String {
    columns
        .iter()
        .map(|column| format!("{column:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Imports the organisations of a file and stores the report. Blocks. If the file or the store
/// fails during the import, the report contains the failure: earlier changes remain, and the import
/// can be repeated.
///
/// # Errors
///
/// When nothing of the file was imported.
pub fn import<O: ImportableOrganisation>(
    store: &Store,
    file: impl Read,
    by: &str,
) -> Result<Report, ImportError> {
    let bytes = read_bytes(file)?;
    let text = decode(&bytes)?;
    let mut table = Table::open(&text, O::COLUMNS, O::OPTIONAL_COLUMNS)?;
    let mut merge = Merge::<O>::begin(store)?.by(by);
    // The first line that is not certainly stored. Line 1 is the header row.
    let mut first_uncertain = 2;
    let mut refused = Vec::new();
    let read = read_unique_rows(&mut table, |line, row: Result<O, RowProblem>| {
        // While no row waits for its transaction, all earlier lines are stored.
        if !merge.is_waiting() {
            first_uncertain = line;
        }
        let row = row.and_then(|organisation| match merge.number_in_use(&organisation) {
            Some(number) => Err(RowProblem::UkprnInUse(number.to_owned())),
            None => Ok(organisation),
        });
        match row {
            Ok(organisation) => merge.take(organisation)?,
            Err(problem) => refused.push(RefusedRow { line, problem }),
        }
        if !merge.is_waiting() {
            first_uncertain = line + 1;
        }
        Ok(())
    });
    let written = read.and_then(|()| Ok(merge.finish()?));
    let stopped = written.err().map(|reason| Stopped {
        line: first_uncertain,
        reason,
    });
    let mut report = Report {
        merged: merge.merged(),
        refused,
        stopped,
        stored: Ok(()),
    };
    let import = report.import::<O>();
    let by = by.to_owned();
    report.stored = store.write_blocking(move |session| {
        session
            .record_import(Actor::operator(&by), &import)
            .map(drop)
    });
    Ok(report)
}

impl Report {
    /// Whether the file has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.merged == Merged::default() && self.refused.is_empty() && self.stopped.is_none()
    }

    /// The report in the form that is stored.
    fn import<O: ImportableOrganisation>(&self) -> NewImport {
        let Merged {
            added,
            changed,
            unchanged,
        } = self.merged;
        let refused = self.refused.iter().map(|row| RefusedLine {
            line: row.line,
            problem: row.problem.without_values(),
        });
        NewImport {
            kind: O::KIND,
            operation: O::OPERATION.to_owned(),
            counts: ImportCounts {
                added: added as u64,
                changed: changed as u64,
                unchanged: unchanged as u64,
            },
            refused: refused.collect(),
            stopped_at_line: self.stopped.as_ref().map(|stopped| stopped.line),
        }
    }
}

/// Reads all rows of a file. Passes each row and its first line to `take`. Stops when `take` fails.
///
/// # Errors
///
/// When the file cannot be read to its end, or the error of `take`.
pub fn each_row<R: Importable>(
    file: impl Read,
    take: impl FnMut(u64, Result<R, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let bytes = read_bytes(file)?;
    let text = decode(&bytes)?;
    read_rows(
        &mut Table::open(&text, R::COLUMNS, R::OPTIONAL_COLUMNS)?,
        take,
    )
}

/// The bytes of a file. Its encoding is known only at its end.
fn read_bytes(mut file: impl Read) -> Result<Vec<u8>, io::Error> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the rows of a table. Passes each row and its first line to `take`. Stops when `take`
/// fails.
fn read_rows<R: Importable>(
    table: &mut Table<'_>,
    mut take: impl FnMut(u64, Result<R, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    while let Some((line, cells)) = table.next()? {
        take(
            line,
            cells.and_then(|cells| R::from_row(&Row::new(R::COLUMNS, R::OPTIONAL_COLUMNS, &cells))),
        )?;
    }
    Ok(())
}

/// Reads all rows, and rejects rows whose number an earlier row has.
fn read_unique_rows<O: Importable + Organisation>(
    table: &mut Table<'_>,
    mut take: impl FnMut(u64, Result<O, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut lines = HashMap::new();
    read_rows(table, |line, row: Result<O, RowProblem>| {
        let row = row.and_then(|organisation| {
            for number in organisation.numbers() {
                if let Some(first) = lines.get(number) {
                    return Err(RowProblem::Repeated {
                        number: number.to_owned(),
                        line: *first,
                    });
                }
            }
            lines.extend(
                organisation
                    .numbers()
                    .map(|number| (number.to_owned(), line)),
            );
            Ok(organisation)
        });
        take(line, row)
    })
}

#[cfg(test)]
mod tests;
