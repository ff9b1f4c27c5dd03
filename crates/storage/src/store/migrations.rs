//! The schema's history, embedded in the program.
//!
//! All pending migrations are one transaction under one lock: they are applied together or not at all, and once.

use diesel::connection::SimpleConnection;
use diesel::{Connection as _, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::connection::DatabaseConnection;
use crate::error::StorageError;

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// Takes PostgreSQL's lock for migrating. The number means nothing; it must only differ from the program's other locks.
const POSTGRES_LOCK_SQL: &str = "SELECT pg_advisory_xact_lock(7203311846204)";

pub(super) fn run_pending(connection: &mut DatabaseConnection) -> Result<usize, StorageError> {
    match connection {
        DatabaseConnection::Postgres(inner) => inner.transaction(|inner| {
            inner.batch_execute(POSTGRES_LOCK_SQL)?;
            Ok(inner.run_pending_migrations(POSTGRES).map_err(StorageError::Migration)?.len())
        }),
        DatabaseConnection::Sqlite(inner) => inner.immediate_transaction(|inner: &mut SqliteConnection| {
            Ok(inner.run_pending_migrations(SQLITE).map_err(StorageError::Migration)?.len())
        }),
    }
}

#[cfg(test)]
mod tests {
    use test_support::Database;

    use super::*;
    use crate::connection::Connections;

    #[test]
    fn every_migration_can_be_taken_back_and_applied_again() {
        let database = Database::fresh();
        let mut connection = Connections::to(database.url()).unwrap().establish().unwrap();
        let applied = run_pending(&mut connection).unwrap();
        let reverted = match &mut connection {
            DatabaseConnection::Postgres(inner) => inner.revert_all_migrations(POSTGRES),
            DatabaseConnection::Sqlite(inner) => inner.revert_all_migrations(SQLITE),
        };
        assert_eq!(reverted.unwrap().len(), applied);
        assert_eq!(run_pending(&mut connection).unwrap(), applied);
    }
}
