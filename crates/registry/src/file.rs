//! What became of the rows of a file, each of which asks for an action.
//!
//! Whoever prints or shows it gets the words of a refusal whole; what is stored of an import has no
//! value of a record.

use domain::commands::registry::RegistryError;
use storage::error::{Refusal, StorageError};
use storage::observations::imports::{ImportCounts, ImportKind, NewImport, RefusedLine};

use crate::actions::{Outcome, RegistryAction, RegistryActionError};
use crate::import::{RowProblem, Stopped};

/// What became of the rows so far.
#[derive(Debug, Default)]
pub struct FileReport {
    /// Rows that were done.
    pub done: u64,
    /// Rows that had been done before.
    pub unchanged: u64,
    /// The rows that were refused, in the order of the file.
    pub refused: Vec<RefusedOrder>,
    /// Where and why the file was not done to its end, if it was not.
    pub stopped: Option<Stopped<StopReason>>,
}

/// Why a file was not done to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Whoever sent it may not do this any more. The line was not done.
    NotPermitted,
    /// The server stops. The line was not done.
    Stopping,
    /// The register did not answer at this line, which may have been done.
    NoAnswer,
    /// The file cannot be read from this line on.
    Unreadable,
}

/// A row that was refused.
#[derive(Debug)]
pub struct RefusedOrder {
    /// The line on which it begins, counted from 1.
    pub line: u64,
    /// Why, with the identifier of the trainee where there is one.
    pub problem: String,
    /// The same without any value of a record.
    stored: String,
}

impl FileReport {
    /// Whether the file has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done == 0 && self.unchanged == 0 && self.refused.is_empty() && self.stopped.is_none()
    }

    /// Adds a row that asks for nothing that can be done.
    pub fn add_unreadable(&mut self, line: u64, problem: &RowProblem) {
        self.refused.push(RefusedOrder {
            line,
            problem: problem.to_string(),
            stored: problem.without_values(),
        });
    }

    /// Adds what became of a row.
    ///
    /// # Errors
    ///
    /// When the store failed: then it is not known of the row, and no other should be tried.
    pub fn add(
        &mut self,
        line: u64,
        trainee_id: &str,
        outcome: Result<Outcome, RegistryActionError>,
    ) -> Result<(), StorageError> {
        match outcome {
            Ok(outcome) if outcome.changed => self.done += 1,
            Ok(_) => self.unchanged += 1,
            Err(RegistryActionError::Storage(error)) => {
                let is_refused = matches!(error, StorageError::Refused(Refusal::NotPermitted));
                self.stop(
                    line,
                    if is_refused {
                        StopReason::NotPermitted
                    } else {
                        StopReason::NoAnswer
                    },
                );
                return Err(error);
            }
            Err(
                error @ (RegistryActionError::UnknownTrainee
                | RegistryActionError::NumberRequired
                | RegistryActionError::Erased
                | RegistryActionError::Refused(_)),
            ) => {
                let stored = without_values(&error).to_owned();
                self.refused.push(RefusedOrder {
                    line,
                    problem: format!("trainee {trainee_id}: {error}"),
                    stored,
                });
            }
        }
        Ok(())
    }

    /// Notes that neither this line nor one behind it is done.
    pub fn stop(&mut self, line: u64, reason: StopReason) {
        self.stopped = Some(Stopped { line, reason });
    }

    /// The rows as they are stored of an import.
    #[must_use]
    pub fn import(&self, action: &RegistryAction) -> NewImport {
        let refused = self.refused.iter().map(|row| RefusedLine {
            line: row.line,
            problem: row.stored.clone(),
        });
        NewImport {
            kind: ImportKind::Trainees,
            operation: action.operation().to_owned(),
            counts: ImportCounts {
                added: 0,
                changed: self.done,
                unchanged: self.unchanged,
            },
            refused: refused.collect(),
            stopped_at_line: self.stopped.map(|stopped| stopped.line),
        }
    }
}

/// Why an action was refused, without a number, a date or a name.
fn without_values(error: &RegistryActionError) -> &'static str {
    match error {
        RegistryActionError::UnknownTrainee => "no trainee has this identifier",
        RegistryActionError::NumberRequired => "the number is missing",
        RegistryActionError::Erased => "the trainee was erased",
        RegistryActionError::Storage(_) => "the register did not answer",
        RegistryActionError::Refused(refused) => match refused {
            RegistryError::Transition(_) => "not in the state of the trainee",
            RegistryError::Discarded => "the trainee is discarded",
            RegistryError::OtherTrn(_) => "the trainee has another TRN already",
            RegistryError::TrnOfAnother(_) => "the TRN is that of another person",
            RegistryError::NoTrn => "the trainee has no TRN yet",
            RegistryError::NoOutcomeDate => "the trainee has no outcome_date",
            RegistryError::NoReturnDate => "the day on which the trainee came back is missing",
            RegistryError::BeforeDeferral(_) => "the trainee was deferred after that day",
            RegistryError::DayAhead => "that day is still to come",
            RegistryError::EndNotAfterStart(_) => "itt_end_date must be later than itt_start_date",
            RegistryError::EndTooLate(_) => "itt_end_date is too late",
            RegistryError::EndTooEarly(_) => "itt_end_date is too early",
            RegistryError::UnknownPreviousState => "the state before the withdrawal is not known",
        },
    }
}
