//! Commands for registry actions, and for actions that only operators may perform.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use clap::{Args, Subcommand, ValueEnum};
use domain::Trn;
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
use crate::cli::values::{date, trainee_id, ukprn};
use crate::cli::{CommandError, Database, organisations, progress};

/// The number of entries of the queue per query.
const LISTED_AT_ONCE: i64 = 500;

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Issue a teacher reference number (TRN) to a trainee, or to the trainees in a file
    ///
    /// The command refuses a TRN that belongs to another person: a trainee of any provider with
    /// another date of birth, or with other first and last names. In production, a TRN is required;
    /// a sandbox can choose an unused one. A file has the columns `trainee_id` and `trn`; a blank
    /// `trn` counts as absent.
    IssueTrn {
        #[command(flatten)]
        common: Common,
        /// TRN, 7 digits; required in production [default in a sandbox: an unused TRN]
        #[arg(conflicts_with = "from_file")]
        trn: Option<Trn>,
    },
    /// Confirm the award of QTS or EYTS to recommended trainees who have a TRN
    Award(Common),
    /// Reinstate deferred trainees: put them back in training
    ///
    /// A trainee who has missed training needs a return date. If the course or the deferral has not
    /// begun, dates are ignored. A file has the columns `trainee_id`, `date` and, optionally,
    /// `itt_end_date`; a blank date counts as absent.
    Reinstate {
        #[command(flatten)]
        common: Common,
        /// Date when the trainee returned to training; not in the future
        #[arg(
            long,
            value_name = "YYYY-MM-DD",
            env = "REGISTER_DATE",
            value_parser = date,
            conflicts_with = "from_file"
        )]
        date: Option<NaiveDate>,
        /// New training end date [default: no change]
        #[arg(
            long,
            value_name = "YYYY-MM-DD",
            env = "REGISTER_ITT_END_DATE",
            value_parser = date,
            conflicts_with = "from_file"
        )]
        itt_end_date: Option<NaiveDate>,
    },
    /// Return a recommendation, and put the trainee back in training
    ReturnRecommendation(Common),
    /// Undo a withdrawal, and restore the trainee's earlier state
    UndoWithdrawal(Common),
    /// Discard a record created by mistake; the API no longer returns it
    Discard(Common),
    /// List trainees waiting for the registry, longest wait first
    Queue {
        #[command(flatten)]
        database: Database,
        /// Item that the trainees are waiting for
        #[arg(
            long = "for",
            id = "for",
            value_name = "WHAT",
            env = "REGISTER_FOR",
            value_enum,
            default_value = "trn"
        )]
        awaited: QueueKind,
        /// Only trainees of the provider with this UKPRN [default: all providers]
        #[arg(long, value_name = "UKPRN", env = "REGISTER_REGISTRY_QUEUE_PROVIDER", value_parser = ukprn)]
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

#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    database: Database,
    /// Identifier of the trainee
    #[arg(required_unless_present = "from_file", conflicts_with = "from_file", value_parser = trainee_id)]
    trainee_id: Option<String>,
    /// CSV file of trainees to process, with a header row and the column `trainee_id`
    #[arg(long, value_name = "CSV", env = "REGISTER_FROM_FILE")]
    from_file: Option<PathBuf>,
}

impl RegistryCommand {
    /// Performs the action, or prints the queue.
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        let (common, action) = match self {
            Self::IssueTrn { common, trn } => (common, RegistryAction::IssueTrn(trn)),
            Self::Award(common) => (common, RegistryAction::Award),
            Self::Reinstate {
                common,
                date,
                itt_end_date,
            } => (
                common,
                RegistryAction::Reinstate(Reinstatement { date, itt_end_date }),
            ),
            Self::ReturnRecommendation(common) => (common, RegistryAction::ReturnRecommendation),
            Self::UndoWithdrawal(common) => (common, RegistryAction::UndoWithdrawal),
            Self::Discard(common) => (common, RegistryAction::Discard),
            Self::Queue {
                database,
                awaited,
                provider,
                output,
            } => return list(&database, awaited, provider, output),
        };
        common.run(&action, by)
    }
}

impl Common {
    /// Performs the action on the trainee, or on the trainees in the file with the data of its
    /// rows.
    fn run(self, action: &RegistryAction, by: &str) -> Result<(), CommandError> {
        let store = self.database.open_to_write()?;
        if let Some(path) = &self.from_file {
            return for_file(&store, path, action, by);
        }
        let trainee_id = self.trainee_id.unwrap_or_default();
        match perform_blocking(&store, &trainee_id, action, by) {
            Ok(outcome) => {
                let repeated = if outcome.changed { "" } else { "no change: " };
                output::line(format_args!(
                    "trainee {trainee_id}: {repeated}{}",
                    outcome.standing
                ))
            }
            Err(error) => Err(CommandError::RegistryAction { trainee_id, error }),
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
fn for_file(
    store: &Store,
    path: &Path,
    action: &RegistryAction,
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

/// Stores the report of a file, which `import list` and `import show` print.
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
