//! Commands for a register in which things are tried out.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{TimeDelta, Utc};
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use storage::clock::Clock;
use storage::error::StorageError;
use storage::store::StoreOptions;
use storage::tokens::Environment;

use super::{CodeLists, CommandError, Database};
use crate::sandbox::seed::fill;

#[derive(Debug, Subcommand)]
pub(super) enum SandboxCommand {
    /// Add invented trainees to a provider, on all routes, in several academic cycles and in all states
    Seed {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider
        #[arg(long, value_name = "UKPRN", env = "REGISTER_SANDBOX_SEED_PROVIDER")]
        provider: String,
        /// How many trainees to add
        #[arg(long, value_name = "N", env = "REGISTER_TRAINEES")]
        trainees: usize,
        /// The same seed gives the same trainees on the same day; one that was used here before is refused
        #[arg(long, value_name = "S", env = "REGISTER_SEED", default_value_t = 1)]
        seed: u64,
        /// Date their registrations evenly over so many days up to now, as in a register that has grown
        #[arg(long, value_name = "N", env = "REGISTER_SANDBOX_SEED_DAYS", default_value_t = 0)]
        days: u16,
        #[command(flatten)]
        code_lists: CodeLists,
    },
}

impl SandboxCommand {
    pub(super) fn run(self, by: &str) -> Result<(), CommandError> {
        let Self::Seed { database, provider, trainees, seed, days, code_lists } = self;
        let lists = code_lists.read()?;
        let past = Past::of_days(days);
        let options = StoreOptions { clock: past.clock(), ..StoreOptions::default() };
        let (store, environment) = database.open_with_options(options)?;
        if environment != Environment::Sandbox {
            return Err(CommandError::SeedOutsideSandbox);
        }
        store.write_blocking::<_, StorageError>(|session| session.ensure_sandbox_organisations())?;
        let bar = ProgressBar::new(trainees as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} trainees, {eta} left") {
            bar.set_style(style);
        }
        fill(&store, lists, &provider, trainees, seed, Some(by), |written| {
            bar.set_position(written as u64);
            past.advance(written, trainees);
        })?;
        bar.finish_and_clear();
        eprintln!("added {trainees} invented trainees to provider {provider}");
        Ok(())
    }
}

/// A time that begins in the past and comes to the present while trainees are written.
struct Past {
    days: u16,
    /// How far it is behind, in milliseconds.
    behind: Arc<AtomicI64>,
}

impl Past {
    fn of_days(days: u16) -> Self {
        let behind = TimeDelta::days(days.into()).num_milliseconds();
        Self { days, behind: Arc::new(AtomicI64::new(behind)) }
    }

    fn clock(&self) -> Clock {
        let behind = Arc::clone(&self.behind);
        Clock::from_fn(move || Utc::now() - TimeDelta::milliseconds(behind.load(Ordering::Relaxed)))
    }

    /// So many of all are written.
    fn advance(&self, written: usize, all: usize) {
        let left = all.saturating_sub(written) as f64 / all.max(1) as f64;
        let whole = TimeDelta::days(self.days.into()).num_milliseconds() as f64;
        self.behind.store((whole * left) as i64, Ordering::Relaxed);
    }
}
