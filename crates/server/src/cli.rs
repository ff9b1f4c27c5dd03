//! The command line of the program.
//!
//! Each option of `serve` can also be given as an environment variable: `REGISTER_` followed by the
//! name of the option, which has precedence. Other commands read the variables of the register and
//! of the log, so that they find what the server uses. Commands print results to standard output,
//! and all other texts to standard error.

use std::io::{IsTerminal as _, stderr};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use http_kit::logging::{LogFormat, Writing};
use log::LevelFilter;

pub use self::error::CommandError;
use self::maintenance::database::{Database, Expected};
use self::reference_data::CodeLists;

mod accounts;
pub(crate) mod error;
mod help;
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

/// Run and manage a Trainee Register
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
    /// Log completed actions as well as warnings and errors; this is the default for `serve`, and
    /// if standard error is not a terminal
    #[arg(short, long, help_heading = COMMON_OPTIONS, global = true)]
    verbose: bool,
    #[command(flatten)]
    by: accounts::actor::By,
    /// The names of the command and its subcommand.
    #[arg(skip)]
    name: String,
    /// The provider in the arguments of the command.
    #[arg(skip)]
    ukprn: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server: API, documentation and settings pages
    Serve(Box<serve::Serve>),
    /// Update the database schema
    Migrate(maintenance::migrate::Migrate),
    /// Back up a SQLite database; servers can keep running
    ///
    /// The backup is a consistent snapshot. The command checks the backup and syncs it to disk. For
    /// PostgreSQL, the command prints which tool to use.
    Backup(maintenance::backups::Backup),
    /// Replace a SQLite database with a backup; stop all servers first
    ///
    /// The command first checks the backup. It replaces an existing database only with --force.
    /// Then it updates the schema of the new database. The backup file stays as it is. For
    /// PostgreSQL, the command prints which tool to use.
    Restore(maintenance::backups::Restore),
    /// Check the stored data for errors; servers can keep running
    ///
    /// Checks the database file, references between rows, each record's form in every version,
    /// values, and whether states match dates. Prints one line per problem, with the trainee's
    /// identifier but no personal data. The exit status is 1 if there is a problem. Trainees are
    /// read in batches with short transactions. To spread the load, use --part and --pause.
    Check(maintenance::check::Check),
    /// Copy a register to another database
    ///
    /// Copies all rows with their keys, then compares each row. The exit status is 1 if a row
    /// differs. First stop all servers that write to the source: writes during the copy are
    /// reported as differences. The source does not change, and its schema must be current. The
    /// target must be empty. It is locked until the copy is complete, and its schema is updated.
    /// After an interrupted copy, start again with an empty database. The environment stays the
    /// same.
    Copy(maintenance::copy::Copy),
    /// Add, list and close providers
    #[command(subcommand)]
    Provider(accounts::providers::ProviderCommand),
    /// Issue, list and revoke API tokens
    #[command(subcommand)]
    Token(accounts::tokens::TokenCommand),
    /// Invite, list, remove, erase and sign out users of the settings pages
    #[command(subcommand)]
    User(accounts::users::UserCommand),
    /// Import schools
    #[command(subcommand)]
    School(organisations::SchoolCommand),
    /// Import training partners
    #[command(subcommand)]
    Partner(organisations::PartnerCommand),
    /// Permanently erase trainees, and list erasures
    #[command(subcommand)]
    Trainee(records::trainees::TraineeCommand),
    /// Process files of registry actions, and list waiting trainees
    #[command(subcommand)]
    Registry(records::registry::RegistryCommand),
    /// Export the built-in code lists
    #[command(subcommand)]
    ReferenceData(reference_data::ReferenceDataCommand),
    /// Count each provider's requests by API version and endpoint
    ///
    /// Use the report before you deprecate or remove a version. It also counts requests to
    /// deprecated endpoints, and requests with field names of other versions.
    Usage(accounts::usage::Usage),
    /// List a provider's requests and the reasons for refusals
    #[command(subcommand)]
    Request(accounts::requests::RequestCommand),
    /// Print a trainee's history, with old and new values
    ///
    /// Each entry shows the time, the operation, who made the change, and the changed fields. If
    /// older entries were removed, the output gives the cut-off date.
    Audit(records::audit::Audit),
    /// Delete old entries of the trainees' history
    #[command(subcommand)]
    History(records::history::HistoryCommand),
    /// Add invented data to a sandbox
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),
    /// Compare API versions, and translate bodies between them
    #[command(subcommand)]
    Version(version::VersionCommand),
    /// Print a shell completion script
    Completions(program::Completions),
    /// Write the manual pages into a folder
    Man(program::Man),
}

/// Commands that change nothing and show no records. The log does not record who runs them.
const UNRECORDED: [&str; 17] = [
    "serve",
    "completions",
    "man",
    "check",
    "provider list",
    "token list",
    "trainee erasures",
    "reference-data export",
    "registry queue",
    "usage",
    "request list",
    "request refused",
    "user list",
    "version difference",
    "version openapi",
    "version readiness",
    "version translate",
];

/// The names of the command and its subcommand, such as `token list`.
fn full_name(matches: &ArgMatches) -> String {
    let commands = std::iter::successors(matches.subcommand(), |(_, matches)| matches.subcommand());
    commands.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// The provider in the arguments of the command.
fn provider_argument(mut matches: &ArgMatches) -> Option<String> {
    while let Some((_, of_subcommand)) = matches.subcommand() {
        matches = of_subcommand;
    }
    let values = ["provider", "ukprn"].map(|id| matches.try_get_one::<String>(id).ok().flatten());
    values.into_iter().flatten().next().cloned()
}

/// Adds the environment variables to the options of `serve` in an error.
fn name_variables(mut error: clap::Error, serve: &clap::Command) -> clap::Error {
    let options = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => ContextValue::String(append_variable(option, serve)),
        Some(ContextValue::Strings(options)) => {
            let options = options.iter().map(|option| append_variable(option, serve));
            ContextValue::Strings(options.collect())
        }
        _ => return error,
    };
    error.insert(ContextKind::InvalidArg, options);
    error
}

/// Adds its environment variable to an option of `serve` as shown in errors.
fn append_variable(shown: &str, serve: &clap::Command) -> String {
    let mut options = serve.get_arguments();
    let option = options.find(|option| option.to_string() == shown);
    match option.and_then(Arg::get_env) {
        Some(variable) => format!("{shown} ({})", variable.display()),
        None => shown.to_owned(),
    }
}

/// Adds the environment variable of an option of `serve`, unless it has one.
fn with_variable(option: Arg) -> Arg {
    if option.get_env().is_some() {
        return option;
    }
    let name = option.get_id().as_str().to_uppercase();
    option.env(format!("REGISTER_{name}"))
}

impl CommandLine {
    /// The command with groups of commands in its help, and environment variables for the options
    /// of `serve`.
    fn complete_command() -> clap::Command {
        help::with_groups(Self::command())
            .mut_subcommand("serve", |serve| serve.mut_args(with_variable))
    }

    /// Parses the arguments and the environment of the process. Exits on invalid arguments and
    /// after printing help.
    #[must_use]
    pub fn from_environment() -> Self {
        let mut command = Self::complete_command();
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let matches = matches.unwrap_or_else(|error| {
            let is_serve = std::env::args_os().any(|argument| argument == "serve");
            match command.find_subcommand("serve").filter(|_| is_serve) {
                Some(serve) => name_variables(error, serve).exit(),
                None => error.exit(),
            }
        });
        let line = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self {
            name: full_name(&matches),
            ukprn: provider_argument(&matches),
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

    /// Who writes the log. A server uses a separate thread, so that no request waits for the log.
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
            by,
            name,
            ukprn,
            command,
            ..
        } = self;
        let by = by.resolve();
        let is_recorded = !UNRECORDED.contains(&name.as_str()) && !command.only_checks();
        let outcome = command.run(&by).map_err(|error| error.with_ukprn(ukprn));
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
        }
    }
}

#[cfg(test)]
mod tests;
