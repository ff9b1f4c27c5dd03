//! Locks a SQLite database for exclusive use, so that it can be replaced.
//!
//! SQLite reports whether another program has the database open, unless the file is missing or too
//! damaged to open. A server that opened the file earlier may still have it open in that case. This
//! module then checks directly for the locks that each connection holds on the files.

use std::fs::File;
use std::io;
use std::path::Path;

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

use super::{BackupError, open, sibling_file};
use crate::error::{DatabaseError, StorageError};

/// An exclusive lock of a database, until it is dropped.
pub(super) struct Exclusive {
    /// Holds SQLite's lock; `None` if there is no database, or SQLite cannot open it.
    pub(super) connection: Option<DatabaseConnection>,
    /// Holds a lock of the file if SQLite cannot.
    _file: Option<File>,
}

/// Locks the database. If SQLite can read the database, moves the content of its journal into its
/// main file.
///
/// # Errors
///
/// [`BackupError::InUse`] if another program has the database open; [`BackupError::UseUnknown`] if
/// that cannot be determined.
pub(super) fn acquire(database: &Path) -> Result<Exclusive, BackupError> {
    // In WAL mode each connection also holds a lock on this file, even if the database itself was
    // moved or removed. The lock is released at once, because SQLite may need it next.
    drop(lock(&sibling_file(database, "-shm"), database)?);
    let connection = acquire_by_sqlite(database)?;
    let file = if connection.is_none() {
        lock(database, database)?
    } else {
        None
    };
    Ok(Exclusive {
        connection,
        _file: file,
    })
}

/// Locks the database through SQLite; `None` if there is no database, or SQLite cannot open it.
fn acquire_by_sqlite(database: &Path) -> Result<Option<DatabaseConnection>, BackupError> {
    if !database.is_file() {
        return Ok(None);
    }
    let Ok(mut connection) = open(database) else {
        return Ok(None);
    };
    // A connection in WAL mode holds a lock while it is open, and SQLite cannot leave the mode
    // while another connection holds this lock.
    for statement in [
        "PRAGMA busy_timeout = 0",
        "PRAGMA journal_mode = DELETE",
        "BEGIN EXCLUSIVE",
    ] {
        match connection
            .batch_execute(statement)
            .map_err(StorageError::from)
        {
            Ok(()) => {}
            Err(StorageError::Database(DatabaseError::Busy)) => {
                return Err(BackupError::InUse(database.to_owned()));
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(DatabaseConnection::Sqlite(connection)))
}

/// Locks a whole file, which conflicts with each of SQLite's locks; `None` if there is no file.
/// Closing the file releases the lock.
fn lock(file: &Path, database: &Path) -> Result<Option<File>, BackupError> {
    let opened = match File::options().read(true).write(true).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BackupError::UseUnknown(file.to_owned(), error)),
    };
    match fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(opened)),
        // The error code depends on the operating system.
        Err(Errno::AGAIN | Errno::ACCESS) => Err(BackupError::InUse(database.to_owned())),
        Err(error) => Err(BackupError::UseUnknown(file.to_owned(), error.into())),
    }
}
