//! Commands for a sandbox.

use clap::Subcommand;
use storage::base::token::Environment;
use storage::error::StorageError;

use super::values::{ukprn, whole};
use super::{CodeLists, CommandError, Database, progress};
use crate::sandbox::seed::fill;

#[derive(Debug, Subcommand)]
pub(super) enum SandboxCommand {
    /// Add invented trainees to a provider, on all routes, in several academic cycles and in all
    /// states
    #[command(after_help = "Example:
  trainee-register sandbox seed --provider 10012345 --trainees 100")]
    Seed {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: String,
        /// Number of trainees to add
        #[arg(long, value_name = "N", value_parser = whole::<usize>)]
        trainees: usize,
        /// Seed of the random data; the same seed creates the same trainees on the same date; use
        /// each seed once per register
        #[arg(long, value_name = "S", default_value_t = 1, value_parser = whole::<u64>)]
        seed: u64,
        #[command(flatten)]
        code_lists: CodeLists,
    },
}

impl SandboxCommand {
    /// Adds the trainees, and shows the progress.
    pub(super) fn run(self, by: &str) -> Result<(), CommandError> {
        let Self::Seed {
            database,
            provider,
            trainees,
            seed,
            code_lists,
        } = self;
        let lists = code_lists.read()?;
        let (store, environment) = database.open_to_write_with_environment()?;
        if environment != Environment::Sandbox {
            return Err(CommandError::SeedOutsideSandbox);
        }
        store
            .write_blocking::<_, StorageError>(|session| session.ensure_sandbox_organisations())?;
        let bar = progress::bar(trainees as u64, "{pos}/{len} trainees");
        fill(
            &store,
            lists,
            &provider,
            trainees,
            seed,
            Some(by),
            |written| bar.set_position(written as u64),
        )?;
        bar.finish_and_clear();
        eprintln!("added {trainees} invented trainees to provider {provider}");
        Ok(())
    }
}
