//! Finds the applied and the pending migrations, and applies them one after the other.

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

use super::{Listed, MIGRATIONS_TABLE, Migrations, TRAINEES, has_register};
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

/// The migrations that are not applied, oldest first. Fails if an applied version is not among the
/// migrations.
pub(super) fn pending<DB: Backend>(
    migrations: Listed<DB>,
    applied: &[String],
) -> Result<Vec<Box<dyn Migration<DB>>>, StorageError> {
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
        return Err(StorageError::SchemaNewer {
            version: unknown.clone(),
        });
    }
    Ok(migrations
        .into_iter()
        .zip(versions)
        .filter(|(_, version)| !applied.contains(version))
        .map(|(migration, _)| migration)
        .collect())
}

/// Applies the pending migrations in the open transaction, and returns their names.
pub(super) fn apply_pending(
    connection: &mut DatabaseConnection,
    migrations: &Migrations,
) -> Result<Vec<String>, StorageError> {
    let applied = applied(connection)?;
    match connection {
        DatabaseConnection::Postgres(inner) => {
            run_all(inner, &pending((migrations.postgres)(), &applied)?)
        }
        DatabaseConnection::Sqlite(inner) => {
            let names = run_all(inner, &pending((migrations.sqlite)(), &applied)?)?;
            // The check reads all tables, so it is skipped if no migration ran.
            if !names.is_empty() {
                require_references(inner)?;
            }
            Ok(names)
        }
    }
}

/// Fails if the migrations left references to missing rows.
fn require_references(connection: &mut SqliteConnection) -> Result<(), StorageError> {
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

/// Runs the migrations one after the other, and returns their names.
fn run_all<DB: Backend, C: MigrationHarness<DB> + Connection>(
    connection: &mut C,
    migrations: &[Box<dyn Migration<DB>>],
) -> Result<Vec<String>, StorageError> {
    let mut names = Vec::with_capacity(migrations.len());
    for migration in migrations {
        run_migration(connection, migration.as_ref())?;
        names.push(migration.name().to_string());
    }
    Ok(names)
}

/// Runs a migration with diesel's harness. The harness passes on only the text of an error, and the
/// text of a lock timeout depends on the language. This function therefore inspects the errors of
/// the statements.
fn run_migration<DB: Backend, C: MigrationHarness<DB> + Connection>(
    connection: &mut C,
    migration: &dyn Migration<DB>,
) -> Result<(), StorageError> {
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
    let outcome = connection.run_migration(migration);
    connection.set_instrumentation(get_default_instrumentation());
    match outcome {
        Ok(_) => Ok(()),
        Err(_) if met_contention.load(Ordering::Relaxed) => {
            Err(StorageError::Database(DatabaseError::Busy))
        }
        Err(error) => Err(StorageError::Migration(error)),
    }
}
