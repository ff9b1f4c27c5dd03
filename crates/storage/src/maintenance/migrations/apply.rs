//! Finds the applied and the pending migrations, and applies or reverts them one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use database::catalog;
use database::connection::DatabaseConnection;
use diesel::backend::Backend;
use diesel::connection::{InstrumentationEvent, get_default_instrumentation};
use diesel::migration::Migration;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_migrations::MigrationHarness;

use super::{Goal, Listed, MIGRATIONS_TABLE, Migrations, SchemaChange, TRAINEES, has_register};
use crate::error::{DatabaseError, StorageError};

/// Returns the first kind of broken reference with its number of rows.
const BROKEN_REFERENCES_SQL: &str = "SELECT \"table\", parent AS owner, count(*) AS \"rows\" \
     FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 1";

/// References of `table` to missing rows of `owner`.
#[derive(QueryableByName)]
struct BrokenReference {
    #[diesel(sql_type = Text)]
    table: String,
    #[diesel(sql_type = Text)]
    owner: String,
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Text)]
    version: String,
}

/// The migrations of one database, oldest first, each with whether it is applied.
pub(super) type Known<DB> = Vec<(Box<dyn Migration<DB>>, bool)>;

/// The result of migrating in one transaction.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) change: SchemaChange,
    /// Whether the next migration runs outside a transaction.
    pub(super) stopped: bool,
}

/// The version of the first migration, which creates the whole register.
const BASELINE: &str = "20261126000001";

/// The applied versions. Unlike diesel's harness, this does not create their table.
///
/// # Errors
///
/// [`StorageError::LayoutBeforeRelease`] if the database has a register, but not the first
/// migration of the first release.
pub(super) fn applied(connection: &mut DatabaseConnection) -> Result<Vec<String>, StorageError> {
    if !has_register(connection)? {
        return Ok(Vec::new());
    }
    let tables = catalog::tables(connection)?;
    let mut applied = Vec::new();
    if tables.iter().any(|table| table == MIGRATIONS_TABLE) {
        let query = diesel::sql_query(format!(
            "SELECT version FROM {MIGRATIONS_TABLE} ORDER BY version"
        ));
        applied.extend(
            query
                .load::<Version>(connection)?
                .into_iter()
                .map(|row| row.version),
        );
    }
    // Only diesel's table exists.
    let is_new = applied.is_empty() && !tables.iter().any(|table| table == TRAINEES);
    if is_new || applied.iter().any(|version| version == BASELINE) {
        Ok(applied)
    } else {
        Err(StorageError::LayoutBeforeRelease {
            database: catalog::database_name(connection)?,
        })
    }
}

/// Marks which migrations are applied. Fails if an applied version is not among them.
pub(super) fn known<DB: Backend>(
    migrations: Listed<DB>,
    applied: &[String],
) -> Result<Known<DB>, StorageError> {
    let mut migrations = migrations.map_err(StorageError::Migration)?;
    migrations.sort_unstable_by(|one, other| one.name().version().cmp(&other.name().version()));
    let versions: Vec<_> = migrations
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    // Reports the newest of the unknown versions.
    if let Some(unknown) = applied
        .iter()
        .rev()
        .find(|applied| !versions.contains(applied))
    {
        let newest = versions.last().cloned().unwrap_or_default();
        return Err(StorageError::SchemaNewer {
            version: unknown.clone(),
            newest,
        });
    }
    Ok(migrations
        .into_iter()
        .zip(versions)
        .map(|(migration, version)| (migration, applied.contains(&version)))
        .collect())
}

/// The number of migrations that are applied at the goal, counted from the oldest.
pub(super) fn kept<DB: Backend>(
    migrations: &Known<DB>,
    goal: Goal<'_>,
) -> Result<usize, StorageError> {
    match goal {
        Goal::Newest => Ok(migrations.len()),
        Goal::Migration(name) | Goal::MigrationKeepingTables(name) => {
            Ok(1 + position(migrations, name)?)
        }
    }
}

/// The position of the migration with this name, or with this number with or without dashes.
fn position<DB: Backend>(migrations: &Known<DB>, name: &str) -> Result<usize, StorageError> {
    let number = name.split('_').next().unwrap_or_default().replace('-', "");
    let found = migrations.iter().position(|(migration, _)| {
        migration.name().to_string() == name
            || (!name.contains('_') && migration.name().version().to_string() == number)
    });
    found.ok_or_else(|| {
        let known: Vec<_> = migrations
            .iter()
            .map(|(migration, _)| migration.name().to_string())
            .collect();
        StorageError::UnknownMigration {
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}

/// Migrates in the open transaction, up to the goal or to the first migration that runs outside a
/// transaction.
pub(super) fn walk_migrations(
    connection: &mut DatabaseConnection,
    migrations: &Migrations,
    goal: Goal<'_>,
) -> Result<Walked, StorageError> {
    let applied = applied(connection)?;
    match connection {
        DatabaseConnection::Postgres(inner) => walk(
            inner,
            &known((migrations.postgres)(), &applied)?,
            goal,
            |migration| migration.metadata().run_in_transaction(),
        ),
        // On SQLite each migration runs in the transaction, because it blocks all writes in any
        // case.
        DatabaseConnection::Sqlite(inner) => {
            let walked = walk(
                inner,
                &known((migrations.sqlite)(), &applied)?,
                goal,
                |_| true,
            )?;
            require_references(inner, &walked)?;
            Ok(walked)
        }
    }
}

/// Fails if the migrations left references to missing rows.
fn require_references(
    connection: &mut SqliteConnection,
    walked: &Walked,
) -> Result<(), StorageError> {
    if walked.change == SchemaChange::default() {
        // No migration ran, so the check of all tables is not needed.
        return Ok(());
    }
    let broken = diesel::sql_query(BROKEN_REFERENCES_SQL)
        .get_result::<BrokenReference>(connection)
        .optional()?;
    match broken {
        Some(BrokenReference { table, owner, rows }) => {
            Err(StorageError::BrokenReferences { table, owner, rows })
        }
        None => Ok(()),
    }
}

/// Reverts the migrations after the goal, newest first. Then applies the pending migrations up to
/// the goal, or up to the first one that `runs_here` rejects.
fn walk<DB: Backend, C: MigrationHarness<DB> + Connection>(
    connection: &mut C,
    migrations: &Known<DB>,
    goal: Goal<'_>,
    runs_here: impl Fn(&dyn Migration<DB>) -> bool,
) -> Result<Walked, StorageError> {
    let kept = kept(migrations, goal)?;
    let mut walked = Walked::default();
    let taken_back = migrations
        .iter()
        .skip(kept)
        .rev()
        .filter(|(_, applied)| *applied);
    let pending = migrations.iter().take(kept).filter(|(_, applied)| !applied);
    let applied = pending
        .clone()
        .take_while(|(migration, _)| runs_here(migration));
    walked.stopped = pending.count() > applied.clone().count();
    for (migration, _) in taken_back {
        with_harness(connection, |connection| {
            connection.revert_migration(migration)
        })?;
        walked.change.taken_back.push(migration.name().to_string());
    }
    for (migration, _) in applied {
        with_harness(connection, |connection| connection.run_migration(migration))?;
        walked.change.applied.push(migration.name().to_string());
    }
    Ok(walked)
}

/// Runs a migration with diesel's harness. The harness passes on only the text of an error, and the
/// text of a lock timeout depends on the language. This function therefore inspects the errors of
/// the statements.
pub(super) fn with_harness<DB: Backend, C: MigrationHarness<DB> + Connection, T>(
    connection: &mut C,
    run: impl FnOnce(&mut C) -> diesel::migration::Result<T>,
) -> Result<T, StorageError> {
    let met_contention = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&met_contention);
    connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::FinishQuery {
            error: Some(error), ..
        } = event
            && DatabaseError::is_contention(error)
        {
            noted.store(true, Ordering::Relaxed);
        }
    });
    let outcome = run(connection);
    connection.set_instrumentation(get_default_instrumentation());
    outcome.map_err(|error| {
        if met_contention.load(Ordering::Relaxed) {
            StorageError::Database(DatabaseError::Busy)
        } else {
            StorageError::Migration(error)
        }
    })
}
