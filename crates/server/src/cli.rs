//! The command line of the program.
//!
//! Each option can also be given as an environment variable; the option has precedence. The
//! variable is `REGISTER_` followed by the name of the option. If options of several commands have
//! the same name but different meanings, the words of the command come between the two. Commands
//! print results to standard output, and all other texts to standard error.

use std::io::{IsTerminal as _, stderr};

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use http_kit::logging::{LogFormat, Writing};
use log::LevelFilter;

pub use self::error::CommandError;
use self::maintenance::database::{Database, Expected};
use self::reference_data::CodeLists;

mod accounts;
pub(crate) mod error;
mod help;
mod imports;
mod maintenance;
mod organisations;
mod output;
mod program;
mod progress;
mod records;
mod reference_data;
mod sandbox;
mod serve;
mod values;
mod version;

/// The heading of the options of all commands.
const COMMON_OPTIONS: &str = "Common options";

/// Runs and manages a Trainee Register
#[derive(Debug, Parser)]
#[command(name = "trainee-register", version, max_term_width = 100)]
pub struct CommandLine {
    /// Format of the log on standard error
    #[arg(
        long,
        help_heading = COMMON_OPTIONS,
        global = true,
        env = "REGISTER_LOG_FORMAT",
        value_enum,
        default_value_t
    )]
    log_format: LogFormat,
    /// Log the actions of a command on a terminal, too; elsewhere they are always logged
    #[arg(short, long, help_heading = COMMON_OPTIONS, global = true, env = "REGISTER_VERBOSE")]
    verbose: bool,
    #[command(flatten)]
    by: accounts::actor::By,
    /// The names of the command and its subcommand.
    #[arg(skip)]
    name: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API in all versions, with its documentation and settings
    Serve(Box<serve::Serve>),
    /// Update the database schema, or return to an earlier one
    Migrate(maintenance::migrate::Migrate),
    /// Write a backup of a SQLite database; a server may run
    ///
    /// The backup is a consistent snapshot. It is checked and synced to the disk before the command
    /// ends. For PostgreSQL the command prints which tool to use.
    Backup(maintenance::backups::Backup),
    /// Replace a SQLite database with a backup; no server may run
    ///
    /// The backup is checked first and is not changed. The schema of the restored database is
    /// updated. For PostgreSQL the command prints which tool to use.
    Restore(maintenance::backups::Restore),
    /// Check the data for errors; a server may run
    ///
    /// Checks the database file, references between rows, the form of each record in every version,
    /// values, and states against dates. Prints one line per problem, with the identifier of the
    /// trainee and no personal data. The exit status is 1 if there is a problem. Trainees are read
    /// in portions, so no transaction stays open for long; --part and --pause spread the work.
    Check(maintenance::check::Check),
    /// Copy a register to another database
    ///
    /// Copies all rows with their keys and compares each row at the end; the exit status is 1 if
    /// one differs. No server may write to the source during the copy: such writes are reported as
    /// differences. The source is not changed, and its schema must be current. The target must be
    /// empty; it is locked until the copy is complete, and its schema is updated. An interrupted
    /// copy starts again with an empty database. The environment stays the same.
    Copy(maintenance::copy::Copy),
    /// Add, rename, list, close and reopen providers
    #[command(subcommand)]
    Provider(accounts::providers::ProviderCommand),
    /// Issue, replace, list and revoke API tokens
    #[command(subcommand)]
    Token(accounts::tokens::TokenCommand),
    /// Invite, list and remove users of the settings pages
    #[command(subcommand)]
    User(accounts::users::UserCommand),
    /// Import schools
    #[command(subcommand)]
    School(organisations::SchoolCommand),
    /// Import training partners
    #[command(subcommand)]
    Partner(organisations::PartnerCommand),
    /// List imports and their refused rows
    #[command(subcommand)]
    Import(imports::ImportCommand),
    /// Erase trainees permanently, and list erasures
    #[command(subcommand)]
    Trainee(records::trainees::TraineeCommand),
    /// Perform registry actions: TRNs, awards, reinstatements, corrections
    #[command(subcommand)]
    Registry(records::registry::RegistryCommand),
    /// Export the built-in code lists
    #[command(subcommand)]
    ReferenceData(reference_data::ReferenceDataCommand),
    /// Report which versions, endpoints and names providers use
    Usage(accounts::usage::Usage),
    /// Show requests of a provider, and why they were refused
    #[command(subcommand)]
    Request(accounts::requests::RequestCommand),
    /// Print the history of a trainee, with old and new values
    ///
    /// If older history was removed, prints the date that the remaining entries begin at.
    Audit(records::audit::Audit),
    /// Remove the history of past months
    #[command(subcommand)]
    History(records::history::HistoryCommand),
    /// Add invented data to a sandbox
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),
    /// Compare, describe and translate between API versions
    #[command(subcommand)]
    Version(version::VersionCommand),
    /// Print a script that completes commands in a shell
    Completions(program::Completions),
    /// Write manual pages into a folder
    Man(program::Man),
    /// Write the documents that are generated from the code
    Docs(maintenance::documents::Docs),
}

/// Commands that change nothing and show no records. The log does not record who runs them.
const UNRECORDED: [&str; 23] = [
    "serve",
    "completions",
    "man",
    "check",
    "import list",
    "import show",
    "provider list",
    "token list",
    "trainee erasures",
    "reference-data export",
    "registry queue",
    "usage",
    "usage export",
    "request list",
    "request refused",
    "user activity",
    "user list",
    "version check",
    "version difference",
    "version openapi",
    "version readiness",
    "version translate",
    "docs",
];

/// The names of the command and its subcommand.
fn full_name(matches: &ArgMatches) -> String {
    let commands = std::iter::successors(matches.subcommand(), |(_, matches)| matches.subcommand());
    commands.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

impl CommandLine {
    /// Parses the arguments and the environment of the process. Exits on invalid arguments and
    /// after printing help.
    #[must_use]
    pub fn from_environment() -> Self {
        let matches = help::with_help(Self::command()).get_matches();
        let line = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self {
            name: full_name(&matches),
            ..line
        }
    }

    /// The format of the log.
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        self.log_format
    }

    /// The default log level, unless `RUST_LOG` is set. On a terminal, commands report to the user,
    /// so log entries are hidden by default.
    #[must_use]
    pub fn log_level(&self) -> LevelFilter {
        let is_server = matches!(self.command, Command::Serve(_));
        if is_server || self.verbose || !stderr().is_terminal() {
            LevelFilter::Info
        } else {
            LevelFilter::Warn
        }
    }

    /// The way of writing the log. A server must not wait for it.
    #[must_use]
    pub fn log_writing(&self) -> Writing {
        if let Command::Serve(_) = self.command {
            Writing::Queued
        } else {
            Writing::Direct
        }
    }

    /// Runs the command and logs its outcome.
    ///
    /// # Errors
    ///
    /// [`CommandError`]
    pub fn run(self) -> Result<(), CommandError> {
        let Self {
            by, name, command, ..
        } = self;
        let by = by.resolve();
        let is_recorded = !UNRECORDED.contains(&name.as_str()) && !command.only_checks();
        let outcome = command.run(&by);
        if is_recorded {
            let outcome = if outcome.is_ok() { "done" } else { "failed" };
            log::info!(target: "command", command = name.as_str(), by = by.as_str(), outcome; "command");
        }
        outcome
    }
}

impl Command {
    /// Whether an option prevents the command from changing anything.
    fn only_checks(&self) -> bool {
        matches!(self, Self::Migrate(migrate) if migrate.only_checks())
    }

    /// Runs the command for the user `by`.
    fn run(self, by: &str) -> Result<(), CommandError> {
        match self {
            Self::Serve(serve) => serve.run(),
            Self::Migrate(migrate) => migrate.run(),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(by),
            Self::Check(check) => check.run(),
            Self::Copy(copy) => copy.run(),
            Self::Provider(command) => command.run(by),
            Self::Token(command) => command.run(by),
            Self::User(command) => command.run(by),
            Self::School(command) => command.run(by),
            Self::Partner(command) => command.run(by),
            Self::Import(command) => command.run(),
            Self::Trainee(command) => command.run(by),
            Self::Registry(command) => command.run(by),
            Self::ReferenceData(command) => command.run(),
            Self::Usage(usage) => usage.run(),
            Self::Request(command) => command.run(),
            Self::Audit(audit) => audit.run(),
            Self::History(command) => command.run(),
            Self::Sandbox(command) => command.run(by),
            Self::Version(command) => command.run(),
            Self::Completions(completions) => completions.run(),
            Self::Man(man) => man.run(),
            Self::Docs(docs) => docs.run(),
        }
    }
}

#[cfg(test)]
mod tests;
