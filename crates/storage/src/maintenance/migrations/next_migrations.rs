//! Migrations for tests, after those of the program.

use std::fs;
use std::path::Path;

use database::connection::DatabaseConnection;
use diesel::migration::{Migration, MigrationSource as _};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::FileBasedMigrations;
use tempfile::TempDir;

use super::{Migrations, Migrator, POSTGRES, SQLITE};
use crate::error::StorageError;

/// The name of a migration that adds a column, a table and an index.
pub(super) const SHOES: &str = "2998-01-01-000001_shoes";
const SHOES_UP: &str = "ALTER TABLE trainees ADD COLUMN shoe_size TEXT;
     CREATE TABLE shoes (trainee_key BIGINT REFERENCES trainees (id) ON DELETE CASCADE);
     CREATE INDEX trainees_by_shoe_size ON trainees (shoe_size);";

/// A folder with migrations, each with its name and its script.
pub(super) fn folder(migrations: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, up) in migrations {
        let migration = folder.path().join(name);
        fs::create_dir(&migration).unwrap();
        fs::write(migration.join("up.sql"), up).unwrap();
    }
    folder
}

/// A folder with [`SHOES`].
pub(super) fn shoes() -> TempDir {
    folder(&[(SHOES, SHOES_UP)])
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

/// The first migrations of the program, up to the one with this number.
pub(super) fn up_to(number: &'static str) -> Migrations {
    Migrations {
        postgres: Box::new(move || {
            let mut migrations: Vec<Box<dyn Migration<Pg>>> = POSTGRES.migrations()?;
            migrations
                .retain(|migration| migration.name().version().to_string().as_str() <= number);
            Ok(migrations)
        }),
        sqlite: Box::new(move || {
            let mut migrations: Vec<Box<dyn Migration<Sqlite>>> = SQLITE.migrations()?;
            migrations
                .retain(|migration| migration.name().version().to_string().as_str() <= number);
            Ok(migrations)
        }),
    }
}

/// Applies the pending migrations of the program and of a folder.
pub(super) fn bring_up_to_date_with(
    connection: &mut DatabaseConnection,
    folder: &Path,
) -> Result<Vec<String>, StorageError> {
    Migrator {
        migrations: with_folder(folder),
        ..Migrator::new(connection)
    }
    .bring_up_to_date()
}
