//! The command that reports the readiness to migrate.

use clap::Args;
use domain::values::iso_8601::timestamp;
use storage::error::StorageError;
use usage::readiness::{DEFAULT_DAYS, MAX_DAYS, ProviderUse, VersionReadiness};

use super::super::Database;
use super::{CommandError, served};
use crate::cli::output::{self, Cell, Number, ReportFormat, ReportOutput};
use crate::cli::values::{between, ukprn};

mod text;

#[derive(Debug, Args)]
pub(crate) struct Readiness {
    #[command(flatten)]
    database: Database,
    /// API version, such as one to be removed [default: a table of all versions, sorted by
    /// readiness]
    #[arg(value_name = "LABEL")]
    version: Option<String>,
    /// UKPRN of a provider [default: all providers]
    #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
    provider: Option<String>,
    /// Number of days to report, including today
    #[arg(long, value_name = "N", default_value_t = DEFAULT_DAYS,
        value_parser = between(1, MAX_DAYS))]
    days: u16,
    #[command(flatten)]
    output: ReportOutput,
}

const HEADINGS: [&str; 8] = [
    "version",
    "provider",
    "name",
    "requests",
    "last_seen",
    "checked",
    "percent",
    "newer",
];

impl Readiness {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match &self.version {
            Some(label) => self.print_version(label),
            None => self.print_all_versions(),
        }
    }

    /// Prints the readiness of the providers that use this version.
    fn print_version(&self, label: &str) -> Result<(), CommandError> {
        let served = served(label)?;
        let days = self.days;
        let provider = self.provider.clone();
        let readiness = self
            .database
            .open()?
            .read_blocking::<_, StorageError>(move |session| {
                let (provider, all) = (provider.as_deref(), versions::all());
                VersionReadiness::load(session, [served], days, provider, all)
            })?;
        let Some(readiness) = readiness.first() else {
            return Ok(());
        };
        match self.output.format() {
            ReportFormat::Table => output::text(text::ReadinessText::new(readiness)),
            ReportFormat::Json => output::json(readiness),
        }
    }

    /// Prints a table of all versions and their providers, and whether each version can be removed.
    fn print_all_versions(&self) -> Result<(), CommandError> {
        let days = self.days;
        let provider = self.provider.clone();
        let found = self
            .database
            .open()?
            .read_blocking::<_, StorageError>(move |session| {
                let (provider, all) = (provider.as_deref(), versions::all());
                VersionReadiness::load(session, all.iter(), days, provider, all)
            })?;
        match self.output.format() {
            ReportFormat::Table => {
                let mut rows = Vec::new();
                for version in &found {
                    let label = version.version.to_string();
                    let uses = version.by_progress().into_iter();
                    rows.extend(uses.map(|provider_use| cells(&label, provider_use)));
                }
                output::table(HEADINGS, &rows)?;
                for version in &found {
                    if let Some(verdict) = version.removal().words() {
                        output::line(format_args!("{} {verdict}", version.version))?;
                    }
                }
                Ok(())
            }
            ReportFormat::Json => output::json(&found),
        }
    }
}

/// The row of a provider that uses a version.
fn cells(version: &str, used: &ProviderUse) -> [Cell; 8] {
    [
        version.to_owned().into(),
        used.provider.clone().into(),
        used.name.clone().into(),
        Number(used.requests).into(),
        timestamp(used.last.at).into(),
        Number(used.writes.checked).into(),
        used.writes
            .percent
            .map(|percent| percent.to_string())
            .into(),
        Number(used.newer_requests()).into(),
    ]
}
