//! Migrations for tests, after those of the program.

use std::fs;
use std::path::Path;

use database::connection::DatabaseConnection;
use diesel::migration::{Migration, MigrationSource as _};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::FileBasedMigrations;
use tempfile::TempDir;

use super::{Goal, Migrations, Migrator, POSTGRES, SQLITE, SchemaChange};
use crate::error::StorageError;

/// The name of a migration that adds a column, a table and an index.
pub(super) const SHOES: &str = "2998-01-01-000001_shoes";
const SHOES_UP: &str = "ALTER TABLE trainees ADD COLUMN shoe_size TEXT;
     CREATE TABLE shoes (trainee_key BIGINT REFERENCES trainees (id) ON DELETE CASCADE);
     CREATE INDEX trainees_by_shoe_size ON trainees (shoe_size);";
const SHOES_DOWN: &str = "DROP INDEX trainees_by_shoe_size; DROP TABLE shoes; ALTER TABLE trainees DROP COLUMN shoe_size";

/// A folder with migrations, each with its name, up script and down script. A migration with `_by_`
/// in its name runs outside a transaction.
pub(super) fn folder(migrations: &[(&str, &str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, up, down) in migrations {
        let migration = folder.path().join(name);
        fs::create_dir(&migration).unwrap();
        fs::write(migration.join("up.sql"), up).unwrap();
        fs::write(migration.join("down.sql"), down).unwrap();
        if name.contains("_by_") {
            fs::write(
                migration.join("metadata.toml"),
                "run_in_transaction = false",
            )
            .unwrap();
        }
    }
    folder
}

/// A folder with [`SHOES`].
pub(super) fn shoes() -> TempDir {
    folder(&[(SHOES, SHOES_UP, SHOES_DOWN)])
}

/// The migrations of the program and those of a folder. The folder must exist as long as they are
/// used.
pub(super) fn with_folder(folder: &Path) -> Migrations {
    let postgres = folder.to_owned();
    let sqlite = folder.to_owned();
    Migrations {
        postgres: Box::new(move || {
            let added: Vec<Box<dyn Migration<Pg>>> =
                FileBasedMigrations::from_path(&postgres)?.migrations()?;
            Ok(POSTGRES.migrations()?.into_iter().chain(added).collect())
        }),
        sqlite: Box::new(move || {
            let added: Vec<Box<dyn Migration<Sqlite>>> =
                FileBasedMigrations::from_path(&sqlite)?.migrations()?;
            Ok(SQLITE.migrations()?.into_iter().chain(added).collect())
        }),
    }
}

/// Brings the schema to the goal with the migrations of the program and those of a folder.
pub(super) fn bring_to_with(
    connection: &mut DatabaseConnection,
    folder: &Path,
    goal: Goal<'_>,
) -> Result<SchemaChange, StorageError> {
    Migrator {
        migrations: with_folder(folder),
        ..Migrator::new(connection)
    }
    .bring_to(goal)
}
