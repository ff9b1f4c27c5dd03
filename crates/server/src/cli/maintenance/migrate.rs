//! The command that migrates the schema.

use clap::Args;
use storage::store::{Store, StoreOptions};

use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  trainee-register migrate --database-url postgres://register@db/register
  trainee-register migrate --check")]
pub(crate) struct Migrate {
    #[command(flatten)]
    database: Database,
    /// Print pending migrations, without changing or locking the database
    ///
    /// The exit status is 0 if the schema is up to date, 3 if migrations are pending, and 1 if the
    /// check fails, for example without a database.
    #[arg(long)]
    check: bool,
}

impl Migrate {
    /// Whether the command changes nothing.
    pub(crate) fn only_checks(&self) -> bool {
        self.check
    }

    /// Migrates the schema, and prints each migration that was applied.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        if self.check {
            return self.check();
        }
        let (_, set_up) = progress::while_running("migrating the schema", || {
            self.database.set_up(StoreOptions::default())
        })?;
        set_up
            .applied
            .iter()
            .try_for_each(|name| output::line(format_args!("applied     {name}")))?;
        eprintln!("migrations applied: {}", set_up.applied.len());
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
