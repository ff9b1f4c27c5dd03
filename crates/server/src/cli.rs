//! The command line: what an operator can ask of the register.
//!
//! Each option can also be given as an environment variable; the option wins. The variable is
//! `REGISTER_` and the name of the option; where options of several commands have the same name,
//! the words of the command stand between the two. What a command prints goes to standard output,
//! everything else to standard error.

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use http_kit::logging::{LogFormat, Writing};

pub use self::error::CommandError;
use self::maintenance::database::{Database, Expected};
use self::reference_data::CodeLists;

mod accounts;
pub(crate) mod error;
mod imports;
mod maintenance;
mod organisations;
mod output;
mod records;
mod reference_data;
mod sandbox;
mod serve;
mod values;
mod version;

/// A register of trainee teachers, which their providers keep up to date through a versioned JSON
/// API.
#[derive(Debug, Parser)]
#[command(name = "trainee-register", version, about, max_term_width = 100)]
pub struct CommandLine {
    /// How the log is written to standard error
    #[arg(
        long,
        global = true,
        env = "REGISTER_LOG_FORMAT",
        value_enum,
        default_value_t
    )]
    log_format: LogFormat,
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
    /// Serve the API, in every version side by side
    Serve(Box<serve::Serve>),
    /// Bring the database schema up to date, or back, and do nothing else
    Migrate(maintenance::migrate::Migrate),
    /// Write a backup of a SQLite database to a file; a running server goes on meanwhile
    ///
    /// The backup is one consistent snapshot of the register, is checked, and is on the disk when
    /// the command has ended. For a PostgreSQL database the command to use is named.
    Backup(maintenance::backups::Backup),
    /// Put a backup in the place of a SQLite database; no server may run on it
    ///
    /// The backup is checked first and stays as it is; the restored database is brought up to date.
    /// For a PostgreSQL database the command to use is named.
    Restore(maintenance::backups::Restore),
    /// Look for what is wrong with the data; a running server goes on meanwhile
    ///
    /// The database is sound, nothing refers to what is not there, every record can be read and
    /// shown in every version, its values fit their fields, and its state goes with its dates. Each
    /// problem is one line, with the identifier of the trainee and nothing else of a person. The
    /// exit status is 1 when there is any. Trainees are read some hundred at a time, each time as
    /// they are then, so no transaction is open for long; --part and --pause spread the work.
    Check(maintenance::check::Check),
    /// Copy a register into another database, of the same kind or the other
    ///
    /// Everything goes over with its keys, and every row is compared at the end; the exit status is
    /// 1 when any is not the same. Nothing else opens the database that is copied to until then; a
    /// copy that was interrupted begins again with an empty database.
    ///
    /// No server may write to the database that is copied from. What was written to it meanwhile is
    /// reported as a difference. It stays as it is, and its schema must be up to date; that of the
    /// other one is brought up to date. The copy is of the same environment.
    Copy(maintenance::copy::Copy),
    /// Add and list the providers that register trainees
    #[command(subcommand)]
    Provider(accounts::providers::ProviderCommand),
    /// Issue, list and revoke the tokens with which providers use the API
    #[command(subcommand)]
    Token(accounts::tokens::TokenCommand),
    /// Say who may sign in to the settings, and see what was done there
    #[command(subcommand)]
    User(accounts::users::UserCommand),
    /// Keep the register of schools up to date
    #[command(subcommand)]
    School(organisations::SchoolCommand),
    /// Keep the register of training partners up to date
    #[command(subcommand)]
    Partner(organisations::PartnerCommand),
    /// List the imports of files that were made, with the rows that were refused
    #[command(subcommand)]
    Import(imports::ImportCommand),
    /// Erase trainees for good, and list those that were erased
    #[command(subcommand)]
    Trainee(records::trainees::TraineeCommand),
    /// Do what the registry does to trainees, and undo what providers cannot
    #[command(subcommand)]
    Registry(records::registry::RegistryCommand),
    /// Write out the code lists that are part of the program
    #[command(subcommand)]
    ReferenceData(reference_data::ReferenceDataCommand),
    /// Tell which versions, endpoints and names providers use, and since when
    Usage(accounts::usage::Usage),
    /// Look at the requests of a provider: what was refused, and why
    #[command(subcommand)]
    Request(accounts::requests::RequestCommand),
    /// Print everything that happened to a trainee, with the old and the new values
    ///
    /// Where older history was removed, the date before which that was done is printed.
    Audit(records::audit::Audit),
    /// Remove the history of past months
    #[command(subcommand)]
    History(records::history::HistoryCommand),
    /// Fill a register in which things are tried out
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),
    /// Look at the versions of the API: what they are, and how they differ
    #[command(subcommand)]
    Version(version::VersionCommand),
    /// Write the documents that follow from the code: the codes of problems, the rules, and what
    /// changed in each version
    Docs(maintenance::documents::Docs),
}

/// Commands that change nothing and show no records: the log does not say who ran them.
const UNRECORDED: [&str; 21] = [
    "serve",
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
    /// What the process was started with. Ends the process where that is no command, or asks for
    /// help.
    #[must_use]
    pub fn from_environment() -> Self {
        let matches = Self::command().get_matches();
        let line = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self {
            name: full_name(&matches),
            ..line
        }
    }

    /// How the log is to be written.
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        self.log_format
    }

    /// Who is to write the log: a server must not wait for that.
    #[must_use]
    pub fn log_writing(&self) -> Writing {
        if let Command::Serve(_) = self.command {
            Writing::Queued
        } else {
            Writing::Direct
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    ///
    /// Why it could not be done.
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
    /// Whether an option makes the command change nothing.
    fn only_checks(&self) -> bool {
        matches!(self, Self::Migrate(migrate) if migrate.only_checks())
    }

    /// Does what was asked, for whoever runs the command.
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
            Self::Docs(docs) => docs.run(),
        }
    }
}

#[cfg(test)]
mod tests;
