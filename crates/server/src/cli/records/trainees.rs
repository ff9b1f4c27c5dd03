//! Commands that erase trainees and list erasures.

use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, thread};

use clap::{Args, Subcommand};
use domain::commands::erasure::{InvalidGround, ground};
use domain::values::iso_8601::timestamp;
use registry::erasure::rows::{ErasureRow, HEADINGS, cells};
use registry::erasure::{ErasureError, Outcome, Planned, erase_blocking, plan};
use registry::import::{ImportError, NO_ROWS, each_row};
use storage::error::{DatabaseError, StorageError};
use storage::maintenance::reclaim::Reclaim;
use storage::records::erasure::{Erasure, ErasureOrder};
use storage::store::Store;

use crate::cli::output::{self, Cell, ListOutput};
use crate::cli::values::{trainee_id, ukprn};
use crate::cli::{CommandError, Database, organisations, progress};

/// The word to type for a confirmation.
const CONFIRMATION: &str = "erase";
/// The number of attempts to reclaim space while the database is in use.
const ATTEMPTS: usize = 5;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Subcommand)]
pub(crate) enum TraineeCommand {
    /// Permanently erase trainees' records, history and stored replies; servers can keep running
    ///
    /// Only the trainee's identifier, the time, your name and the reason remain. Clients that
    /// follow changes see that the trainee was removed. The command lists other records that may
    /// belong to the same person, but does not erase them. Repeating the command changes nothing.
    ///
    /// Backups, log archives, exported files and providers' systems are not changed: see
    /// docs/operations/data-care.md.
    Erase(Erase),
    /// List erased trainees, as a table or as CSV for `trainee erase --again`
    #[command(after_help = "Example: trainee-register trainee erasures --output csv")]
    Erasures {
        #[command(flatten)]
        database: Database,
        /// Only erasures of the provider with this UKPRN [default: all providers]
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: Option<String>,
        #[command(flatten)]
        output: ListOutput,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  trainee-register trainee erase Fs4G74pwBJ1WWa15FMzZsQKn --provider 10012345 --ground \"request 17\"
  trainee-register trainee erase --again erasures.csv")]
pub(crate) struct Erase {
    #[command(flatten)]
    database: Database,
    /// Identifiers of the trainees to erase, all of one provider
    #[arg(value_name = "TRAINEE_ID", required_unless_present = "again", conflicts_with = "again", value_parser = trainee_id)]
    trainee_ids: Vec<String>,
    /// UKPRN of the trainees' provider
    #[arg(long, value_name = "UKPRN", value_parser = ukprn, required_unless_present = "again")]
    provider: Option<String>,
    /// Reason for the erasure, such as a request number; it is stored and must not name the person
    #[arg(long, value_name = "TEXT", required_unless_present = "again", value_parser = ground_of)]
    ground: Option<String>,
    /// After restoring a backup, repeat the erasures in this file from `trainee erasures --output
    /// csv`
    #[arg(long, value_name = "CSV")]
    again: Option<PathBuf>,
    /// Skip the confirmation prompt
    #[arg(long)]
    yes: bool,
    /// Skip rebuilding a SQLite file, which blocks writers; use this option for all but the last of
    /// several erasures, because free space can still contain erased data
    #[arg(long)]
    keep_free_space: bool,
}

/// Parses the ground of an erasure.
fn ground_of(text: &str) -> Result<String, InvalidGround> {
    ground(text)
}

impl TraineeCommand {
    /// Erases trainees, or prints the list of erasures.
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        match self {
            Self::Erase(erase) => erase.run(by),
            Self::Erasures {
                database,
                provider,
                output,
            } => {
                let erasures = database
                    .open()?
                    .read_blocking(|session| session.erasures(provider.as_deref()))?;
                let rows: Vec<_> = erasures
                    .iter()
                    .map(|erasure| cells(erasure).map(Cell::from))
                    .collect();
                output.print(HEADINGS, &rows)
            }
        }
    }
}

impl Erase {
    /// Erases the trainees, or repeats the erasures of a file, after a confirmation.
    fn run(self, by: &str) -> Result<(), CommandError> {
        let reclaim = if self.keep_free_space {
            Reclaim::LogOnly
        } else {
            Reclaim::Everything
        };
        let store = self.database.open_to_write()?;
        if let Some(path) = &self.again {
            let (rows, refused) = read(path)?;
            if rows.is_empty() && refused.is_empty() {
                return output::line(NO_ROWS);
            }
            return again(&store, rows, refused, reclaim, by, || self.confirm());
        }
        let ukprn = self.provider.clone().unwrap_or_default();
        let ground = self.ground.clone().unwrap_or_default();
        let failed = |trainee_id: &str| {
            let trainee_id = trainee_id.to_owned();
            move |error| CommandError::Erasure { trainee_id, error }
        };
        // All trainees are checked before the first erasure.
        for trainee_id in &self.trainee_ids {
            let planned = store
                .read_blocking(|session| plan(session, &ukprn, trainee_id, &ground))
                .map_err(failed(trainee_id))?;
            self.describe(&planned, &ukprn);
        }
        self.confirm()?;
        let order = ErasureOrder {
            by: by.to_owned(),
            ground,
            erased_at: None,
        };
        for trainee_id in &self.trainee_ids {
            let outcome = erase_blocking(&store, &ukprn, trainee_id, &order, by)
                .map_err(failed(trainee_id))?;
            output::line(describe_outcome(trainee_id, &outcome))?;
        }
        reclaim_space(&store, reclaim)
    }

    /// Prints the trainees to erase and the related records that remain, by identifier only.
    fn describe(&self, planned: &Planned, ukprn: &str) {
        let Planned {
            trainee_id,
            erasure,
            entries,
            related,
        } = planned;
        match erasure {
            Some(erasure) => eprintln!(
                "trainee {trainee_id} was erased at {}",
                timestamp(erasure.erased_at)
            ),
            None => eprintln!(
                "to erase: trainee {trainee_id} of provider {ukprn}, history entries: {entries}"
            ),
        }
        let others = related
            .iter()
            .filter(|other| other.ukprn != ukprn || !self.trainee_ids.contains(&other.trainee_id));
        for other in others {
            eprintln!(
                "possibly the same person, not erased: trainee {} of provider {}",
                other.trainee_id, other.ukprn
            );
        }
    }

    /// Asks for a confirmation, unless `--yes` is given.
    fn confirm(&self) -> Result<(), CommandError> {
        if self.yes {
            return Ok(());
        }
        eprint!("This cannot be undone. Type \"{CONFIRMATION}\" to continue: ");
        let mut typed = String::new();
        let read = io::stderr()
            .flush()
            .and_then(|()| io::stdin().lock().read_line(&mut typed));
        if read.is_ok() && typed.trim() == CONFIRMATION {
            Ok(())
        } else {
            Err(CommandError::NotConfirmed)
        }
    }
}

/// The line that reports the outcome of an erasure.
fn describe_outcome(trainee_id: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Erased(erasure) => {
            format!(
                "trainee {trainee_id}: erased; history entries removed: {}",
                erasure.entries
            )
        }
        Outcome::Before(erasure) => {
            format!(
                "trainee {trainee_id}: no change: erased {} by {}",
                timestamp(erasure.erased_at),
                erasure.by
            )
        }
        Outcome::Recorded(_) => {
            format!("trainee {trainee_id}: recorded as erased; the register had no data")
        }
    }
}

/// Reads the rows of a list of erasures. Returns the erasures, and the messages of refused rows.
fn read(path: &Path) -> Result<(Vec<ErasureRow>, Vec<String>), CommandError> {
    let failed = |error| CommandError::Import {
        file: path.to_owned(),
        error,
    };
    let (file, _) = organisations::open(path).map_err(failed)?;
    let mut rows = Vec::new();
    let mut refused = Vec::new();
    let read: Result<(), ImportError> = each_row(file, |line, row| {
        match row {
            Ok(row) => rows.push(row),
            Err(problem) => refused.push(format!("line {line}: {problem}")),
        }
        Ok(())
    });
    read.map_err(failed)?;
    Ok((rows, refused))
}

/// The result of repeated erasures.
#[derive(Debug)]
pub(crate) struct ErasedAgain {
    erased: usize,
    unchanged: usize,
    refused: Vec<String>,
}

impl fmt::Display for ErasedAgain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            erased,
            unchanged,
            refused,
        } = self;
        write!(
            formatter,
            "erased     {erased}\nunchanged  {unchanged}\nrefused    {}",
            refused.len()
        )?;
        refused
            .iter()
            .try_for_each(|refusal| write!(formatter, "\n{refusal}"))
    }
}

/// Repeats the erasures of a file after a confirmation, and prints the results.
fn again(
    store: &Store,
    rows: Vec<ErasureRow>,
    refused: Vec<String>,
    reclaim: Reclaim,
    by: &str,
    confirm: impl FnOnce() -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    eprintln!("erasures in the file: {}", rows.len());
    confirm()?;
    let again = progress::while_running("erasing", || erase_rows(store, rows, refused, by))?;
    output::line(&again)?;
    reclaim_space(store, reclaim)?;
    if again.refused.is_empty() {
        Ok(())
    } else {
        Err(CommandError::ActionsRefused(again.refused.len()))
    }
}

/// Repeats erasures, and counts the results. `refused` has the messages of rows that could not be
/// read; those of erasures that are refused now are added.
fn erase_rows(
    store: &Store,
    rows: Vec<ErasureRow>,
    refused: Vec<String>,
    by: &str,
) -> Result<ErasedAgain, CommandError> {
    let mut again = ErasedAgain {
        erased: 0,
        unchanged: 0,
        refused,
    };
    for ErasureRow {
        ukprn,
        trainee_id,
        order,
    } in rows
    {
        match erase_blocking(store, &ukprn, &trainee_id, &order, by) {
            Ok(Outcome::Erased(_)) => again.erased += 1,
            Ok(Outcome::Before(_) | Outcome::Recorded(_)) => again.unchanged += 1,
            Err(ErasureError::Storage(error)) => return Err(error.into()),
            Err(error @ (ErasureError::UnknownTrainee | ErasureError::Ground(_))) => {
                again
                    .refused
                    .push(format!("trainee {trainee_id} of provider {ukprn}: {error}"));
            }
        }
    }
    Ok(again)
}

/// Repeats the erasures of a database in the copy of a backup that replaces it. Fails if any
/// erasure cannot be repeated.
pub(crate) fn erase_in_copy(
    copy: &Store,
    erasures: &[Erasure],
    by: &str,
) -> Result<ErasedAgain, CommandError> {
    let again = erase_rows(
        copy,
        erasures.iter().cloned().map(ErasureRow::from).collect(),
        Vec::new(),
        by,
    )?;
    if !again.refused.is_empty() {
        again
            .refused
            .iter()
            .for_each(|refusal| eprintln!("{refusal}"));
        return Err(CommandError::ErasuresWouldBeLost(again.refused.len()));
    }
    copy.reclaim_space(Reclaim::Everything)?;
    Ok(again)
}

/// Reclaims all space of deleted rows.
pub(crate) fn reclaim_all_space(store: &Store) -> Result<(), CommandError> {
    reclaim_space(store, Reclaim::Everything)
}

/// Reclaims the space of deleted rows. Tries again while the database is busy.
#[expect(
    clippy::disallowed_methods,
    reason = "a command waits on its own thread"
)]
fn reclaim_space(store: &Store, reclaim: Reclaim) -> Result<(), CommandError> {
    for attempt in 1..=ATTEMPTS {
        let reclaimed =
            progress::while_running("reclaiming space", || store.reclaim_space(reclaim));
        match reclaimed {
            Err(StorageError::Database(DatabaseError::Busy)) if attempt < ATTEMPTS => {
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(CommandError::SpaceNotReclaimed(error)),
            Ok(()) => break,
        }
    }
    Ok(())
}
