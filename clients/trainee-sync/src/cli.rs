//! The command line.

use std::convert::Infallible;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use trainee_file::DateOrder;

use crate::connection::{Connection, ConnectionOptions, PlaceOptions};
use crate::{diff, pull, push, translate};

/// The most changes that a reply can have.
const MOST_CHANGES: u64 = 500;

/// Keep a CSV folder or an SQLite file in step with the Trainee Register
#[derive(Debug, Parser)]
#[command(
    name = "trainee-sync",
    version,
    after_help = "The token comes from TRAINEE_REGISTER_TOKEN or --token-file."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring the copy up to date: all trainees the first time, and then what has changed
    Pull(PullOptions),
    /// Register and update the trainees of a file, and say which rows were refused
    Push(FileOptions),
    /// Show what push would do, field by field, and change nothing in the register
    Diff(DiffOptions),
    /// Show a file as another version of the API spells it, and what that version would refuse
    Translate(translate::TranslateOptions),
}

#[derive(Debug, Args)]
struct PullOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    place: PlaceOptions,
    /// Go on until the program is ended: changes arrive within a second
    #[arg(long)]
    follow: bool,
    /// Changes in a reply, at most
    #[arg(long, value_name = "N", default_value_t = MOST_CHANGES, value_parser = clap::value_parser!(u64).range(1..=MOST_CHANGES))]
    page_size: u64,
}

/// A file and the copy that it is compared with.
#[derive(Debug, Args)]
pub(crate) struct FileOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    place: PlaceOptions,
    /// CSV file, Excel workbook or OpenDocument spreadsheet whose columns are the fields of the
    /// version
    pub(crate) file: PathBuf,
    /// Sheet of the workbook; without this option the first one
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Column that finds the trainee of a row without a trainee_id
    #[arg(long = "match", value_name = "COLUMN", default_value = "provider_trainee_id", value_parser = column_name)]
    pub(crate) match_column: String,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', value_parser = column_name)]
    pub(crate) ignore: Vec<String>,
    #[command(flatten)]
    pub(crate) repairs: RepairOptions,
    /// Trainees that are updated at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) parallel: u8,
}

/// What to do about cells that a spreadsheet has changed.
#[derive(Debug, Args)]
pub(crate) struct RepairOptions {
    /// Repair the columns that a spreadsheet has changed; without this option they are listed, and
    /// nothing is sent
    #[arg(long)]
    pub(crate) repair: bool,
    /// Order of day and month in dates such as 03/04/2026, if the file does not show it
    #[arg(long, value_name = "ORDER")]
    pub(crate) dates: Option<DatesOption>,
    /// Send cells as they are, although a spreadsheet may have shortened their numbers, or they look
    /// like formulas or error values
    #[arg(long)]
    pub(crate) as_is: bool,
}

/// The order of day and month.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DatesOption {
    /// Day, month, year
    DayFirst,
    /// Month, day, year
    MonthFirst,
}

impl From<DatesOption> for DateOrder {
    fn from(option: DatesOption) -> Self {
        match option {
            DatesOption::DayFirst => Self::DayFirst,
            DatesOption::MonthFirst => Self::MonthFirst,
        }
    }
}

#[derive(Debug, Args)]
struct DiffOptions {
    #[command(flatten)]
    file: FileOptions,
    /// Have the register check each change, without carrying it out
    #[arg(long)]
    check: bool,
}

/// What a command came to.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Complete,
    RowsRefused,
}

impl Outcome {
    /// Depends on how many rows were refused.
    pub(crate) fn from_refused_count(refused: usize) -> Self {
        if refused == 0 {
            Self::Complete
        } else {
            Self::RowsRefused
        }
    }
}

/// Runs the command of the command line.
pub(crate) fn run() -> Result<Outcome> {
    match Cli::parse().command {
        Command::Pull(options) => {
            let mut connection = Connection::open(&options.connection, &options.place)?;
            let page_size = usize::try_from(options.page_size)?;
            let pulled = if options.follow {
                pull::follow(&mut connection, page_size)?
            } else {
                pull::pull(&mut connection, page_size)?
            };
            println!(
                "{} trainees: {} stored, {} removed ({})",
                connection.store.count()?,
                pulled.stored,
                pulled.removed,
                connection.client.summary()
            );
            Ok(Outcome::Complete)
        }
        Command::Push(options) => push::push(&mut options.open()?, &options),
        Command::Diff(options) => {
            diff::diff(&mut options.file.open()?, &options.file, options.check)
        }
        Command::Translate(options) => translate::translate(&options),
    }
}

/// The normalised name of a column: lower case, without surrounding space.
#[expect(clippy::unnecessary_wraps, reason = "the form of a parser of values")]
pub(crate) fn column_name(text: &str) -> Result<String, Infallible> {
    Ok(text.trim().to_ascii_lowercase())
}

impl FileOptions {
    fn open(&self) -> Result<Connection> {
        Connection::open(&self.connection, &self.place)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn options_are_consistent() {
        Cli::command().debug_assert();
    }
}
