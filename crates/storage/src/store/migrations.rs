//! The schema's history, embedded in the program: forwards, back, and whether the database is ahead of it.
//!
//! All migrations of one call are one transaction under one lock: they are applied together or not at all, and once.
//! Knows nothing of what the migrations do.

use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

pub(crate) use self::records::convert;
pub use self::records::{Conversion, Progress};
use crate::catalogue;
use crate::connection::{Access, DatabaseConnection};
use crate::environment::{self, Unrecorded};
use crate::error::StorageError;
use crate::tokens::Environment;

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// Takes PostgreSQL's lock for migrating. The number means nothing; it must only differ from the program's other locks.
const POSTGRES_LOCK_SQL: &str = "SELECT pg_advisory_xact_lock(7203311846204)";

/// The table in which diesel records the migrations that are applied.
pub(crate) const MIGRATIONS_TABLE: &str = "__diesel_schema_migrations";

/// A kind of reference to rows that do not exist, and how many rows make one.
const BROKEN_REFERENCES_SQL: &str = "SELECT \"table\", parent AS owner, count(*) AS \"rows\" \
     FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 1";

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

#[derive(QueryableByName)]
struct BrokenReference {
    #[diesel(sql_type = Text)]
    table: String,
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

/// Brings the schema to the goal.
pub(crate) fn bring_to(connection: &mut DatabaseConnection, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
    in_transaction(connection, |connection| {
        let change = walk_to(connection, goal)?;
        records::after_migrations(connection, goal)?;
        Ok(change)
    })
}

/// Removes the tables of before the conversion to documents; nothing when that was done.
pub(crate) fn finish(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    in_transaction(connection, records::finish)
}

/// Makes the views over the documents anew.
pub(crate) fn remake_views(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    in_transaction(connection, |connection| match records::state(connection)? {
        Conversion::NotBegun => Ok(()),
        Conversion::Begun { .. } | Conversion::Converted | Conversion::Finished => views::make(connection),
    })
}

/// Brings the schema to the goal and the register to its environment, both or neither.
pub(crate) fn set_up(
    connection: &mut DatabaseConnection,
    goal: Goal<'_>,
    requested: Option<Environment>,
    unrecorded: Unrecorded,
) -> Result<SetUp, StorageError> {
    in_transaction(connection, |connection| {
        // Going back may drop the record.
        environment::require_same(environment::recorded(connection)?, requested)?;
        let schema = walk_to(connection, goal)?;
        records::after_migrations(connection, goal)?;
        let environment = environment::resolve(connection, requested, unrecorded)?;
        environment::record_schema(connection)?;
        let conversion = records::state(connection)?;
        Ok(SetUp { schema, environment, conversion })
    })
}

/// Does work on the schema in one transaction, which is the only one of its kind.
///
/// On SQLite a table is rebuilt by dropping it, and while foreign keys are enforced, dropping a table first deletes its
/// rows, and with them all rows that refer to them by `ON DELETE CASCADE`. So they are not enforced meanwhile, which can be
/// set outside a transaction only; [`walk_on_sqlite`] checks them instead.
fn in_transaction<T>(
    connection: &mut DatabaseConnection,
    work: impl FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    enforce_foreign_keys(connection, "OFF")?;
    let outcome = run_in_transaction(connection, work);
    let enforced = enforce_foreign_keys(connection, "ON");
    let answer = outcome?;
    enforced.map(|()| answer)
}

fn run_in_transaction<T>(
    connection: &mut DatabaseConnection,
    work: impl FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    connection.begin(Access::Write)?;
    if let DatabaseConnection::Postgres(inner) = connection
        && let Err(error) = inner.batch_execute(POSTGRES_LOCK_SQL)
    {
        let _ = connection.roll_back();
        return Err(error.into());
    }
    match work(connection) {
        Ok(answer) => {
            connection.commit()?;
            Ok(answer)
        }
        Err(error) => {
            // What cannot be rolled back is not committed either, and the connection is not used again.
            let _ = connection.roll_back();
            Err(error)
        }
    }
}

/// Says whether SQLite enforces foreign keys; PostgreSQL always does, and alters tables in place.
fn enforce_foreign_keys(connection: &mut DatabaseConnection, switch: &str) -> Result<(), StorageError> {
    let DatabaseConnection::Sqlite(inner) = connection else { return Ok(()) };
    Ok(inner.batch_execute(&format!("PRAGMA foreign_keys = {switch}"))?)
}

fn walk_to(connection: &mut DatabaseConnection, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
    if let Goal::Migration(name) = goal {
        records::before_migrations(connection, name)?;
    }
    let change = walk_migrations(connection, goal)?;
    if !change.applied.is_empty() && records::state(connection)? != Conversion::NotBegun {
        views::make(connection)?;
    }
    Ok(change)
}

fn walk_migrations(connection: &mut DatabaseConnection, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
    match connection {
        DatabaseConnection::Postgres(inner) => {
            walk(inner, MigrationSource::<diesel::pg::Pg>::migrations(&POSTGRES), goal)
        }
        DatabaseConnection::Sqlite(inner) => {
            walk_on_sqlite(inner, MigrationSource::<diesel::sqlite::Sqlite>::migrations(&SQLITE), goal)
        }
    }
}

/// As [`walk`], and refuses what leaves rows that refer to missing ones.
fn walk_on_sqlite(
    connection: &mut SqliteConnection,
    embedded: diesel::migration::Result<Vec<Box<dyn Migration<diesel::sqlite::Sqlite>>>>,
    goal: Goal<'_>,
) -> Result<SchemaChange, StorageError> {
    let change = walk(connection, embedded, goal)?;
    if change == SchemaChange::default() {
        return Ok(change);
    }
    let broken = diesel::sql_query(BROKEN_REFERENCES_SQL).get_result::<BrokenReference>(connection).optional()?;
    match broken {
        Some(BrokenReference { table, owner, rows }) => Err(StorageError::BrokenReferences { table, owner, rows }),
        None => Ok(change),
    }
}

/// Fails when the schema is ahead of this program; changes nothing.
pub(crate) fn refuse_newer(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    match connection {
        DatabaseConnection::Postgres(inner) => {
            known(inner, MigrationSource::<diesel::pg::Pg>::migrations(&POSTGRES)).map(drop)
        }
        DatabaseConnection::Sqlite(inner) => {
            known(inner, MigrationSource::<diesel::sqlite::Sqlite>::migrations(&SQLITE)).map(drop)
        }
    }
}

/// Fails unless the database has exactly the schema of this program; changes nothing. `name` is what to call it.
pub(crate) fn require_current(connection: &mut DatabaseConnection, name: &str) -> Result<(), StorageError> {
    // Looking for what is applied would make this table.
    if !catalogue::tables(connection)?.iter().any(|table| table == MIGRATIONS_TABLE) {
        return Err(StorageError::NoRegister { database: name.to_owned() });
    }
    let missing = match connection {
        DatabaseConnection::Postgres(inner) => {
            first_missing(&known(inner, MigrationSource::<diesel::pg::Pg>::migrations(&POSTGRES))?)
        }
        DatabaseConnection::Sqlite(inner) => {
            first_missing(&known(inner, MigrationSource::<diesel::sqlite::Sqlite>::migrations(&SQLITE))?)
        }
    };
    match missing {
        Some(migration) => Err(StorageError::SchemaOlder { database: name.to_owned(), migration }),
        None => {
            environment::require_known_schema(connection)?;
            require_converted(connection)
        }
    }
}

/// Fails while trainees have no document.
pub(crate) fn require_converted(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    match records::state(connection)? {
        Conversion::Begun { left } => Err(StorageError::NotConverted { trainees: left }),
        Conversion::NotBegun | Conversion::Converted | Conversion::Finished => Ok(()),
    }
}

fn first_missing<DB: Backend>(migrations: &Known<DB>) -> Option<String> {
    migrations.iter().find(|(_, applied)| !applied).map(|(migration, _)| migration.name().to_string())
}

/// The migrations of one database, oldest first, each with whether it is applied.
type Known<DB> = Vec<(Box<dyn Migration<DB>>, bool)>;

fn known<DB: Backend, C: MigrationHarness<DB>>(
    connection: &mut C,
    embedded: diesel::migration::Result<Vec<Box<dyn Migration<DB>>>>,
) -> Result<Known<DB>, StorageError> {
    let mut migrations = embedded.map_err(StorageError::Migration)?;
    migrations.sort_unstable_by(|one, other| one.name().version().cmp(&other.name().version()));
    let applied = connection.applied_migrations().map_err(StorageError::Migration)?;
    let unknown = applied.iter().find(|applied| migrations.iter().all(|known| known.name().version() != **applied));
    if let Some(unknown) = unknown {
        let newest = migrations.last().map(|newest| newest.name().version().to_string()).unwrap_or_default();
        return Err(StorageError::SchemaNewer { version: unknown.to_string(), newest });
    }
    Ok(migrations
        .into_iter()
        .map(|migration| {
            let is_applied = applied.contains(&migration.name().version());
            (migration, is_applied)
        })
        .collect())
}

fn walk<DB: Backend, C: MigrationHarness<DB> + SimpleConnection>(
    connection: &mut C,
    embedded: diesel::migration::Result<Vec<Box<dyn Migration<DB>>>>,
    goal: Goal<'_>,
) -> Result<SchemaChange, StorageError> {
    let migrations = known(connection, embedded)?;
    let kept = match goal {
        Goal::Newest | Goal::NewestUnconverted => migrations.len(),
        Goal::Migration(name) => 1 + position(&migrations, name)?,
    };
    let mut change = SchemaChange::default();
    let changes = |(at, (_, applied)): (usize, &(_, bool))| (at < kept) != *applied;
    if migrations.iter().enumerate().any(changes) {
        // A table that a view shows can be neither rebuilt on SQLite nor altered freely on PostgreSQL.
        connection.batch_execute(views::REMOVE_SQL)?;
    }
    for (migration, _) in migrations.iter().skip(kept).rev().filter(|(_, applied)| *applied) {
        connection.revert_migration(migration).map_err(StorageError::Migration)?;
        change.taken_back.push(migration.name().to_string());
    }
    for (migration, _) in migrations.iter().take(kept).filter(|(_, applied)| !applied) {
        connection.run_migration(migration).map_err(StorageError::Migration)?;
        change.applied.push(migration.name().to_string());
    }
    Ok(change)
}

/// Where the migration of that name stands. Its number is enough, with or without dashes.
fn position<DB: Backend>(migrations: &Known<DB>, name: &str) -> Result<usize, StorageError> {
    let number = name.split('_').next().unwrap_or_default().replace('-', "");
    let found = migrations.iter().position(|(migration, _)| {
        migration.name().to_string() == name
            || (!name.contains('_') && migration.name().version().to_string() == number)
    });
    found.ok_or_else(|| {
        let known: Vec<_> = migrations.iter().map(|(migration, _)| migration.name().to_string()).collect();
        StorageError::UnknownMigration { name: name.to_owned(), known: known.join(", ") }
    })
}

#[cfg(test)]
mod conversion;
#[cfg(test)]
mod rebuilding;
mod records;
#[cfg(test)]
mod tests;
mod views;
