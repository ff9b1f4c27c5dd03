//! Detects a second server on a SQLite database.
//!
//! A second server does not damage the database, but the two block each other, and each counts
//! requests separately for rate limits. The lock is `flock`; SQLite uses `fcntl`, and commands use
//! neither on this file.

use std::fs::File;

use database::connection::Connections;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::StorageError;

/// Locks the existing SQLite database at `url` for this server until the process ends. Returns
/// whether another server holds the lock. Always `false` on PostgreSQL, where a database can have
/// several servers.
///
/// # Errors
///
/// [`DatabaseError::UnknownAddress`].
pub fn has_another_server(url: &str) -> Result<bool, StorageError> {
    let connections = Connections::from_url(url)?;
    let Some(Ok(file)) = connections.file().map(File::open) else {
        // A PostgreSQL database, or a file that this process cannot read.
        return Ok(false);
    };
    let outcome = flock(&file, FlockOperation::NonBlockingLockExclusive);
    // Never closed: closing a file releases all `fcntl` locks of the process on it, including those
    // of SQLite.
    std::mem::forget(file);
    Ok(outcome == Err(Errno::WOULDBLOCK))
}
