//! Checks that a store can write.

use database::connection::{Access, DatabaseConnection};
use diesel::RunQueryDsl as _;

use crate::error::{DatabaseError, StorageError};
use crate::store::Store;

impl Store {
    /// Fails if SQLite cannot write the database file or a file beside it. Changes nothing, and
    /// blocks. Always succeeds on PostgreSQL, where a server may be a standby now and writable
    /// later.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::ReadOnly`]; otherwise when the database cannot be opened.
    pub fn require_writable(&self) -> Result<(), StorageError> {
        if !self.database.connections().allow_one_writer() {
            return Ok(());
        }
        match self
            .database
            .connections()
            .establish()
            .and_then(|mut connection| begin_to_write(&mut connection))
        {
            // Another writer does not make the database read-only.
            Err(DatabaseError::Busy) => Ok(()),
            outcome => Ok(outcome?),
        }
    }
}

/// Writes and rolls back. On a read-only file, SQLite begins a writing transaction without an error
/// and rejects the first write in it.
fn begin_to_write(connection: &mut DatabaseConnection) -> Result<(), DatabaseError> {
    connection.begin(Access::Write)?;
    let written = diesel::sql_query("PRAGMA user_version = 0").execute(connection);
    connection.roll_back()?;
    written?;
    Ok(())
}
