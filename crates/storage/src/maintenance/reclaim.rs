//! Reclaims the space of rows that are gone: that of old versions of rows on PostgreSQL; on SQLite
//! the free space of the file, and the log.

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Integer;

use crate::error::{DatabaseError, StorageError};
use crate::store::Store;

/// The tables that an erasure changes. A statement for each, since none of them may be in a
/// transaction. Indexes are cleaned also when few rows are gone, statistics with values of rows are
/// renewed, and no session waits for the truncation of a table.
const POSTGRES: [&str; 6] = [
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) trainees",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) changes",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) replies",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) placement_schools",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) users",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) invitations",
];

/// How much of it is reclaimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reclaim {
    /// On SQLite the file is rebuilt; other writers wait.
    Everything,
    /// On SQLite the free space of the file stays: it may hold earlier versions of rows.
    LogOnly,
}

#[derive(QueryableByName)]
struct Checkpoint {
    /// 0 when the log is empty.
    #[diesel(sql_type = Integer)]
    busy: i32,
}

impl Store {
    /// Reclaims the space of deleted rows, so that no data of them is left. Blocks; servers may
    /// run.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Busy`] when others were in the way for too long, and it can be tried again; otherwise when the
    /// database does not answer.
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
