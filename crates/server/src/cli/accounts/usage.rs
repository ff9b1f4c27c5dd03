//! The commands that report the usage of providers.

use chrono::{NaiveDate, TimeDelta};
use clap::Args;
use domain::values::iso_8601::timestamp;
use storage::error::StorageError;
use storage::observations::totals::KEPT_DAYS;
use usage::report::{Line, Report};

use crate::cli::output::{self, Cell, ListFormat, ListOutput, Number};
use crate::cli::values::{date, ukprn};
use crate::cli::{CommandError, Database};

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register usage --provider 10012345")]
pub(crate) struct Usage {
    #[command(flatten)]
    database: Database,
    /// UKPRN of a provider [default: all providers]
    #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
    provider: Option<String>,
    /// Start date of the report [default: the oldest stored count, at most 400 days ago]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    since: Option<NaiveDate>,
    #[command(flatten)]
    output: ListOutput,
}

const HEADINGS: [&str; 12] = [
    "provider",
    "token",
    "token_name",
    "version",
    "endpoint",
    "kind",
    "name",
    "requests",
    "first_seen",
    "first_request_id",
    "last_seen",
    "last_request_id",
];

impl Usage {
    /// Prints the report as a list with a total.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let Self {
            database,
            provider,
            since,
            output,
        } = self;
        let report = database
            .open()?
            .read_blocking::<_, StorageError>(|session| {
                let since = since.unwrap_or_else(|| session.today() - TimeDelta::days(KEPT_DAYS));
                Report::load(session, since, provider.as_deref(), versions::all())
            })?;
        if output.format() == ListFormat::Json {
            return output::json(&report);
        }
        let rows: Vec<_> = report.lines.iter().map(cells).collect();
        output.print(HEADINGS, &rows)?;
        let total = report.total;
        output.note(format_args!(
            "\nsince {}: requests {}, to deprecated endpoints {}; providers {}, tokens {}",
            report.since,
            total.requests,
            total.to_deprecated_endpoints,
            total.providers,
            total.tokens
        ))
    }
}

/// The row of a line of the report.
fn cells(line: &Line) -> [Cell; 12] {
    [
        line.provider.clone().into(),
        Number(line.token).into(),
        line.token_name.clone().into(),
        line.version.clone().into(),
        line.endpoint.clone().into(),
        line.kind.word().to_owned().into(),
        line.name.clone().into(),
        Number(line.requests).into(),
        timestamp(line.first.at).into(),
        line.first.request_id.to_string().into(),
        timestamp(line.last.at).into(),
        line.last.request_id.to_string().into(),
    ]
}
