//! Takes a SQLite database for this program alone, so that it can be replaced.
//!
//! SQLite says whether anybody has a database open, unless the file is too damaged to be opened, or gone. A server that
//! opened it before has it open all the same. Then the locks that each connection holds on its files are queried directly.

use std::fs::File;
use std::io;
use std::path::Path;

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

use super::{BackupError, beside};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;

/// A database that nobody else has open, until this is dropped.
pub(super) enum Exclusive {
    /// SQLite holds the lock.
    Connection { connection: Box<DatabaseConnection> },
    /// The file is locked; nothing where there is no file.
    File { _file: Option<File> },
}

impl Exclusive {
    /// A connection to the database; `None` where there is no database, or SQLite cannot use it.
    pub(super) fn connection(&mut self) -> Option<&mut DatabaseConnection> {
        match self {
            Self::Connection { connection } => Some(connection),
            Self::File { .. } => None,
        }
    }
}

/// Takes the database, with all that its journal holds brought into its one file where SQLite can read it.
///
/// # Errors
///
/// [`BackupError::InUse`] when anybody has it open, [`BackupError::UseUnknown`] when nobody can say.
pub(super) fn acquire(database: &Path) -> Result<Exclusive, BackupError> {
    // In WAL mode each connection holds a lock on this file too, also when the database itself was moved or removed since.
    // The lock is given back at once: it is SQLite that may need it next.
    drop(lock(&beside(database, "-shm"), database)?);
    if let Some(connection) = acquire_by_sqlite(database)? {
        return Ok(Exclusive::Connection { connection: Box::new(DatabaseConnection::Sqlite(connection)) });
    }
    Ok(Exclusive::File { _file: lock(database, database)? })
}

/// `None` when there is no database, or SQLite cannot use it.
fn acquire_by_sqlite(database: &Path) -> Result<Option<SqliteConnection>, BackupError> {
    if !database.is_file() {
        return Ok(None);
    }
    let Ok(mut connection) = SqliteConnection::establish(&database.to_string_lossy()) else { return Ok(None) };
    // A connection in WAL mode holds a lock for as long as it is open, and the mode cannot be left while anybody has one.
    for statement in ["PRAGMA busy_timeout = 0", "PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"] {
        match connection.batch_execute(statement).map_err(StorageError::from) {
            Ok(()) => {}
            Err(StorageError::Busy) => return Err(BackupError::InUse(database.to_owned())),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(connection))
}

/// Locks the whole of a file, which conflicts with each lock of SQLite's; `None` when there is no file. The lock ends when
/// the file is closed.
fn lock(file: &Path, database: &Path) -> Result<Option<File>, BackupError> {
    let unknown = |source| BackupError::UseUnknown { path: file.to_owned(), source };
    let opened = match File::options().read(true).write(true).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unknown(error)),
    };
    match fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(opened)),
        // Which of the two it is differs between systems.
        Err(Errno::AGAIN | Errno::ACCESS) => Err(BackupError::InUse(database.to_owned())),
        Err(error) => Err(unknown(error.into())),
    }
}
