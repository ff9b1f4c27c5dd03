//! Migrations of the schema, embedded in the program: applies them, reverts them, and checks that
//! the database is not newer than the program.
//!
//! Pending migrations are searched for without a lock; only applying them takes one. All migrations
//! of a call run in one transaction under one lock, so they are applied together or not at all, and
//! only once. Migrations that run outside a transaction divide it (`non_transactional.rs`).
//!
//! Independent of the content of the migrations.

use chrono::Utc;
use database::catalog;
use database::connection::{Access, Connections, DatabaseConnection};
use diesel::migration::{self, Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use self::locking::RetryPolicy;
pub use self::pending::Pending;
use crate::base::token::Environment;
use crate::error::{DatabaseError, StorageError};
use crate::maintenance::environment;
use crate::maintenance::migrations::apply::walk_migrations;
use crate::records::change_generation;
use crate::records::history::{Month, partitions};

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// diesel's table of applied migrations.
pub(crate) const MIGRATIONS_TABLE: &str = "__diesel_schema_migrations";
/// A table that every layout of a register has.
const TRAINEES: &str = "trainees";

/// The goal of a schema change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal<'a> {
    /// The newest migration of this program.
    Newest,
    /// The migration with this name, such as `2026-11-26-000001_register` or its number alone.
    /// Later migrations are reverted, and data that only they can store is lost.
    Migration(&'a str),
    /// Like `Migration`, but fails if a table with rows would be dropped.
    MigrationKeepingTables(&'a str),
}

/// The names of applied and reverted migrations, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaChange {
    /// The applied migrations.
    pub applied: Vec<String>,
    /// The reverted migrations.
    pub taken_back: Vec<String>,
}

/// The result of [`Store::set_up`](crate::store::Store::set_up).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUp {
    /// The change of the schema.
    pub schema: SchemaChange,
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

/// Reads and changes the schema of one database.
pub(crate) struct Migrator<'a> {
    connection: &'a mut DatabaseConnection,
    /// Opens the connection for migrations outside a transaction, while the other connection holds
    /// the lock. With `None`, these migrations run without the lock, so no other process may change
    /// the schema.
    connections: Option<&'a Connections>,
    policy: RetryPolicy,
    migrations: Migrations,
}

/// Brings the schema of an otherwise unused database to the goal.
pub(crate) fn bring_to(
    connection: &mut DatabaseConnection,
    goal: Goal<'_>,
) -> Result<SchemaChange, StorageError> {
    Migrator::new(connection).bring_to(goal)
}

/// Like [`Migrator::set_up`], for an otherwise unused database.
pub(crate) fn set_up(
    connection: &mut DatabaseConnection,
    goal: Goal<'_>,
    requested: Option<Environment>,
) -> Result<SetUp, StorageError> {
    Migrator::new(connection).set_up(goal, requested)
}

impl<'a> Migrator<'a> {
    /// A migrator for an otherwise unused database.
    pub(crate) fn new(connection: &'a mut DatabaseConnection) -> Self {
        Self {
            connection,
            connections: None,
            policy: RetryPolicy::default(),
            migrations: Migrations::embedded(),
        }
    }

    /// A migrator for a database whose schema other processes may change at the same time.
    pub(crate) fn with_connections(
        connection: &'a mut DatabaseConnection,
        connections: &'a Connections,
    ) -> Self {
        Self {
            connections: Some(connections),
            ..Self::new(connection)
        }
    }

    /// Brings the schema to the goal, and creates missing partitions of the history.
    pub(crate) fn bring_to(&mut self, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
        let change = self.bring_schema_to(goal)?;
        self.make_partitions()?;
        Ok(change)
    }

    /// Brings the schema to the goal. Takes no lock if it has reached the goal.
    fn bring_schema_to(&mut self, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
        let is_done = self.retry_read(|connection, migrations| {
            Ok(pending::migrations(connection, migrations, goal)?.is_empty())
        })?;
        if is_done {
            return Ok(SchemaChange::default());
        }
        let (change, ()) = self.migrate(goal, |_| Ok(()), |_| Ok(()))?;
        Ok(change)
    }

    /// Brings the schema to the goal and records the environment, both or neither.
    pub(crate) fn set_up(
        &mut self,
        goal: Goal<'_>,
        requested: Option<Environment>,
    ) -> Result<SetUp, StorageError> {
        let set_up = self.set_up_schema(goal, requested)?;
        self.make_partitions()?;
        Ok(set_up)
    }

    /// Brings the schema to the goal and records the settings. Takes no lock if nothing is to be
    /// done.
    fn set_up_schema(
        &mut self,
        goal: Goal<'_>,
        requested: Option<Environment>,
    ) -> Result<SetUp, StorageError> {
        // `None` if something is to be done.
        let found = self.retry_read(|connection, migrations| {
            environment::require_same(environment::recorded(connection)?, requested)?;
            if !pending::migrations(connection, migrations, goal)?.is_empty()
                || environment::schema_is_due(connection)?
                || change_generation::is_due(connection)?
            {
                return Ok(None);
            }
            let Some(environment) = environment::recorded(connection)? else {
                return Ok(None);
            };
            Ok(Some(SetUp {
                schema: SchemaChange::default(),
                environment,
            }))
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        let (schema, environment) = self.migrate(
            goal,
            // Reverting migrations may drop the setting.
            |connection| environment::require_same(environment::recorded(connection)?, requested),
            |connection| {
                let environment = environment::resolve(connection, requested)?;
                environment::record_schema(connection)?;
                change_generation::record(connection)?;
                Ok(environment)
            },
        )?;
        Ok(SetUp {
            schema,
            environment,
        })
    }

    /// Creates the partitions of the history for the present and the next months. If a lock
    /// prevents it, a server creates them later; until then, rows go to the default partition.
    fn make_partitions(&mut self) -> Result<(), StorageError> {
        let present = Month::from_day(Utc::now().date_naive());
        if partitions::missing(self.connection, present)?.is_empty() {
            return Ok(());
        }
        self.connection.begin(Access::Write)?;
        let outcome = partitions::make_ahead(self.connection, present);
        match outcome {
            Ok(_) => Ok(self.connection.commit()?),
            Err(error) => {
                self.connection.roll_back()?;
                let is_fault = matches!(
                    error,
                    StorageError::Database(DatabaseError::DatabaseFault(_))
                );
                if !error.is_temporary() || is_fault {
                    return Err(error);
                }
                log::info!("future history partitions not created; the server retries: {error}");
                Ok(())
            }
        }
    }

    /// The changes that [`Migrator::set_up`] to the newest migration would make. Changes nothing,
    /// and takes only read locks.
    pub(crate) fn pending(
        &mut self,
        requested: Option<Environment>,
    ) -> Result<Pending, StorageError> {
        pending::find(self.connection, &self.migrations, requested)
    }

    /// Migrates to the goal. Runs `before`, migrations and `after` in one transaction. If the next
    /// migration must run outside a transaction, runs that migration, then begins again. `before`
    /// and `after` may therefore run more than once. Also returns the result of the last `after`.
    fn migrate<T>(
        &mut self,
        goal: Goal<'_>,
        mut before: impl FnMut(&mut DatabaseConnection) -> Result<(), StorageError>,
        mut after: impl FnMut(&mut DatabaseConnection) -> Result<T, StorageError>,
    ) -> Result<(SchemaChange, T), StorageError> {
        let mut change = SchemaChange::default();
        loop {
            let (walked, answer) = self.with_schema_lock(|connection, migrations| {
                before(connection)?;
                let filled = match goal {
                    Goal::MigrationKeepingTables(_) => filled_tables(connection)?,
                    Goal::Newest | Goal::Migration(_) => Vec::new(),
                };
                let walked = walk_migrations(connection, migrations, goal)?;
                require_tables(connection, filled)?;
                Ok((walked, after(connection)?))
            })?;
            change.applied.extend(walked.change.applied);
            change.taken_back.extend(walked.change.taken_back);
            if !walked.stopped {
                return Ok((change, answer));
            }
            change.applied.extend(self.apply_outside(goal)?);
        }
    }
}

/// The tables that have rows.
fn filled_tables(connection: &mut DatabaseConnection) -> Result<Vec<String>, StorageError> {
    let mut filled = Vec::new();
    for table in catalog::tables(connection)? {
        if catalog::has_rows(connection, &table)? {
            filled.push(table);
        }
    }
    Ok(filled)
}

/// Fails if one of the tables is missing, so that the caller rolls the transaction back.
fn require_tables(
    connection: &mut DatabaseConnection,
    mut tables: Vec<String>,
) -> Result<(), StorageError> {
    let left = catalog::tables(connection)?;
    tables.retain(|table| !left.contains(table));
    if tables.is_empty() {
        Ok(())
    } else {
        Err(StorageError::RecordsWouldBeLost {
            tables: tables.join(", "),
        })
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
    pending::migrations(connection, &Migrations::embedded(), Goal::Newest)
}

mod apply;
#[cfg(test)]
mod concurrency_tests;
mod locking;
#[cfg(test)]
mod next_migrations;
mod non_transactional;
mod pending;
#[cfg(test)]
mod rebuilding;
#[cfg(test)]
mod tests;
