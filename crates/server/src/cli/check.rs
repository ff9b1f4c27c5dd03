//! The command that looks for what is wrong with the data.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use storage::error::StorageError;

use super::{CodeLists, CommandError, Database};
use crate::cli::output;
use crate::operations::inspection::{Inspector, Progress};
use crate::versions;

#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    code_lists: CodeLists,
}

impl Check {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let lists = self.code_lists.read()?;
        let store = self.database.open_unrecorded()?;
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} trainees, {eta} left") {
            bar.set_style(style);
        }
        let inspector = Inspector { versions: versions::all(), lists };
        // The register is looked through to its end, also when nobody reads any more.
        let mut printed = Ok(());
        let found = store.read_blocking::<_, StorageError>(|session| {
            inspector.inspect(session, &mut |report| match report {
                Progress::Problem(problem) if printed.is_ok() => printed = bar.suspend(|| output::line(problem)),
                Progress::Problem(_) => {}
                Progress::Trainees(all) => bar.set_length(all),
                Progress::Seen(trainees) => bar.inc(trainees),
            })
        });
        bar.finish_and_clear();
        let found = found?;
        printed?;
        output::counts(&found.counts)?;
        if found.problems > 0 {
            return Err(CommandError::ProblemsFound(found.problems));
        }
        eprintln!("no problem was found");
        Ok(())
    }
}
