//! The command that removes the history of past months.

use chrono::Utc;
use clap::{Args, Subcommand};
use storage::records::history::{self, PastMonths, Removed};

use crate::cli::values::month;
use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Permanently remove trainees' history of past months; servers can keep running
    ///
    /// Dump the history first: see docs/operations/data-care.md. Afterwards, `audit` prints the
    /// cut-off date. To continue an interrupted removal, run the same command again.
    Remove(Remove),
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    database: Database,
    /// First month to keep, at most the current month; earlier months are removed
    #[arg(long, value_name = "YYYY-MM", env = "REGISTER_BEFORE", value_parser = months_before)]
    before: PastMonths,
}

/// Parses the month, and returns the months before it.
fn months_before(text: &str) -> Result<PastMonths, String> {
    PastMonths::before(month(text)?, Utc::now()).map_err(|error| error.to_string())
}

impl HistoryCommand {
    pub(crate) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Remove(remove) => remove.run(),
        }
    }
}

impl Remove {
    fn run(self) -> Result<(), CommandError> {
        let store = self.database.open_to_write()?;
        let removed =
            progress::while_running("removing history", || history::remove(&store, self.before))?;
        let day = self.before.end();
        if removed == Removed::default() {
            return output::line(format_args!(
                "nothing to remove: there is no history before {day}"
            ));
        }
        let Removed {
            partitions,
            entries,
        } = removed;
        output::line(format_args!(
            "history before {day} removed; partitions: {partitions}, other entries: {entries}"
        ))
    }
}
