//! The commands that report the usage of providers.

use chrono::{NaiveDate, TimeDelta};
use clap::{Args, Subcommand, ValueEnum};
use domain::values::iso_8601::timestamp;
use settings_pages::usage_by_month::{MAX_MONTHS, UsageByMonth, chart};
use storage::error::StorageError;
use storage::observations::totals::KEPT_DAYS;
use usage::report::{Line, Report};

use crate::cli::accounts::request_runs::read_for_provider;
use crate::cli::output::{self, Cell, ListFormat, ListOutput, Number};
use crate::cli::values::{between, date, ukprn};
use crate::cli::{CommandError, Database};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Usage {
    #[command(subcommand)]
    command: Option<UsageCommand>,
    #[command(flatten)]
    database: Database,
    /// UKPRN of a provider [default: all providers]
    #[arg(long, value_name = "UKPRN", env = "REGISTER_USAGE_PROVIDER", value_parser = ukprn)]
    provider: Option<String>,
    /// Start date of the report [default: the oldest stored count, at most 400 days ago]
    #[arg(long, value_name = "YYYY-MM-DD", env = "REGISTER_SINCE", value_parser = date)]
    since: Option<NaiveDate>,
    #[command(flatten)]
    output: ListOutput,
}

#[derive(Debug, Subcommand)]
enum UsageCommand {
    /// Print a provider's requests by month, version and endpoint, as CSV or a chart
    Export(Export),
}

#[derive(Debug, Args)]
struct Export {
    #[command(flatten)]
    database: Database,
    /// UKPRN of the provider
    #[arg(long, value_name = "UKPRN", env = "REGISTER_USAGE_EXPORT_PROVIDER", value_parser = ukprn)]
    provider: String,
    /// Number of months, including the current one
    #[arg(long, value_name = "MONTHS", env = "REGISTER_MONTHS", default_value = "12",
        value_parser = between(1, MAX_MONTHS))]
    months: u8,
    /// Output format: csv for spreadsheets, svg for a bar chart
    #[arg(long, env = "REGISTER_USAGE_EXPORT_FORMAT", value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Csv,
    Svg,
}

impl Export {
    /// Prints the provider's usage of the last months in the requested format.
    fn run(self) -> Result<(), CommandError> {
        let Self {
            database,
            provider,
            months,
            format,
        } = self;
        let usage = read_for_provider(&database.open()?, &provider, |session| {
            UsageByMonth::load_own(session, months)
        })?;
        match format {
            ExportFormat::Csv => output::text(usage.csv().map_err(CommandError::Print)?),
            ExportFormat::Svg => output::line(chart::svg(&usage).map_err(CommandError::Chart)?),
        }
    }
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
    /// Prints the report as a list with a total, or runs the subcommand.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let Self {
            command,
            database,
            provider,
            since,
            output,
        } = self;
        if let Some(UsageCommand::Export(export)) = command {
            return export.run();
        }
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
