//! Reclaims the space of deleted rows: old versions of rows on PostgreSQL; the free space of the
//! file and the log on SQLite.

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Integer;

use crate::error::{DatabaseError, StorageError};
use crate::store::Store;

/// Vacuums the tables that an erasure changes. Each statement runs separately, since VACUUM cannot
/// run in a transaction. Indexes are always cleaned, statistics that contain values of rows are
/// renewed, and tables are not truncated, because truncation would block other sessions.
const POSTGRES: [&str; 9] = [
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) trainees",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) changes",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) replies",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) placement_schools",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) users",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) invitations",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) uploads",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) upload_rows",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) upload_problems",
];

/// How much space is reclaimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reclaim {
    /// On SQLite the file is also rebuilt, which blocks other writers.
    Everything,
    /// On SQLite only the log is emptied. The free space of the file may still contain earlier
    /// versions of rows.
    LogOnly,
}

#[derive(QueryableByName)]
struct Checkpoint {
    /// 0 if the log was emptied.
    #[diesel(sql_type = Integer)]
    busy: i32,
}

impl Store {
    /// Reclaims the space of deleted rows, so that none of their data is left. Blocks; servers may
    /// run.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Busy`] if other connections blocked a statement for too long; the caller
    /// can retry. Otherwise when the database does not answer.
    pub fn reclaim_space(&self, reclaim: Reclaim) -> Result<(), StorageError> {
        match &mut self.database.connections().establish()? {
            DatabaseConnection::Postgres(inner) => POSTGRES
                .iter()
                .try_for_each(|statement| Ok(inner.batch_execute(statement)?)),
            DatabaseConnection::Sqlite(inner) => {
                if reclaim == Reclaim::Everything {
                    inner.batch_execute("VACUUM")?;
                }
                let checkpoint = diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)")
                    .get_result::<Checkpoint>(inner)?;
                if checkpoint.busy == 0 {
                    Ok(())
                } else {
                    Err(StorageError::Database(DatabaseError::Busy))
                }
            }
        }
    }
}
