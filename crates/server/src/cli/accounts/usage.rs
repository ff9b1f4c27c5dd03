//! The commands that report what providers use.

use std::io;

use chrono::{NaiveDate, TimeDelta};
use clap::{Args, Subcommand, ValueEnum};
use domain::values::iso_8601::timestamp;
use storage::error::StorageError;
use storage::observations::usage::KEPT_DAYS;
use usage::chart;
use usage::months::{MAX_MONTHS, UsageByMonth};
use usage::report::{Line, Report};

use crate::cli::accounts::requests::of_provider;
use crate::cli::values::{between, date, ukprn};
use crate::cli::{CommandError, Database, output};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Usage {
    #[command(subcommand)]
    command: Option<UsageCommand>,
    #[command(flatten)]
    database: Database,
    /// UKPRN of the one provider to look at [default: all]
    #[arg(long, value_name = "UKPRN", env = "REGISTER_USAGE_PROVIDER", value_parser = ukprn)]
    provider: Option<String>,
    /// First day to look at [default: as long as counts are kept, 400 days]
    #[arg(long, value_name = "YYYY-MM-DD", env = "REGISTER_SINCE", value_parser = date)]
    since: Option<NaiveDate>,
    /// Form of the answer: table to read, csv for spreadsheets, json for programs
    #[arg(long, env = "REGISTER_USAGE_FORMAT", value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum UsageCommand {
    /// Write the requests of a provider by month, version and endpoint: for spreadsheets, or as a
    /// picture
    Export(Export),
}

#[derive(Debug, Args)]
struct Export {
    #[command(flatten)]
    database: Database,
    /// UKPRN of the provider
    #[arg(long, value_name = "UKPRN", env = "REGISTER_USAGE_EXPORT_PROVIDER", value_parser = ukprn)]
    provider: String,
    /// Months to look at, of which the present one is the last
    #[arg(long, value_name = "MONTHS", env = "REGISTER_MONTHS", default_value = "12",
        value_parser = between(1, MAX_MONTHS))]
    months: u8,
    /// Form of the file: csv for spreadsheets, svg for a chart of the versions
    #[arg(long, env = "REGISTER_USAGE_EXPORT_FORMAT", value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
}

/// The form in which months are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Csv,
    Svg,
}

impl Export {
    fn run(self) -> Result<(), CommandError> {
        let Self {
            database,
            provider,
            months,
            format,
        } = self;
        let usage = of_provider(&database.open()?, &provider, |session| {
            UsageByMonth::own(session, months)
        })?;
        match format {
            ExportFormat::Csv => output::text(usage.csv().map_err(CommandError::Print)?),
            ExportFormat::Svg => output::line(chart::svg(&usage).map_err(CommandError::Chart)?),
        }
    }
}

/// The form in which usage is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
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
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let Self {
            command,
            database,
            provider,
            since,
            format,
        } = self;
        if let Some(UsageCommand::Export(export)) = command {
            return export.run();
        }
        let report = database
            .open()?
            .read_blocking::<_, StorageError>(|session| {
                let since = since.unwrap_or_else(|| session.today() - TimeDelta::days(KEPT_DAYS));
                Report::since(session, since, provider.as_deref(), versions::all())
            })?;
        match format {
            Format::Table => {
                let rows: Vec<_> = report.lines.iter().map(cells).collect();
                output::table(HEADINGS, &rows)?;
                let total = report.total;
                output::line(format_args!(
                    "\nsince {}: requests {}, of these to deprecated endpoints {}; providers {}, tokens {}",
                    report.since,
                    total.requests,
                    total.to_deprecated_endpoints,
                    total.providers,
                    total.tokens
                ))?;
            }
            Format::Csv => output::text(csv(&report).map_err(CommandError::Print)?)?,
            Format::Json => output::json(&report)?,
        }
        Ok(())
    }
}

fn cells(line: &Line) -> [String; 12] {
    [
        line.provider.clone(),
        line.token.to_string(),
        line.token_name.clone(),
        line.version.clone(),
        line.endpoint.clone(),
        line.kind.word().to_owned(),
        line.name.clone().unwrap_or_default(),
        line.requests.to_string(),
        timestamp(line.first.at),
        line.first.request_id.to_string(),
        timestamp(line.last.at),
        line.last.request_id.to_string(),
    ]
}

fn csv(report: &Report) -> io::Result<String> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(HEADINGS)?;
    report
        .lines
        .iter()
        .try_for_each(|line| rows.write_record(cells(line).map(without_formula)))?;
    let bytes = rows.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The cell as text where a spreadsheet would take it for a formula: providers choose the names of
/// tokens and the identifiers of requests.
fn without_formula(cell: String) -> String {
    let is_formula =
        cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    if is_formula { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_a_spreadsheet_would_calculate_begin_with_an_apostrophe() {
        let cell = |text: &str| without_formula(text.to_owned());
        for formula in ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-"] {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        for other in ["", "Records, old", "10000001", "-7", "+4.5", "a=b"] {
            assert_eq!(cell(other), other);
        }
    }
}
