//! Whether a SQLite database has one server, as it should.
//!
//! Several processes can use one file, so a second server does no damage: the two keep each other
//! waiting, and each counts requests for itself. The lock is `flock`, which SQLite and the commands
//! do not use: SQLite uses `fcntl`.

use std::fs::File;

use database::connection::Connections;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::StorageError;

/// Marks the SQLite database at `url`, which exists, as that of a server until the process ends,
/// and returns whether another server had done so. On PostgreSQL a database can have several
/// servers.
///
/// # Errors
///
/// [`DatabaseError::UnknownAddress`].
pub fn has_another_server(url: &str) -> Result<bool, StorageError> {
    let connections = Connections::from_url(url)?;
    let Some(Ok(file)) = connections.file().map(File::open) else {
        return Ok(false);
    };
    let outcome = flock(&file, FlockOperation::NonBlockingLockExclusive);
    // Not closed: by closing a file a process loses all `fcntl` locks that it has on it, those of
    // SQLite included.
    std::mem::forget(file);
    Ok(outcome == Err(Errno::WOULDBLOCK))
}
