//! Commands that do what the registry does to trainees, and what only an operator may.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use clap::{Args, Subcommand, ValueEnum};
use domain::Trn;
use domain::commands::registry::Reinstatement;
use domain::values::iso_8601::timestamp;
use registry::actions::{RegistryAction, perform_blocking};
use registry::file::{FileReport, StopReason};
use registry::import::{ImportError, NO_ROWS};
use registry::retries::write_blocking_with_retries;
use registry::rows::each_order;
use storage::accounts::users::Actor;
use storage::error::StorageError;
use storage::records::trainees::{Awaited, QueueEntry};
use storage::store::Store;

use crate::cli::output::{self, Cell, ListOutput};
use crate::cli::values::{date, trainee_id, ukprn};
use crate::cli::{CommandError, Database, organisations, progress};

/// Entries of the queue that are read at a time.
const LISTED_AT_ONCE: i64 = 500;

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Issue a teacher reference number (TRN) to a trainee, or to those in a file
    ///
    /// A TRN that is the number of another person is refused: of a trainee of whatever provider who
    /// was born on another day, or has other first and last names. In a sandbox, one that no
    /// trainee has is drawn when none is given; in production that is refused. A file has the
    /// columns `trainee_id` and `trn`, and a blank `trn` is none.
    IssueTrn {
        #[command(flatten)]
        common: Common,
        /// The number, 7 digits [default: in a sandbox one that no trainee has]
        #[arg(conflicts_with = "from_file")]
        trn: Option<Trn>,
    },
    /// Confirm the award of QTS or EYTS to a recommended trainee who has a TRN, or to those in a
    /// file
    Award(Common),
    /// Bring a deferred trainee back to the training, or those in a file
    ///
    /// Before the course or the deferral begins, nothing was missed: then no date is needed, and
    /// none is stored. A file has the columns `trainee_id` and `date`, and may have `itt_end_date`;
    /// both dates may be blank.
    Reinstate {
        #[command(flatten)]
        common: Common,
        /// Day on which the trainee came back
        #[arg(
            long,
            value_name = "YYYY-MM-DD",
            env = "REGISTER_DATE",
            value_parser = date,
            conflicts_with = "from_file"
        )]
        date: Option<NaiveDate>,
        /// New last day of the training [default: as it is]
        #[arg(
            long,
            value_name = "YYYY-MM-DD",
            env = "REGISTER_ITT_END_DATE",
            value_parser = date,
            conflicts_with = "from_file"
        )]
        itt_end_date: Option<NaiveDate>,
    },
    /// Return a recommendation: the trainee, or those in a file, are in training again
    ReturnRecommendation(Common),
    /// Undo a withdrawal: the trainee, or those in a file, are where they were before
    UndoWithdrawal(Common),
    /// Discard a record that should not be, or those in a file: no request shows it any more
    Discard(Common),
    /// List the trainees who wait for the registry, longest first: identifier, provider, and since
    /// when
    Queue {
        #[command(flatten)]
        database: Database,
        /// What they wait for
        #[arg(
            long = "for",
            id = "for",
            value_name = "WHAT",
            env = "REGISTER_FOR",
            value_enum,
            default_value = "trn"
        )]
        awaited: QueueKind,
        /// UKPRN of the provider whose trainees are listed [default: those of all providers]
        #[arg(long, value_name = "UKPRN", env = "REGISTER_REGISTRY_QUEUE_PROVIDER", value_parser = ukprn)]
        provider: Option<String>,
        #[command(flatten)]
        output: ListOutput,
    },
}

/// What a trainee waits for.
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
    /// File of comma-separated values with a header row and a trainee in each row, by the column
    /// `trainee_id`
    #[arg(long, value_name = "CSV", env = "REGISTER_FROM_FILE")]
    from_file: Option<PathBuf>,
}

impl RegistryCommand {
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
    /// Performs the action on the trainee, or on those in the file, whose rows say the rest of it.
    fn run(self, action: &RegistryAction, by: &str) -> Result<(), CommandError> {
        let store = self.database.open_to_write()?;
        if let Some(path) = &self.from_file {
            return for_file(&store, path, action, by);
        }
        let trainee_id = self.trainee_id.unwrap_or_default();
        match perform_blocking(&store, &trainee_id, action, by) {
            Ok(outcome) => {
                let repeated = if outcome.changed {
                    ""
                } else {
                    "nothing to do: "
                };
                output::line(format_args!(
                    "trainee {trainee_id}: {repeated}{}",
                    outcome.standing
                ))
            }
            Err(error) => Err(CommandError::RegistryAction { trainee_id, error }),
        }
    }
}

/// Prints who waits.
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
    let (store, mut rows, mut behind) = (database.open()?, Vec::new(), None);
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

/// Performs the action on the trainees in a file, one after the other, and says what became of it.
fn for_file(
    store: &Store,
    path: &Path,
    action: &RegistryAction,
    by: &str,
) -> Result<(), CommandError> {
    let failed = |error| match error {
        // Nothing is wrong with the file.
        ImportError::Storage(error) => CommandError::from(error),
        error @ (ImportError::Unreadable(_)
        | ImportError::Format(_)
        | ImportError::MissingColumns { .. }
        | ImportError::ColumnTwice(_)) => CommandError::Import {
            file: path.to_owned(),
            error,
        },
    };
    let (file, length) = organisations::open(path).map_err(failed)?;
    let bar = progress::bar(length, "{percent}% of the file");
    let (mut report, mut last_line) = (FileReport::default(), None);
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
    // Of a file without a row that was read, nothing was done.
    let is_begun = read.is_ok() || last_line.is_some();
    let stored = if is_begun {
        store_report(store, &report, action, by)
    } else {
        Ok(())
    };
    let printed = print(&report);
    // What went wrong is more than that nobody reads of it.
    read.map_err(failed)?;
    stored.map_err(CommandError::ImportNotStored)?;
    printed?;
    if report.refused.is_empty() {
        Ok(())
    } else {
        Err(CommandError::ActionsRefused(report.refused.len()))
    }
}

fn store_report(
    store: &Store,
    report: &FileReport,
    action: &RegistryAction,
    by: &str,
) -> Result<(), StorageError> {
    let (import, by) = (report.import(action), by.to_owned());
    write_blocking_with_retries(store, move |session| {
        session
            .record_import(Actor::operator(&by), &import)
            .map(drop)
    })
}

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
