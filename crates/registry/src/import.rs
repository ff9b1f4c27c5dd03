//! Reads files of comma-separated values, and brings schools and training partners from them into
//! the register.
//!
//! A file is read row by row. What a row says is checked here; what differs from the register, and
//! how it gets there next to a running server, is for [`storage::records::organisations::merge`]. A
//! row that cannot be used is reported and keeps no other row back.

mod file_format;
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

pub use self::file_format::FileFormat;
pub use self::row::Row;
use self::table::Table;
use crate::retries::write_blocking_with_retries;

/// What is printed about a file that has only a header row.
pub const NO_ROWS: &str = "the file has a header row and no other rows";

/// Something that can be read from a row.
pub trait Importable: Sized {
    /// The columns that are read, by the names in the header row.
    const COLUMNS: &'static [&'static str];

    /// The columns that are read where the file has them.
    const OPTIONAL_COLUMNS: &'static [&'static str] = &[];

    /// Reads a row.
    ///
    /// # Errors
    ///
    /// Why the row is refused.
    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem>;
}

/// An organisation that can be read from a row, with what its import is called.
pub trait ImportableOrganisation: Importable + Organisation {
    /// What the file is about.
    const KIND: ImportKind;
    /// The command that imports it.
    const OPERATION: &'static str;
}

/// What an import came to.
#[derive(Debug)]
pub struct Report {
    /// What became of the rows that were accepted.
    pub merged: Merged,
    /// The rows that were refused, in the order of the file.
    pub refused: Vec<RefusedRow>,
    /// Where the file was not done to its end.
    pub stopped: Option<Stopped<ImportError>>,
    /// Whether the report was stored.
    pub stored: Result<(), StorageError>,
}

/// Where and why a file was not done to its end.
#[derive(Debug, Clone, Copy)]
pub struct Stopped<R> {
    /// The first line of which it is not certain that it was done, counted from 1.
    pub line: u64,
    /// Why.
    pub reason: R,
}

/// A row that was refused.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// The line on which the row begins, counted from 1.
    pub line: u64,
    /// Why.
    pub problem: RowProblem,
}

/// Why a row is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowProblem {
    /// The row is longer or shorter than the header.
    #[error("the row has {found} columns where the header row has {expected}")]
    Ragged {
        /// Columns of the row.
        found: usize,
        /// Columns of the header row.
        expected: usize,
    },
    /// A quote is opened in the row and closed nowhere, so the rest of the file is taken for a part
    /// of the row.
    #[error("a quote is opened and never closed; no row after this one was read")]
    Unclosed,
    /// The URN is missing or has another form.
    #[error("URN must be 6 digits")]
    BadUrn,
    /// The URN stands for no school and no partner.
    #[error("the URN is reserved: no school and no training partner has it")]
    ReservedUrn,
    /// The UKPRN has another form.
    #[error("UKPRN must be 8 digits")]
    BadUkprn,
    /// Another training partner is stored with the UKPRN.
    #[error("another training partner has the UKPRN {0}")]
    UkprnInUse(String),
    /// The row has neither number.
    #[error("there is neither a URN nor a UKPRN")]
    NoNumber,
    /// The teacher reference number has another form.
    #[error(transparent)]
    BadTrn(#[from] MalformedTrn),
    /// A date has another form, or is none.
    #[error("{0} must be a date of the form YYYY-MM-DD")]
    BadDate(&'static str),
    /// A timestamp has another form, or is none.
    #[error("{0} must be a timestamp of the form YYYY-MM-DDThh:mm:ss.sssZ")]
    BadTimestamp(&'static str),
    /// A column that must say something is blank.
    #[error("{0} is blank")]
    Blank(&'static str),
    /// A text is too long.
    #[error("{column} is longer than {max} characters")]
    TooLong {
        /// The column.
        column: &'static str,
        /// The longest text that is accepted.
        max: usize,
    },
    /// An earlier row has the same number.
    #[error("{number} is on line {line} already")]
    Repeated {
        /// The URN or the UKPRN.
        number: String,
        /// The line of the first row with it.
        line: u64,
    },
}

impl RowProblem {
    /// The words without any value of the row.
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

/// Why a file is not imported, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The file is of another format.
    #[error("{0}")]
    Format(FileFormat),
    /// Columns are missing.
    #[error(
        "the first row of the file must name the columns {}; it does not name {}",
        list(.needed),
        list(.missing)
    )]
    MissingColumns {
        /// The columns that are read.
        needed: &'static [&'static str],
        /// Those of them that the file does not have.
        missing: Vec<&'static str>,
    },
    /// The header row names a column twice.
    #[error("the first row of the file names the column {0:?} twice")]
    ColumnTwice(&'static str),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn list(columns: &[&str]) -> String {
    columns
        .iter()
        .map(|column| format!("{column:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Brings the organisations of a file into the register, and stores what it came to. Blocks. Where
/// the file or the store fails on the way, the report says so: what was written before stays, and
/// the same import can be made again.
///
/// # Errors
///
/// Why nothing of the file was imported.
pub fn import<O: ImportableOrganisation>(
    store: &Store,
    file: impl Read,
    by: &str,
) -> Result<Report, ImportError> {
    let mut table = Table::open(file, O::COLUMNS, O::OPTIONAL_COLUMNS)?;
    let mut merge = Merge::<O>::begin(store)?.by(by);
    // The first line behind those that are done.
    let mut not_done = 2;
    let mut refused = Vec::new();
    let read = read(&mut table, |line, row: Result<O, RowProblem>| {
        if !merge.is_waiting() {
            not_done = line;
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
            not_done = line + 1;
        }
        Ok(())
    });
    let written = read.and_then(|()| Ok(merge.finish()?));
    let stopped = written.err().map(|reason| Stopped {
        line: not_done,
        reason,
    });
    let mut report = Report {
        merged: merge.merged(),
        refused,
        stopped,
        stored: Ok(()),
    };
    let (import, by) = (report.import::<O>(), by.to_owned());
    report.stored = write_blocking_with_retries(store, move |session| {
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

    /// The report as it is stored.
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

/// Reads all rows of a file, and gives each with the line on which it begins. Stops when one is not
/// taken.
///
/// # Errors
///
/// Why the file was not read to its end.
pub fn each_row<R: Importable>(
    file: impl Read,
    take: impl FnMut(u64, Result<R, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    rest(
        &mut Table::open(file, R::COLUMNS, R::OPTIONAL_COLUMNS)?,
        take,
    )
}

fn rest<R: Importable>(
    table: &mut Table<impl Read>,
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

/// Reads all rows, and refuses those with a number that an earlier row has.
fn read<O: Importable + Organisation>(
    table: &mut Table<impl Read>,
    mut take: impl FnMut(u64, Result<O, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut lines = HashMap::new();
    rest(table, |line, row: Result<O, RowProblem>| {
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
