//! The schema's history, embedded in the program: forwards, back, and whether the database is ahead of it.
//!
//! What is to be done is looked for without a lock, and only what is to be done takes one. All migrations of one call are one
//! transaction under one lock: they are applied together or not at all, and once. Those that run outside a transaction
//! divide it (`outside.rs`).
//!
//! Knows nothing of what the migrations do.

use chrono::Utc;
use diesel::migration::{self, Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use self::locking::RetryPolicy;
pub use self::pending::Pending;
use crate::connection::{Access, Connections, DatabaseConnection};
use crate::environment::Unrecorded;
use crate::error::StorageError;
use crate::history::{Month, partitions};
use crate::store::migrations::apply::walk_migrations;
pub(crate) use crate::store::migrations::document_conversion::convert;
pub use crate::store::migrations::document_conversion::{Conversion, Progress};
use crate::tokens::Environment;
use crate::{catalog, change_generation, environment};

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// The table in which diesel records the migrations that are applied.
pub(crate) const MIGRATIONS_TABLE: &str = "__diesel_schema_migrations";

/// How far the schema is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal<'a> {
    /// To the newest migration of this program. A small register is converted to documents; a large one is refused.
    Newest,
    /// To the newest migration; a large register is left to be converted ([`crate::store::Store::convert`]).
    NewestUnconverted,
    /// To the migration of this name, such as `2026-01-05-000002_trainees` or its number alone. Those behind it are taken
    /// back, and what only they have room for is lost.
    Migration(&'a str),
    /// The same, unless a table with rows would be dropped by that.
    MigrationKeepingTables(&'a str),
}

impl<'a> Goal<'a> {
    /// The name of the migration, where the goal is one of its own.
    fn migration(self) -> Option<&'a str> {
        match self {
            Self::Newest | Self::NewestUnconverted => None,
            Self::Migration(name) | Self::MigrationKeepingTables(name) => Some(name),
        }
    }
}

/// The migrations that were applied and taken back, by their names and in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaChange {
    /// Applied now.
    pub applied: Vec<String>,
    /// Taken back now.
    pub taken_back: Vec<String>,
}

/// What a database was brought to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUp {
    /// What became of its schema.
    pub schema: SchemaChange,
    /// The recorded environment; nothing when the schema has no room for it, or nobody has said which one it is.
    pub environment: Option<Environment>,
    /// Whether all trainees are stored as documents.
    pub conversion: Conversion,
}

/// The migrations of one database, in any order.
type Listed<DB> = migration::Result<Vec<Box<dyn Migration<DB>>>>;

/// The migrations of each database, as the program holds them.
struct Migrations {
    postgres: Box<dyn Fn() -> Listed<Pg>>,
    sqlite: Box<dyn Fn() -> Listed<Sqlite>>,
}

impl Migrations {
    fn embedded() -> Self {
        Self { postgres: Box::new(|| POSTGRES.migrations()), sqlite: Box::new(|| SQLITE.migrations()) }
    }
}

/// Reads and changes the schema of one database.
pub(crate) struct Migrator<'a> {
    connection: &'a mut DatabaseConnection,
    /// Makes the connection for what runs outside a transaction, while the other one holds the lock. Without it there is no
    /// lock then, and nobody else may be at work on the schema.
    connections: Option<&'a Connections>,
    policy: RetryPolicy,
    migrations: Migrations,
}

/// Brings the schema of a database that nobody else uses to the goal.
pub(crate) fn bring_to(connection: &mut DatabaseConnection, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
    Migrator::new(connection).bring_to(goal)
}

/// As [`Migrator::set_up`], for a database that nobody else uses.
pub(crate) fn set_up(
    connection: &mut DatabaseConnection,
    goal: Goal<'_>,
    requested: Option<Environment>,
    unrecorded: Unrecorded,
) -> Result<SetUp, StorageError> {
    Migrator::new(connection).set_up(goal, requested, unrecorded)
}

impl<'a> Migrator<'a> {
    /// For a database that nobody else uses.
    pub(crate) fn new(connection: &'a mut DatabaseConnection) -> Self {
        Self { connection, connections: None, policy: RetryPolicy::default(), migrations: Migrations::embedded() }
    }

    /// For a database whose schema others may be changing too.
    pub(crate) fn with_connections(connection: &'a mut DatabaseConnection, connections: &'a Connections) -> Self {
        Self { connections: Some(connections), ..Self::new(connection) }
    }

    /// Brings the schema to the goal.
    pub(crate) fn bring_to(&mut self, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
        let change = self.bring_schema_to(goal)?;
        self.make_partitions()?;
        Ok(change)
    }

    fn bring_schema_to(&mut self, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
        let is_done = self.retry_read(|connection, migrations| {
            Ok(pending::migrations(connection, migrations, goal)?.is_empty()
                && !document_conversion::is_due(document_conversion::state(connection)?, connection, goal)?)
        })?;
        if is_done {
            return Ok(SchemaChange::default());
        }
        let (change, ()) = self.migrate(goal, |_| Ok(()), |_| Ok(()))?;
        Ok(change)
    }

    /// Brings the schema to the goal and the register to its environment, both or neither.
    pub(crate) fn set_up(
        &mut self,
        goal: Goal<'_>,
        requested: Option<Environment>,
        unrecorded: Unrecorded,
    ) -> Result<SetUp, StorageError> {
        let set_up = self.set_up_schema(goal, requested, unrecorded)?;
        self.make_partitions()?;
        Ok(set_up)
    }

    fn set_up_schema(
        &mut self,
        goal: Goal<'_>,
        requested: Option<Environment>,
        unrecorded: Unrecorded,
    ) -> Result<SetUp, StorageError> {
        let found = self.retry_read(|connection, migrations| {
            environment::require_same(environment::recorded(connection)?, requested)?;
            if !pending::migrations(connection, migrations, goal)?.is_empty()
                || environment::is_due(connection, unrecorded)?
                || environment::schema_is_due(connection)?
                || change_generation::is_due(connection)?
            {
                return Ok(None);
            }
            let conversion = document_conversion::state(connection)?;
            if document_conversion::is_due(conversion, connection, goal)? {
                return Ok(None);
            }
            let environment = environment::recorded(connection)?;
            Ok(Some(SetUp { schema: SchemaChange::default(), environment, conversion }))
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        let (schema, (environment, conversion)) = self.migrate(
            goal,
            // Going back may drop the record.
            |connection| environment::require_same(environment::recorded(connection)?, requested),
            |connection| {
                let environment = environment::resolve(connection, requested, unrecorded)?;
                environment::record_schema(connection)?;
                change_generation::record(connection)?;
                Ok((environment, document_conversion::state(connection)?))
            },
        )?;
        Ok(SetUp { schema, environment, conversion })
    }

    /// Makes the partitions of the history for the present month and for those to come. Where somebody is in the way, a server does
    /// so later, and what is written meanwhile has its place in the default partition.
    fn make_partitions(&mut self) -> Result<(), StorageError> {
        let present = Month::of(Utc::now().date_naive());
        if partitions::missing(self.connection, present)?.is_empty() {
            return Ok(());
        }
        self.connection.begin(Access::Write)?;
        let outcome = partitions::make_ahead(self.connection, present);
        match outcome {
            Ok(_) => Ok(self.connection.commit()?),
            Err(error) => {
                self.connection.roll_back()?;
                if !error.is_temporary() || matches!(error, StorageError::DatabaseFault(_)) {
                    return Err(error);
                }
                log::info!("partitions of coming months are not made yet: {error}");
                Ok(())
            }
        }
    }

    /// What [`Migrator::set_up`] to the newest migration, and the conversion and the views that may follow it, would do.
    /// Changes nothing, and takes no lock but those of reading.
    pub(crate) fn pending(
        &mut self,
        requested: Option<Environment>,
        unrecorded: Unrecorded,
    ) -> Result<Pending, StorageError> {
        pending::find(self.connection, &self.migrations, requested, unrecorded)
    }

    /// Removes the tables of before the conversion to documents; nothing when that was done.
    pub(crate) fn finish(&mut self) -> Result<(), StorageError> {
        match self.retry_read(|connection, _| document_conversion::state(connection))? {
            Conversion::NotBegun | Conversion::Finished => Ok(()),
            Conversion::Begun { .. } | Conversion::Converted => {
                self.with_schema_lock(|connection, _| document_conversion::finish(connection))
            }
        }
    }

    /// Makes the views over the documents anew, unless they show the fields of this program.
    pub(crate) fn remake_views(&mut self) -> Result<(), StorageError> {
        if self.retry_read(|connection, _| views_are_current(connection))? {
            return Ok(());
        }
        self.with_schema_lock(|connection, _| views::make(connection))
    }

    /// Goes to the goal: first what runs in a transaction, with `before` and `after` in it, then what does not, and so on.
    ///
    /// `before` and `after` may run more than once, and must be right each time.
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
                    Goal::Newest | Goal::NewestUnconverted | Goal::Migration(_) => Vec::new(),
                };
                if let Some(name) = goal.migration() {
                    document_conversion::before_migrations(connection, name)?;
                }
                let walked = walk_migrations(connection, migrations, goal)?;
                if !walked.change.applied.is_empty() && document_conversion::state(connection)? != Conversion::NotBegun
                {
                    views::make(connection)?;
                }
                document_conversion::after_migrations(connection, goal)?;
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

/// Fails when one of the tables is gone, by which the transaction is undone.
fn require_tables(connection: &mut DatabaseConnection, mut tables: Vec<String>) -> Result<(), StorageError> {
    let left = catalog::tables(connection)?;
    tables.retain(|table| !left.contains(table));
    if tables.is_empty() { Ok(()) } else { Err(StorageError::RecordsWouldBeLost { tables: tables.join(", ") }) }
}

/// Removes the tables of before the conversion to documents, of a database that nobody else uses.
pub(crate) fn finish(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    Migrator::new(connection).finish()
}

/// Whether the views show the fields of this program, or there is nothing to show.
fn views_are_current(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    match document_conversion::state(connection)? {
        Conversion::NotBegun => Ok(true),
        Conversion::Begun { .. } | Conversion::Converted | Conversion::Finished => views::are_current(connection),
    }
}

/// Fails when the schema is ahead of this program; changes nothing.
pub(crate) fn refuse_newer(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    missing(connection).map(drop)
}

/// Fails unless the database has exactly the schema of this program; changes nothing. `name` is what to call it.
pub(crate) fn require_current(connection: &mut DatabaseConnection, name: &str) -> Result<(), StorageError> {
    require_register(connection, name)?;
    match missing(connection)?.into_iter().next() {
        Some(migration) => Err(StorageError::SchemaOlder { database: name.to_owned(), migration }),
        None => {
            environment::require_known_schema(connection)?;
            require_converted(connection)
        }
    }
}

/// Fails unless migrations were applied to the database.
pub(crate) fn require_register(connection: &mut DatabaseConnection, name: &str) -> Result<(), StorageError> {
    if has_register(connection)? { Ok(()) } else { Err(StorageError::NoRegister { database: name.to_owned() }) }
}

/// Whether migrations were applied to the database. Fails where there are trainees in another schema: a register that was
/// made here would hide the records of that one.
fn has_register(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    if catalog::tables(connection)?.iter().any(|table| table == MIGRATIONS_TABLE) {
        return Ok(true);
    }
    match catalog::other_schema_with(connection, "trainees")? {
        Some(schema) => Err(StorageError::OtherSchema { schema }),
        None => Ok(false),
    }
}

/// Fails while trainees have no document.
pub(crate) fn require_converted(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    match document_conversion::state(connection)? {
        Conversion::Begun { left } => Err(StorageError::NotConverted { trainees: left }),
        Conversion::NotBegun | Conversion::Converted | Conversion::Finished => Ok(()),
    }
}

/// The migrations of this program that are not applied, oldest first.
fn missing(connection: &mut DatabaseConnection) -> Result<Vec<String>, StorageError> {
    pending::migrations(connection, &Migrations::embedded(), Goal::Newest)
}

mod apply;
#[cfg(test)]
mod concurrency_tests;
#[cfg(test)]
mod conversion;
mod document_conversion;
mod locking;
mod non_transactional;
mod pending;
#[cfg(test)]
mod rebuilding;
#[cfg(test)]
mod tests;
mod views;
