//! The command that moves the schema.

use clap::Args;
use storage::maintenance::backup;
use storage::maintenance::migrations::Goal;
use storage::store::{Store, StoreOptions};

use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    database: Database,
    /// Go to this migration, such as 2026-11-26-000001, and take back those behind it
    ///
    /// This is the way back to an older program, whose last migration it is; do it with the newer
    /// one, and make a backup first. No server may run: a SQLite database in use is refused. What
    /// only the migrations that are taken back have room for is lost; where that is whole tables
    /// with records, --force must say so.
    #[arg(long, value_name = "MIGRATION", env = "REGISTER_MIGRATE_TO")]
    to: Option<String>,
    /// Drop tables that hold records on the way back; the records are lost
    #[arg(long, env = "REGISTER_MIGRATE_FORCE", requires = "to")]
    force: bool,
    /// Only report what is pending, in one line; change nothing and lock nothing
    ///
    /// The exit status is 0 when the database is up to date, 3 when something is pending, and 1
    /// when that cannot be determined, such as where there is no register.
    #[arg(long, env = "REGISTER_MIGRATE_CHECK", conflicts_with = "to")]
    check: bool,
}

impl Migrate {
    /// Whether the command changes nothing.
    pub(crate) fn only_checks(&self) -> bool {
        self.check
    }

    pub(crate) fn run(self) -> Result<(), CommandError> {
        if self.check {
            return self.check();
        }
        let goal = match self.to.as_deref() {
            None => Goal::Newest,
            Some(to) if self.force => Goal::Migration(to),
            Some(to) => Goal::MigrationKeepingTables(to),
        };
        if self.to.is_some() {
            // A server that runs would go on without the tables that it uses.
            backup::require_unused(&self.database.database_url)?;
        }
        let (_, set_up) = progress::while_running("migrating the schema", || {
            self.database.set_up(goal, StoreOptions::default())
        })?;
        let change = set_up.schema;
        change
            .taken_back
            .iter()
            .try_for_each(|name| output::line(format_args!("taken back  {name}")))?;
        change
            .applied
            .iter()
            .try_for_each(|name| output::line(format_args!("applied     {name}")))?;
        eprintln!(
            "migrations applied: {}; taken back: {}",
            change.applied.len(),
            change.taken_back.len()
        );
        eprintln!("environment: {}", set_up.environment);
        Ok(())
    }

    fn check(&self) -> Result<(), CommandError> {
        let Database {
            database_url,
            expected,
        } = &self.database;
        let pending = Store::pending(database_url, expected.environment);
        let pending = pending.map_err(|error| self.database.open_error(error))?;
        if pending.is_empty() {
            return output::line("up to date");
        }
        output::line(format_args!("pending: {pending}"))?;
        Err(CommandError::Pending)
    }
}
