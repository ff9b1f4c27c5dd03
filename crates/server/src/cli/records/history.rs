//! The command that removes the history of past months.

use chrono::Utc;
use clap::{Args, Subcommand};
use storage::records::history::{self, PastMonths};

use crate::cli::values::month;
use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Delete old entries of the trainees' history
    ///
    /// This cannot be undone. Save the entries first: docs/operations/data-care.md shows how.
    /// Servers can keep running. If the command is interrupted, run it again. `audit` then shows
    /// the date of the oldest entry.
    Remove(Remove),
}

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register history remove --before 2026-01")]
pub(crate) struct Remove {
    #[command(flatten)]
    database: Database,
    /// First month to keep, at most the current month; earlier months are removed
    #[arg(long, value_name = "YYYY-MM", value_parser = months_before)]
    before: PastMonths,
}

/// Parses the month, and returns the months before it.
#[expect(
    clippy::disallowed_methods,
    reason = "an option is parsed before there is a database"
)]
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
    /// Removes the history of the months before, and prints how much was removed.
    fn run(self) -> Result<(), CommandError> {
        let store = self.database.open_to_write()?;
        let removed =
            progress::while_running("removing history", || history::remove(&store, self.before))?;
        let day = self.before.end();
        if removed == 0 {
            return output::line(format_args!(
                "nothing to remove: there is no history before {day}"
            ));
        }
        output::line(format_args!(
            "history before {day} removed; entries: {removed}"
        ))
    }
}
