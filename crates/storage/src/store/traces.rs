//! Removes what a database keeps of rows that are gone: old versions of rows on PostgreSQL; on SQLite the free space of its
//! file, and its log.

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Integer;

use super::Store;
use crate::connection::DatabaseConnection;
use crate::error::StorageError;

/// The tables that an erasure changes. A statement for each, since none of them may be in a transaction. Indexes are cleaned
/// also when few rows are gone, statistics with values of rows are made anew, and nobody waits for the end of a table to be cut
/// off.
const POSTGRES: [&str; 6] = [
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) trainees",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) changes",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) replies",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) placement_schools",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) users",
    "VACUUM (ANALYZE, INDEX_CLEANUP ON, TRUNCATE OFF) invitations",
];

/// How thoroughly traces are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceRemoval {
    /// On SQLite the file is built anew, during which nobody else writes.
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
    /// Removes what the database keeps of rows that are gone. Blocks; servers go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`StorageError::Busy`] when others were in the way for too long, and it can be tried again; otherwise when the
    /// database does not answer.
    pub fn remove_traces(&self, removal: TraceRemoval) -> Result<(), StorageError> {
        match &mut self.connections.establish()? {
            DatabaseConnection::Postgres(inner) => {
                POSTGRES.iter().try_for_each(|statement| Ok(inner.batch_execute(statement)?))
            }
            DatabaseConnection::Sqlite(inner) => {
                if removal == TraceRemoval::Everything {
                    inner.batch_execute("VACUUM")?;
                }
                let checkpoint =
                    diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)").get_result::<Checkpoint>(inner)?;
                if checkpoint.busy == 0 { Ok(()) } else { Err(StorageError::Busy) }
            }
        }
    }
}
