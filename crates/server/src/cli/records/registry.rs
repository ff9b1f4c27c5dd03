//! Commands for the registry: actions on the trainees in a file, and the queue.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use domain::commands::registry::Reinstatement;
use domain::values::iso_8601::timestamp;
use registry::actions::{RegistryAction, perform_blocking};
use registry::file::{FileReport, StopReason};
use registry::import::{ImportError, NO_ROWS};
use registry::rows::each_order;
use storage::accounts::users::Actor;
use storage::error::StorageError;
use storage::records::trainees::{Awaited, QueueEntry};
use storage::store::Store;

use crate::cli::output::{self, Cell, ListOutput};
use crate::cli::values::ukprn;
use crate::cli::{CommandError, Database, organisations, progress};

/// The number of entries of the queue per query.
const LISTED_AT_ONCE: i64 = 500;

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Perform a registry action on the trainees in a file; servers can keep running
    ///
    /// The file is CSV with a header row and the column `trainee_id`. A file for `issue-trn` also
    /// has the column `trn`; in a sandbox, a blank `trn` chooses an unused one. A file for
    /// `reinstate` also has the column `date`, when the trainee returned, and optionally
    /// `itt_end_date`.
    ///
    /// A TRN that belongs to another person is refused: to a trainee of any provider with another
    /// date of birth, or with other first and last names. If rows are refused, the command prints
    /// their line numbers, processes the other rows, and exits with status 1.
    #[command(after_help = "Example: trainee-register registry apply award awards.csv")]
    Apply {
        #[command(flatten)]
        database: Database,
        /// Action to perform on each trainee
        action: ActionName,
        /// CSV file of trainees, or /dev/stdin
        #[arg(value_name = "CSV")]
        file: PathBuf,
    },
    /// List trainees waiting for the registry, longest wait first
    #[command(after_help = "Example: trainee-register registry queue --for award")]
    Queue {
        #[command(flatten)]
        database: Database,
        /// Item that the trainees are waiting for
        #[arg(
            long = "for",
            id = "for",
            value_name = "WHAT",
            value_enum,
            default_value = "trn"
        )]
        awaited: QueueKind,
        /// Only trainees of the provider with this UKPRN [default: all providers]
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: Option<String>,
        #[command(flatten)]
        output: ListOutput,
    },
}

/// The reason why a trainee waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueueKind {
    /// A teacher reference number
    Trn,
    /// The confirmation of an award
    Award,
}

/// The actions that the registry and operators perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ActionName {
    /// Issue a teacher reference number (TRN)
    IssueTrn,
    /// Confirm the award of QTS or EYTS to recommended trainees who have a TRN
    Award,
    /// Put deferred trainees back in training
    Reinstate,
    /// Return a recommendation, and put the trainee back in training
    ReturnRecommendation,
    /// Undo a withdrawal, and restore the trainee's earlier state
    UndoWithdrawal,
    /// Discard a record created by mistake; the API no longer returns it
    Discard,
}

impl From<ActionName> for RegistryAction {
    /// The action without the data of a row.
    fn from(name: ActionName) -> Self {
        match name {
            ActionName::IssueTrn => Self::IssueTrn(None),
            ActionName::Award => Self::Award,
            ActionName::Reinstate => Self::Reinstate(Reinstatement::default()),
            ActionName::ReturnRecommendation => Self::ReturnRecommendation,
            ActionName::UndoWithdrawal => Self::UndoWithdrawal,
            ActionName::Discard => Self::Discard,
        }
    }
}

impl RegistryCommand {
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        match self {
            Self::Apply {
                database,
                action,
                file,
            } => apply(&database.open_to_write()?, &action.into(), &file, by),
            Self::Queue {
                database,
                awaited,
                provider,
                output,
            } => list(&database, awaited, provider, output),
        }
    }
}

/// Prints the queue.
fn list(
    database: &Database,
    awaited: QueueKind,
    provider: Option<String>,
    output: ListOutput,
) -> Result<(), CommandError> {
    let awaited = match awaited {
        QueueKind::Trn => Awaited::Trn,
        QueueKind::Award => Awaited::Award,
    };
    let store = database.open()?;
    let mut rows = Vec::new();
    // The position of the last row so far.
    let mut behind = None;
    loop {
        let provider = provider.clone();
        let entries = store.read_blocking(move |session| {
            session.registry_queue(awaited, provider.as_deref(), behind, LISTED_AT_ONCE)
        })?;
        behind = entries.last().map(QueueEntry::position);
        rows.extend(entries.into_iter().map(|entry| {
            [
                entry.trainee_id,
                entry.provider_ukprn,
                timestamp(entry.since),
            ]
            .map(Cell::from)
        }));
        if behind.is_none() {
            return output.print(["trainee", "provider", "since"], &rows);
        }
    }
}

/// Performs the action on the trainees in a file, in order, and prints the results.
fn apply(
    store: &Store,
    action: &RegistryAction,
    path: &Path,
    by: &str,
) -> Result<(), CommandError> {
    let failed = |error| match error {
        // The file is not the cause.
        ImportError::Storage(error) => CommandError::from(error),
        error @ (ImportError::Unreadable(_)
        | ImportError::File(_)
        | ImportError::MissingColumns { .. }
        | ImportError::ColumnTwice(_)) => CommandError::Import {
            file: path.to_owned(),
            error,
        },
    };
    let (file, length) = organisations::open(path).map_err(failed)?;
    let bar = progress::bar(length, "{percent}% of the file");
    let mut report = FileReport::default();
    let mut last_line = None;
    let read = each_order(action, bar.wrap_read(file), |line, order| {
        last_line = Some(line);
        match order {
            Ok((trainee_id, action)) => {
                let outcome = perform_blocking(store, &trainee_id, &action, by);
                report.add(line, &trainee_id, outcome)?;
            }
            Err(problem) => report.add_unreadable(line, &problem),
        }
        Ok(())
    });
    bar.finish_and_clear();
    if let (Err(_), None, Some(line)) = (&read, report.stopped, last_line) {
        report.stop(line + 1, StopReason::Unreadable);
    }
    // Without any read row, nothing was processed.
    let is_begun = read.is_ok() || last_line.is_some();
    let stored = if is_begun {
        store_report(store, &report, action, by)
    } else {
        Ok(())
    };
    let printed = print(&report);
    // Other errors have precedence over a closed pipe.
    read.map_err(failed)?;
    stored.map_err(CommandError::ImportNotStored)?;
    printed?;
    if report.refused.is_empty() {
        Ok(())
    } else {
        Err(CommandError::ActionsRefused(report.refused.len()))
    }
}

/// Stores the report of a file, which operators see on the page of imports.
fn store_report(
    store: &Store,
    report: &FileReport,
    action: &RegistryAction,
    by: &str,
) -> Result<(), StorageError> {
    let import = report.import(action);
    let by = by.to_owned();
    store.write_blocking(move |session| {
        session
            .record_import(Actor::operator(&by), &import)
            .map(drop)
    })
}

/// Prints the results of a file: the counts, the refused rows, and the line where it stopped.
fn print(report: &FileReport) -> Result<(), CommandError> {
    let FileReport {
        done,
        unchanged,
        refused,
        stopped,
    } = report;
    output::line(format_args!(
        "done       {done}\nunchanged  {unchanged}\nrefused    {}",
        refused.len()
    ))?;
    refused
        .iter()
        .try_for_each(|row| output::line(format_args!("line {}: {}", row.line, row.problem)))?;
    if report.is_empty() {
        output::line(NO_ROWS)?;
    }
    stopped.map_or(Ok(()), |stopped| {
        output::line(format_args!("stopped at line {}", stopped.line))
    })
}
