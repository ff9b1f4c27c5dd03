//! The command that checks the data.

use std::time::Duration;

use clap::Args;
use storage::error::StorageError;

use crate::cli::values::whole;
use crate::cli::{CodeLists, CommandError, Database, output, progress};
use crate::operations::inspection::{Inspector, Part, Progress};

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register check --part 1/4 --pause 50")]
pub(crate) struct Check {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    code_lists: CodeLists,
    /// Part of the trainees to check, such as 1/4 for the first quarter; the first part also checks
    /// the database as a whole
    #[arg(long, value_name = "PART/OF", default_value = "1/1")]
    part: Part,
    /// Pause after every 500 trainees, in milliseconds, to reduce the load
    #[arg(long, value_name = "MS", default_value = "0", value_parser = whole::<u32>)]
    pause: u32,
}

impl Check {
    /// Checks the data. Prints each problem, the number of checked rows, and a line if there is no
    /// problem. Fails if there is one.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let lists = self.code_lists.read()?;
        let store = self.database.open()?;
        let bar = progress::bar(0, "{pos}/{len} trainees");
        if let Some(day) =
            store.read_blocking::<_, StorageError>(|session| session.history_removed_before())?
        {
            eprintln!("history before {day} was removed; comparing the remaining entries");
        }
        let pause = Duration::from_millis(self.pause.into());
        let inspector = Inspector {
            versions: versions::all(),
            lists,
            part: self.part,
            pause,
        };
        // The check continues after the reader of the output has closed the pipe.
        let mut printed = Ok(());
        let found = inspector.inspect(&store, &mut |report| match report {
            Progress::Problem(problem) if printed.is_ok() => {
                printed = bar.suspend(|| output::line(problem));
            }
            Progress::Problem(_) => {}
            Progress::Trainees(all) => bar.set_length(all),
            Progress::Seen(trainees) => bar.inc(trainees),
        });
        bar.finish_and_clear();
        let found = found?;
        printed?;
        output::counts(&found.counts)?;
        if found.problems > 0 {
            return Err(CommandError::ProblemsFound(found.problems));
        }
        output::line("no problems found")
    }
}
