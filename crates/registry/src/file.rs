//! The results of the rows of a file of registry actions.
//!
//! Commands and pages show the full text of a rejection; stored imports contain no values of
//! records.

use domain::commands::registry::RegistryError;
use storage::error::{Refusal, StorageError};
use storage::observations::imports::{ImportCounts, ImportKind, NewImport, RefusedLine};

use crate::actions::{Outcome, RegistryAction, RegistryActionError};
use crate::import::{RowProblem, Stopped};

/// The results of the rows so far.
#[derive(Debug, Default)]
pub struct FileReport {
    /// Rows whose action was performed.
    pub done: u64,
    /// Rows whose action had been performed before.
    pub unchanged: u64,
    /// The rejected rows, in the order of the file.
    pub refused: Vec<RefusedOrder>,
    /// The line and the reason, if processing stopped before the end of the file.
    pub stopped: Option<Stopped<StopReason>>,
}

/// The reasons why processing stops before the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The sender has lost the permission. The line was not processed.
    NotPermitted,
    /// The server stops. The line was not processed.
    Stopping,
    /// The register did not answer. The line may have been processed.
    NoAnswer,
    /// The file is unreadable from this line on.
    Unreadable,
}

/// A rejected row.
#[derive(Debug)]
pub struct RefusedOrder {
    /// The first line of the row, counted from 1.
    pub line: u64,
    /// The reason, with the identifier of the trainee if the row has one.
    pub problem: String,
    /// The reason without values of a record.
    stored: String,
}

impl FileReport {
    /// Whether the file has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done == 0 && self.unchanged == 0 && self.refused.is_empty() && self.stopped.is_none()
    }

    /// Adds a row that cannot be read as an action.
    pub fn add_unreadable(&mut self, line: u64, problem: &RowProblem) {
        self.refused.push(RefusedOrder {
            line,
            problem: problem.to_string(),
            stored: problem.without_values(),
        });
    }

    /// Adds the result of a row.
    ///
    /// # Errors
    ///
    /// When the store failed. The result of the row is then unknown, and the caller must stop.
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

    /// Records that this line and all later lines were not processed.
    pub fn stop(&mut self, line: u64, reason: StopReason) {
        self.stopped = Some(Stopped { line, reason });
    }

    /// The results in the form that is stored for an import.
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

/// The reason for a rejection, without a number, a date or a name.
fn without_values(error: &RegistryActionError) -> &'static str {
    match error {
        RegistryActionError::UnknownTrainee => "no trainee has this identifier",
        RegistryActionError::NumberRequired => "the TRN is missing",
        RegistryActionError::Erased => "the trainee was erased",
        RegistryActionError::Storage(_) => "the register did not answer",
        RegistryActionError::Refused(refused) => match refused {
            RegistryError::Transition(_) => "not allowed in the trainee's state",
            RegistryError::Discarded => "the trainee is discarded",
            RegistryError::OtherTrn(_) => "the trainee already has another TRN",
            RegistryError::TrnOfAnother(_) => "the TRN belongs to another person",
            RegistryError::NoTrn => "the trainee has no TRN yet",
            RegistryError::NoOutcomeDate => "the trainee has no outcome_date",
            RegistryError::NoReturnDate => "the date of the return is missing",
            RegistryError::BeforeDeferral(_) => "the date is before the deferral",
            RegistryError::DayAhead => "the date is in the future",
            RegistryError::EndNotAfterStart(_) => "itt_end_date must be later than itt_start_date",
            RegistryError::EndTooLate(_) => "itt_end_date is too late",
            RegistryError::EndTooEarly(_) => "itt_end_date is too early",
            RegistryError::UnknownPreviousState => "the state before the withdrawal is not known",
        },
    }
}
