//! Takes a SQLite database for this program alone, so that it can be replaced.
//!
//! SQLite says whether a program has a database open, unless the file is too damaged to be opened,
//! or gone. A server that opened it before still has it open. Then the locks of each connection on
//! its files are queried directly.

use std::fs::File;
use std::io;
use std::path::Path;

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

use super::{BackupError, open, sibling_file};
use crate::error::{DatabaseError, StorageError};

/// A database that no other program has open, until this is dropped.
pub(super) struct Exclusive {
    /// Holds SQLite's lock; `None` where there is no database, or SQLite cannot use it.
    pub(super) connection: Option<DatabaseConnection>,
    /// Holds the lock where SQLite cannot.
    _file: Option<File>,
}

/// Takes the database. Brings all content of its journal into its one file where SQLite can read
/// it.
///
/// # Errors
///
/// [`BackupError::InUse`] when another program has it open, [`BackupError::UseUnknown`] when that cannot be known.
pub(super) fn acquire(database: &Path) -> Result<Exclusive, BackupError> {
    // In WAL mode each connection holds a lock on this file too, also when the database itself was
    // moved or removed since. The lock is released at once: SQLite may need it next.
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

/// `None` when there is no database, or SQLite cannot use it.
fn acquire_by_sqlite(database: &Path) -> Result<Option<DatabaseConnection>, BackupError> {
    if !database.is_file() {
        return Ok(None);
    }
    let Ok(mut connection) = open(database) else {
        return Ok(None);
    };
    // A connection in WAL mode holds a lock for as long as it is open, and the mode cannot be left
    // while another one has it.
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

/// Locks the whole of a file, which conflicts with each lock of SQLite's; `None` when there is no
/// file. The lock ends when the file is closed.
fn lock(file: &Path, database: &Path) -> Result<Option<File>, BackupError> {
    let opened = match File::options().read(true).write(true).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BackupError::UseUnknown(file.to_owned(), error)),
    };
    match fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(opened)),
        // Which of the two it is differs between systems.
        Err(Errno::AGAIN | Errno::ACCESS) => Err(BackupError::InUse(database.to_owned())),
        Err(error) => Err(BackupError::UseUnknown(file.to_owned(), error.into())),
    }
}
