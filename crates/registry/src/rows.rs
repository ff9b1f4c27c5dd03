//! The rows of files of registry actions: a trainee, and the data of the action.

use std::io::Read;

use domain::Trn;
use domain::commands::registry::Reinstatement;
use domain::values::iso_8601::read_date;

use crate::actions::RegistryAction;
use crate::import::{ImportError, Importable, Row, RowProblem, each_row};

const TRAINEE_ID: &str = "trainee_id";
const TRN: &str = "trn";
const DATE: &str = "date";
const ITT_END_DATE: &str = "itt_end_date";

/// A row that requests an action.
pub trait Order: Importable {
    /// The identifier of the trainee, and the action of the command with the data of the row.
    fn order(self, action: &RegistryAction) -> (String, RegistryAction);
}

/// A row with a trainee.
#[derive(Debug)]
pub struct PlainRow(String);

/// A row with a trainee and a number. A blank number means that one is drawn.
#[derive(Debug)]
pub struct NumberRow(String, Option<Trn>);

/// A row with a trainee and the dates of the return.
#[derive(Debug)]
pub struct ReturnRow(String, Reinstatement);

/// Reads all rows of a file of actions. Passes the first line of each row, the identifier of the
/// trainee and the action to `take`. Stops when `take` fails.
///
/// # Errors
///
/// When the file cannot be read to its end, or the error of `take`.
pub fn each_order(
    action: &RegistryAction,
    file: impl Read,
    take: impl FnMut(u64, Result<(String, RegistryAction), RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    match action {
        RegistryAction::IssueTrn(_) => each_order_of::<NumberRow>(action, file, take),
        RegistryAction::Reinstate(_) => each_order_of::<ReturnRow>(action, file, take),
        RegistryAction::Award
        | RegistryAction::ReturnRecommendation
        | RegistryAction::UndoWithdrawal
        | RegistryAction::Discard => each_order_of::<PlainRow>(action, file, take),
    }
}

/// Like [`each_order`], for rows of the type `R`.
fn each_order_of<R: Order>(
    action: &RegistryAction,
    file: impl Read,
    mut take: impl FnMut(u64, Result<(String, RegistryAction), RowProblem>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    each_row(file, |line, row: Result<R, RowProblem>| {
        take(line, row.map(|row| row.order(action)))
    })
}

/// The identifier of the trainee, which must not be blank.
fn trainee_id(row: &Row<'_>) -> Result<String, RowProblem> {
    row.text(TRAINEE_ID).ok_or(RowProblem::Blank(TRAINEE_ID))
}

impl Importable for PlainRow {
    const COLUMNS: &'static [&'static str] = &[TRAINEE_ID];

    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem> {
        trainee_id(row).map(Self)
    }
}

impl Importable for NumberRow {
    const COLUMNS: &'static [&'static str] = &[TRAINEE_ID, TRN];

    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem> {
        let trn = row.text(TRN).map(|text| text.parse()).transpose()?;
        Ok(Self(trainee_id(row)?, trn))
    }
}

impl Importable for ReturnRow {
    const COLUMNS: &'static [&'static str] = &[TRAINEE_ID, DATE];
    const OPTIONAL_COLUMNS: &'static [&'static str] = &[ITT_END_DATE];

    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem> {
        let day = |column| {
            let read = |text: String| read_date(&text).ok_or(RowProblem::BadDate(column));
            row.text(column).map(read).transpose()
        };
        let back = Reinstatement {
            date: day(DATE)?,
            itt_end_date: day(ITT_END_DATE)?,
        };
        Ok(Self(trainee_id(row)?, back))
    }
}

impl Order for PlainRow {
    fn order(self, action: &RegistryAction) -> (String, RegistryAction) {
        (self.0, action.clone())
    }
}

impl Order for NumberRow {
    fn order(self, _: &RegistryAction) -> (String, RegistryAction) {
        (self.0, RegistryAction::IssueTrn(self.1))
    }
}

impl Order for ReturnRow {
    fn order(self, _: &RegistryAction) -> (String, RegistryAction) {
        (self.0, RegistryAction::Reinstate(self.1))
    }
}
