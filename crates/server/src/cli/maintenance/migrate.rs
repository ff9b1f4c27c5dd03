//! The command that migrates the schema.

use clap::Args;
use storage::maintenance::backup;
use storage::maintenance::migrations::Goal;
use storage::store::{Store, StoreOptions};

use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    database: Database,
    /// Migrate to this migration, such as 2026-11-26-000001, and revert later migrations
    ///
    /// Use this option before you install an older version of the program. Make a backup, stop all
    /// servers, and run the newer program with the last migration of the older version. A SQLite
    /// database in use is refused. Data that only the reverted migrations can store is lost. If
    /// tables with records would be dropped, --force is required.
    #[arg(long, value_name = "MIGRATION", env = "REGISTER_MIGRATE_TO")]
    to: Option<String>,
    /// Drop tables with records when reverting migrations; the records are lost
    #[arg(long, env = "REGISTER_MIGRATE_FORCE", requires = "to")]
    force: bool,
    /// Print pending migrations, without changing or locking the database
    ///
    /// The exit status is 0 if the schema is up to date, 3 if migrations are pending, and 1 if the
    /// check fails, for example without a database.
    #[arg(long, env = "REGISTER_MIGRATE_CHECK", conflicts_with = "to")]
    check: bool,
}

impl Migrate {
    /// Whether the command changes nothing.
    pub(crate) fn only_checks(&self) -> bool {
        self.check
    }

    /// Migrates the schema, and prints each migration that was applied or reverted.
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
            // A running server would lose tables that it uses.
            backup::require_unused(&self.database.database_url)?;
        }
        let (_, set_up) = progress::while_running("migrating the schema", || {
            self.database.set_up(goal, StoreOptions::default())
        })?;
        let change = set_up.schema;
        change
            .taken_back
            .iter()
            .try_for_each(|name| output::line(format_args!("reverted  {name}")))?;
        change
            .applied
            .iter()
            .try_for_each(|name| output::line(format_args!("applied     {name}")))?;
        eprintln!(
            "migrations applied: {}; reverted: {}",
            change.applied.len(),
            change.taken_back.len()
        );
        eprintln!("environment: {}", set_up.environment);
        Ok(())
    }

    /// Prints the pending migrations. Fails if there are any.
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
