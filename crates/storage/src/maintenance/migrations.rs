//! Migrations of the schema, embedded in the program: applies them, and checks that the database is
//! not newer than the program. Migrations cannot be reverted: the way back is a backup.
//!
//! Pending migrations are searched for without a lock; only applying them takes one. All migrations
//! of a call run in one transaction under one lock, so they are applied together or not at all, and
//! only once.
//!
//! Independent of the content of the migrations.

use database::catalog;
use database::connection::DatabaseConnection;
use diesel::migration::{self, Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use self::locking::RetryPolicy;
pub use self::pending::Pending;
use crate::base::token::Environment;
use crate::error::StorageError;
use crate::maintenance::environment;
use crate::maintenance::migrations::apply::apply_pending;
use crate::records::change_generation;

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// diesel's table of applied migrations.
pub(crate) const MIGRATIONS_TABLE: &str = "__diesel_schema_migrations";
/// A table that every layout of a register has.
const TRAINEES: &str = "trainees";

/// The result of [`Store::set_up`](crate::store::Store::set_up).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUp {
    /// The names of the applied migrations, oldest first.
    pub applied: Vec<String>,
    /// The recorded environment.
    pub environment: Environment,
}

/// The migrations of one database, in any order.
type Listed<DB> = migration::Result<Vec<Box<dyn Migration<DB>>>>;

/// The migrations of each database.
struct Migrations {
    postgres: Box<dyn Fn() -> Listed<Pg>>,
    sqlite: Box<dyn Fn() -> Listed<Sqlite>>,
}

impl Migrations {
    /// The migrations of this program.
    fn embedded() -> Self {
        Self {
            postgres: Box::new(|| POSTGRES.migrations()),
            sqlite: Box::new(|| SQLITE.migrations()),
        }
    }
}

/// Reads and changes the schema of one database, which other processes may change at the same time.
pub(crate) struct Migrator<'a> {
    connection: &'a mut DatabaseConnection,
    policy: RetryPolicy,
    migrations: Migrations,
}

/// Applies the pending migrations, and returns their names.
pub(crate) fn bring_up_to_date(
    connection: &mut DatabaseConnection,
) -> Result<Vec<String>, StorageError> {
    Migrator::new(connection).bring_up_to_date()
}

/// Like [`Migrator::set_up`].
pub(crate) fn set_up(
    connection: &mut DatabaseConnection,
    requested: Option<Environment>,
) -> Result<SetUp, StorageError> {
    Migrator::new(connection).set_up(requested)
}

impl<'a> Migrator<'a> {
    pub(crate) fn new(connection: &'a mut DatabaseConnection) -> Self {
        Self {
            connection,
            policy: RetryPolicy::default(),
            migrations: Migrations::embedded(),
        }
    }

    /// Applies the pending migrations, and returns their names. Takes no lock if there are none.
    fn bring_up_to_date(&mut self) -> Result<Vec<String>, StorageError> {
        let pending = self.retry_read(pending::migrations)?;
        if pending.is_empty() {
            return Ok(pending);
        }
        self.with_schema_lock(apply_pending)
    }

    /// Applies the pending migrations and records the settings, both or neither. Takes no lock if
    /// nothing is to be done.
    pub(crate) fn set_up(&mut self, requested: Option<Environment>) -> Result<SetUp, StorageError> {
        // `None` if something is to be done.
        let found = self.retry_read(|connection, migrations| {
            environment::require_same(environment::recorded(connection)?, requested)?;
            if !pending::migrations(connection, migrations)?.is_empty()
                || environment::schema_is_due(connection)?
                || change_generation::is_due(connection)?
            {
                return Ok(None);
            }
            let Some(environment) = environment::recorded(connection)? else {
                return Ok(None);
            };
            Ok(Some(SetUp {
                applied: Vec::new(),
                environment,
            }))
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        self.with_schema_lock(|connection, migrations| {
            let applied = apply_pending(connection, migrations)?;
            let environment = environment::resolve(connection, requested)?;
            environment::record_schema(connection)?;
            change_generation::record(connection)?;
            Ok(SetUp {
                applied,
                environment,
            })
        })
    }

    /// The changes that [`Migrator::set_up`] would make. Changes nothing, and takes only read locks.
    pub(crate) fn pending(
        &mut self,
        requested: Option<Environment>,
    ) -> Result<Pending, StorageError> {
        pending::find(self.connection, &self.migrations, requested)
    }
}

/// Fails if the schema is newer than this program, or has a layout from before the first release.
/// Changes nothing.
pub(crate) fn refuse_unknown(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    missing(connection).map(drop)
}

/// Fails unless the database has exactly the schema of this program. Changes nothing. `name` is the
/// name of the database in messages.
pub(crate) fn require_current(
    connection: &mut DatabaseConnection,
    name: &str,
) -> Result<(), StorageError> {
    require_register(connection, name)?;
    match missing(connection)?.into_iter().next() {
        Some(migration) => Err(StorageError::SchemaOlder {
            database: name.to_owned(),
            migration,
        }),
        None => environment::require_known_schema(connection).map(drop),
    }
}

/// Fails unless the database has tables of a register.
pub(crate) fn require_register(
    connection: &mut DatabaseConnection,
    name: &str,
) -> Result<(), StorageError> {
    if has_register(connection)? {
        Ok(())
    } else {
        Err(StorageError::NoRegister {
            database: name.to_owned(),
        })
    }
}

/// Whether the database has tables of a register, of any layout. Fails if another schema has
/// trainees: a register created here would hide their records.
fn has_register(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    if catalog::tables(connection)?
        .iter()
        .any(|table| table == MIGRATIONS_TABLE || table == TRAINEES)
    {
        return Ok(true);
    }
    match catalog::other_schema_with(connection, TRAINEES)? {
        Some(schema) => Err(StorageError::OtherSchema { schema }),
        None => Ok(false),
    }
}

/// The pending migrations of this program, oldest first.
fn missing(connection: &mut DatabaseConnection) -> Result<Vec<String>, StorageError> {
    pending::migrations(connection, &Migrations::embedded())
}

mod apply;
#[cfg(test)]
mod concurrency_tests;
mod locking;
#[cfg(test)]
mod next_migrations;
mod pending;
#[cfg(test)]
mod rebuilding;
#[cfg(test)]
mod tests;
