//! The command that reports who is ready for the newest version.

use clap::{Args, ValueEnum};
use storage::error::StorageError;

use super::super::Database;
use super::{CommandError, served};
use crate::cli::output;
use crate::usage::readiness::{DEFAULT_DAYS, MAX_DAYS, VersionReadiness};
use crate::versions;

#[derive(Debug, Args)]
pub(in crate::cli) struct Readiness {
    #[command(flatten)]
    database: Database,
    /// The version, such as one that is to be removed
    #[arg(value_name = "LABEL")]
    version: String,
    /// How many days to look back, today among them
    #[arg(long, value_name = "N", env = "REGISTER_DAYS", default_value_t = DEFAULT_DAYS,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_DAYS)))]
    days: u16,
    /// Form of the answer: table to read, json for programs
    #[arg(long, env = "REGISTER_VERSION_READINESS_FORMAT", value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// The form in which readiness is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

impl Readiness {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let served = served(&self.version)?;
        let store = self.database.open()?;
        let readiness = store.read_blocking::<_, StorageError>(|session| {
            VersionReadiness::of(session, served, self.days, versions::all())
        })?;
        match self.format {
            Format::Table => output::text(&readiness)?,
            Format::Json => output::json(&readiness)?,
        }
        Ok(())
    }
}
