//! The command that removes the history of past months.

use chrono::Utc;
use clap::{Args, Subcommand};
use storage::records::history::{self, PastMonths, Removed};

use crate::cli::values::month;
use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Remove the history of past months from the database permanently; servers may keep running
    ///
    /// Make a dump before: docs/operations.md shows how. Afterwards `audit` names the date before
    /// which entries were removed. An interrupted removal is continued by the same command.
    Remove(Remove),
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    database: Database,
    /// Remove the months before this one, which all must be over
    #[arg(long, value_name = "YYYY-MM", env = "REGISTER_BEFORE", value_parser = months_before)]
    before: PastMonths,
}

/// The months before the given one.
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
                "nothing to remove: there is no history from before {day}"
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
