//! Reads files of comma-separated values, and brings schools and training partners from them into the register.
//!
//! A file is read row by row. What a row says is checked here; what differs from the register, and how it gets there
//! next to a running server, is for [`storage::organisations::merge`]. A row that cannot be used is reported and
//! keeps no other row back.

mod file_format;
mod organisations;
pub mod reference_data;
mod row;
mod table;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read};

use domain::trn::MalformedTrn;
use storage::error::StorageError;
use storage::imports::{ImportCounts, ImportKind, NewImport, RefusedLine};
use storage::organisations::merge::{Merge, Merged, Organisation};
use storage::store::Store;
use storage::users::Actor;

pub use self::file_format::FileFormat;
pub use self::row::Row;
use self::table::Table;
use crate::retries::write_blocking_with_retries;

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
    /// A quote is opened in the row and closed nowhere, so the rest of the file is taken for a part of the row.
    #[error("a quote is opened and never closed; no row after this one was read")]
    Unclosed,
    /// The URN is missing or has another form.
    #[error("URN must be 6 digits")]
    BadUrn,
    /// The UKPRN has another form.
    #[error("UKPRN must be 8 digits")]
    BadUkprn,
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
    /// An earlier row is about the same organisation.
    #[error("{number} is on line {line} already")]
    Repeated {
        /// The number by which organisations are identified.
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
            Self::Repeated { line, .. } => format!("line {line} is about the same organisation"),
            Self::Ragged { .. }
            | Self::Unclosed
            | Self::BadUrn
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
    columns.iter().map(|column| format!("{column:?}")).collect::<Vec<_>>().join(", ")
}

/// Brings the organisations of a file into the register, and stores what it came to. Blocks. Where the file or the
/// store fails on the way, the report says so: what was written before stays, and the same import can be made again.
///
/// # Errors
///
/// Why nothing of the file was imported.
pub fn import<O: ImportableOrganisation>(store: &Store, file: impl Read, by: &str) -> Result<Report, ImportError> {
    let mut table = Table::open(file, O::COLUMNS, O::OPTIONAL_COLUMNS)?;
    let mut merge = Merge::<O>::begin(store)?.by(by);
    // The first line behind those that are done.
    let mut not_done = 2;
    let mut refused = Vec::new();
    let read = read(&mut table, |line, row: Result<O, RowProblem>| {
        if !merge.is_waiting() {
            not_done = line;
        }
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
    let stopped = written.err().map(|reason| Stopped { line: not_done, reason });
    let mut report = Report { merged: merge.merged(), refused, stopped, stored: Ok(()) };
    let (import, by) = (report.import::<O>(), by.to_owned());
    report.stored = write_blocking_with_retries(store, move |session| {
        session.record_import(Actor::operator(&by), &import).map(drop)
    });
    Ok(report)
}

impl Report {
    /// The report as it is stored.
    fn import<O: ImportableOrganisation>(&self) -> NewImport {
        let Merged { added, changed, unchanged } = self.merged;
        let refused =
            self.refused.iter().map(|row| RefusedLine { line: row.line, problem: row.problem.without_values() });
        NewImport {
            kind: O::KIND,
            operation: O::OPERATION.to_owned(),
            counts: ImportCounts { added: added as u64, changed: changed as u64, unchanged: unchanged as u64 },
            refused: refused.collect(),
            stopped_at_line: self.stopped.as_ref().map(|stopped| stopped.line),
        }
    }
}

/// Reads all rows of a file, and gives each with the line on which it begins. Stops when one is not taken.
///
/// # Errors
///
/// Why the file was not read to its end.
pub fn each_row<R: Importable>(
    file: impl Read,
    take: impl FnMut(u64, Result<R, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    rest(&mut Table::open(file, R::COLUMNS, R::OPTIONAL_COLUMNS)?, take)
}

fn rest<R: Importable>(
    table: &mut Table<impl Read>,
    mut take: impl FnMut(u64, Result<R, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    while let Some((line, cells)) = table.next()? {
        take(line, cells.and_then(|cells| R::from_row(&Row::new(R::COLUMNS, R::OPTIONAL_COLUMNS, &cells))))?;
    }
    Ok(())
}

/// Reads all rows, and refuses those that are about an organisation that was there before.
fn read<O: Importable + Organisation>(
    table: &mut Table<impl Read>,
    mut take: impl FnMut(u64, Result<O, RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut lines = HashMap::new();
    rest(table, |line, row: Result<O, RowProblem>| {
        let row = row.and_then(|organisation| match lines.entry(organisation.key().to_owned()) {
            Entry::Occupied(first) => {
                Err(RowProblem::Repeated { number: organisation.key().to_owned(), line: *first.get() })
            }
            Entry::Vacant(place) => {
                place.insert(line);
                Ok(organisation)
            }
        });
        take(line, row)
    })
}

#[cfg(test)]
mod tests {
    use storage::organisations::merge::{PartnerDetails, SchoolDetails};

    use super::*;

    type Rows<O> = Vec<(u64, Result<O, RowProblem>)>;

    fn rows<O: Importable + Organisation>(file: &[u8]) -> Result<Rows<O>, ImportError> {
        let mut rows = Vec::new();
        read(&mut Table::open(file, O::COLUMNS, O::OPTIONAL_COLUMNS)?, |line, row| {
            rows.push((line, row));
            Ok(())
        })?;
        Ok(rows)
    }

    fn schools(rows: &str) -> Rows<SchoolDetails> {
        super::tests::rows(format!("URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n{rows}").as_bytes())
            .unwrap()
    }

    fn school(urn: &str, name: &str, postcode: Option<&str>, open: bool) -> SchoolDetails {
        SchoolDetails { urn: urn.to_owned(), name: name.to_owned(), postcode: postcode.map(str::to_owned), open }
    }

    #[test]
    fn columns_are_found_by_name_and_others_are_ignored() {
        let file = "LA (code),Postcode,URN,EstablishmentStatus (name),EstablishmentName\r\n\
            201,EC3A 5DE,100000,Open,The Aldgate School\r\n201,,100001,\"Open, but proposed to close\",Ash\r\n\
            201,EC4M 9AD,100002,Closed,Beech\r\n201,EC4M 9AE,100003,Proposed to open,Cedar";
        let expected = [
            (2, Ok(school("100000", "The Aldgate School", Some("EC3A 5DE"), true))),
            (3, Ok(school("100001", "Ash", None, true))),
            (4, Ok(school("100002", "Beech", Some("EC4M 9AD"), false))),
            (5, Ok(school("100003", "Cedar", Some("EC4M 9AE"), false))),
        ];
        assert_eq!(rows::<SchoolDetails>(file.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn both_encodings_are_understood_with_and_without_a_byte_order_mark() {
        let utf_8 = "URN,UKPRN,Name\n100000,,St Zoë’s\n";
        let marked = format!("\u{feff}{utf_8}");
        let windows_1252 = b"URN,UKPRN,Name\n100000,,St Zo\xeb\x92s\n";
        for file in [utf_8.as_bytes(), marked.as_bytes(), windows_1252.as_slice()] {
            let rows = rows::<PartnerDetails>(file).unwrap();
            let [(2, Ok(partner))] = rows.as_slice() else { panic!("{rows:?}") };
            assert_eq!(partner.name, "St Zoë’s");
        }
    }

    #[test]
    fn a_quoted_name_may_hold_commas_quotes_and_line_breaks_and_lines_are_counted_on() {
        for end in ["\n", "\r\n"] {
            let rows = schools(
                &["100000,\"Ash,", "the \"\"old\"\"  School\",\"ZZ1 1AA\",\"Open\"", "", "100000,,,Open"].join(end),
            );
            let expected = [
                (2, Ok(school("100000", "Ash, the \"old\" School", Some("ZZ1 1AA"), true))),
                (5, Err(RowProblem::Blank("EstablishmentName"))),
            ];
            assert_eq!(rows, expected, "{end:?}");
        }
    }

    #[test]
    fn a_quote_that_is_not_closed_is_refused_where_it_stands_and_swallows_no_row_in_silence() {
        let closed = "100000,Ash,,\"Open\"\n\n100001,\"Be\nech\n\",,Open";
        assert!(schools(closed).iter().all(|(_, row)| row.is_ok()));
        for opened in ["\"", "\"Open\n100003,Fir,,Open\n", "\"Open\"\"", "\"Open\r\n\r\n100003,Fir,,Open\r\n"] {
            let rows = schools(&format!("{closed}\n\n100002,Elm,,{opened}"));
            assert_eq!(rows.len(), 3, "{opened:?}: {rows:?}");
            assert_eq!(rows[2], (8, Err(RowProblem::Unclosed)), "{opened:?}");
        }
    }

    #[test]
    fn a_row_that_cannot_be_used_is_refused_with_its_line_and_keeps_no_other_back() {
        let long = "x".repeat(256);
        let rows = schools(&format!(
            "12345,Ash,,Open\n100000,  ,,Open\n100001,Ash,ZZ1 1AAAA,Open\n100002,Ash,ZZ1 1AA\n100003,Ash,,Open\n\
             100003,Ash,,Closed\n100004,{long},,Open\n,Ash,,Open\n"
        ));
        let problems: Vec<_> = rows
            .iter()
            .map(|(line, row)| {
                format!("{line}: {}", row.as_ref().map_or_else(ToString::to_string, |row| row.urn.clone()))
            })
            .collect();
        assert_eq!(
            problems,
            [
                "2: URN must be 6 digits",
                "3: EstablishmentName is blank",
                "4: Postcode is longer than 8 characters",
                "5: the row has 3 columns where the header row has 4",
                "6: 100003",
                "7: 100003 is on line 6 already",
                "8: EstablishmentName is longer than 255 characters",
                "9: URN must be 6 digits",
            ]
        );
    }

    #[test]
    fn a_training_partner_has_a_urn_or_a_ukprn() {
        let file =
            "Name,UKPRN,URN\nAsh,10000001,\nBeech,10000001,100000\nCedar,,\nDamson,1000,\nElm,,1000\nFir,10000001,\n";
        let rows: Vec<_> = rows::<PartnerDetails>(file.as_bytes()).unwrap().into_iter().map(|(_, row)| row).collect();
        let partner = |urn: Option<&str>, name: &str| {
            Ok(PartnerDetails {
                urn: urn.map(str::to_owned),
                ukprn: Some("10000001".to_owned()),
                name: name.to_owned(),
            })
        };
        let expected = [
            partner(None, "Ash"),
            partner(Some("100000"), "Beech"),
            Err(RowProblem::NoNumber),
            Err(RowProblem::BadUkprn),
            Err(RowProblem::BadUrn),
            Err(RowProblem::Repeated { number: "10000001".to_owned(), line: 2 }),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_file_without_a_column_is_refused_as_a_whole() {
        let refused = |file: &str| rows::<PartnerDetails>(file.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            refused("URN,Title\n100000,Ash\n"),
            r#"the first row of the file must name the columns "URN", "UKPRN", "Name"; it does not name "UKPRN", "Name""#
        );
        assert_eq!(refused("URN,UKPRN,Name,URN\n"), r#"the first row of the file names the column "URN" twice"#);
    }

    #[test]
    fn file_of_another_format_is_refused_with_its_format() {
        for (file, expected) in [
            (&b""[..], FileFormat::Empty),
            (b"\n\r\n", FileFormat::Empty),
            (b"\xef\xbb\xbf", FileFormat::Empty),
            (b"URN;UKPRN;Name\n100000;;Ash\n", FileFormat::Semicolons),
            (b"URN\tUKPRN\tName\n100000\t\tAsh\n", FileFormat::Tabs),
            (b"\xff\xfeU\0R\0N\0,\0", FileFormat::Utf16),
            (b"\xfe\xff\0U\0R\0N\0,", FileFormat::Utf16),
            (b"PK\x03\x04\x14\0\x06\0,", FileFormat::Archive),
            (b"\x7fELF\x02\x01\x01\0,\n", FileFormat::Binary),
        ] {
            let error = rows::<PartnerDetails>(file).unwrap_err();
            assert!(matches!(error, ImportError::Format(format) if format == expected), "{expected:?}: {error}");
        }
        // A column may be called anything.
        let error = rows::<PartnerDetails>(b"URN,Title; or name\n").unwrap_err();
        assert!(matches!(error, ImportError::MissingColumns { .. }), "{error}");
    }
}
