//! Errors of the database and of jobs.
//!
//! The texts contain no personal data, no token and no address of a database server.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};

mod sqlstate;

/// Failure of a job or of an operation on the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    // The operator can act: the configuration, the disk, the database server, the load.
    /// The database address has no supported form. The text omits the address, because it may
    /// contain a password.
    #[error(
        "database address must be sqlite://PATH, postgres://USER@HOST/NAME or postgresql://USER@HOST/NAME"
    )]
    UnknownAddress,
    /// The folder of the SQLite file is missing and cannot be created. Its parent folder must
    /// exist.
    #[error("folder of the database file cannot be made: {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Connecting to the database failed.
    #[error("database cannot be reached")]
    Connection(#[source] diesel::ConnectionError),
    /// The database server has no free connection.
    #[error("database server has no connection left")]
    NoConnectionLeft(#[source] diesel::ConnectionError),
    /// The encoding of the database cannot store every character.
    #[error(
        "the database has the encoding {encoding}, and must have UTF8: create it with ENCODING 'UTF8' \
         (createdb --encoding UTF8 --template template0)"
    )]
    DatabaseEncoding {
        /// The encoding, as PostgreSQL names it.
        encoding: String,
    },
    /// A connection was lost while it was in use. It is unknown whether an unanswered write was
    /// committed.
    #[error("database connection was lost")]
    ConnectionLost(#[source] DieselError),
    /// The pool could not make a connection in time.
    #[error("no database connection is available")]
    Unavailable(#[source] r2d2::Error),
    /// No connection of the pool became free in time.
    #[error("no database connection became free within {} ms", .0.as_millis())]
    PoolTimeout(Duration),
    /// The connection was lost or closed during a commit. It is unknown whether the transaction was
    /// committed.
    #[error("it is not known whether the transaction was committed")]
    OutcomeUnknown(#[source] Arc<DieselError>),
    /// The database server is a standby or otherwise read-only, or SQLite cannot write the file.
    /// Nothing was changed.
    #[error("database is read-only")]
    ReadOnly(#[source] DieselError),
    /// The database server cancelled the statement, or lacks memory, connections or another
    /// resource. Nothing was changed.
    #[error("database server did not serve the statement")]
    ServerUnavailable(#[source] DieselError),
    /// The database is damaged, or lacks a table, a permission or another requirement of the
    /// register. Nothing was changed.
    #[error("database refuses what the register needs: {0}")]
    DatabaseFault(Arc<str>),
    /// Another process or transaction held a lock for too long.
    #[error("database is busy")]
    Busy,
    /// The transaction conflicted with a concurrent one and was rolled back.
    #[error("transactions collided")]
    Collided,
    /// A job changes records of a provider that it has not locked.
    #[error("job changes records of a provider without its lock")]
    ProviderNotLocked,
    /// A job changes records of a second provider.
    #[error("job changes records of two providers")]
    SecondProvider,
    /// Too many jobs wait. The job was not begun.
    #[error("queue of waiting jobs is full")]
    QueueFull,
    /// The disk is full, or the database has reached its size limit.
    #[error("database has no space left")]
    NoSpace(#[source] DieselError),
    /// A failure made SQLite end the whole transaction.
    #[error("sqlite ended the transaction: {condition}")]
    TransactionEnded {
        /// SQLite's name for the condition.
        condition: &'static str,
    },
    /// The store is shutting down.
    #[error("store is closed")]
    Closed,
    /// The database file does not exist.
    #[error(
        "{} does not exist: check --database-url (REGISTER_DATABASE_URL); `trainee-register serve`, `migrate` and \
         `provider add` create a database",
        .0.display()
    )]
    Absent(PathBuf),
    /// A register was created in a SQLite file that is now missing or empty.
    #[error(
        "{} is gone: a register was created there, as {} records; put the file back, or restore a backup with \
         `trainee-register restore`; to start with an empty register on purpose, delete {}",
        .path.display(), .marker.display(), .marker.display()
    )]
    DatabaseGone {
        /// The file.
        path: PathBuf,
        /// The marker beside it.
        marker: PathBuf,
    },
    /// The path of a SQLite database, or of a file beside it, no longer leads to the open file.
    /// Nothing was written.
    #[error("{} is not the file that is open: it was deleted, moved or replaced", .0.display())]
    DatabaseFileChanged(PathBuf),
    /// The marker beside a SQLite database cannot be written.
    #[error("{} cannot be written", .path.display())]
    Marker {
        /// The marker.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The path of a SQLite database is a folder.
    #[error("{} is a folder: name the file of the database in --database-url (REGISTER_DATABASE_URL), such as sqlite://{}", .0.display(), .0.join("register.db").display())]
    IsFolder(PathBuf),
    /// A thread that writes cannot be started.
    #[error("writer thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The job panicked. None of its changes was kept.
    #[error("job panicked")]
    JobPanicked,
    /// The job ended with more or fewer open transactions than it began with.
    #[error("job left the transaction depth off")]
    TransactionDepth,
    /// The transaction had ended or was unusable at its commit.
    #[error("transaction was lost before its commit")]
    TransactionLost(#[source] DieselError),
    /// The database rejected a query.
    #[error("query failed")]
    Query(#[source] DieselError),
}

/// The error of a job: its own error, or one of the database.
pub trait JobError: From<DatabaseError> + Send + 'static {
    /// The error of the database; `None` for an error of the job's own. Determines whether the job
    /// may run again.
    fn database_error(&self) -> Option<&DatabaseError>;
}

impl JobError for DatabaseError {
    fn database_error(&self) -> Option<&DatabaseError> {
        Some(self)
    }
}

impl DatabaseError {
    /// Whether the job violated a unique constraint.
    pub fn is_unique_violation(&self) -> bool {
        matches!(
            self,
            Self::Query(DieselError::DatabaseError(
                DatabaseErrorKind::UniqueViolation,
                _
            ))
        )
    }

    /// Whether the same job may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Connection(_)
            | Self::NoConnectionLeft(_)
            | Self::ConnectionLost(_)
            | Self::Unavailable(_)
            | Self::PoolTimeout(_)
            | Self::OutcomeUnknown(_)
            | Self::ReadOnly(_)
            | Self::ServerUnavailable(_)
            | Self::DatabaseFault(_)
            | Self::Busy
            | Self::Collided
            | Self::QueueFull
            | Self::NoSpace(_)
            | Self::TransactionEnded { .. }
            | Self::DatabaseFileChanged(_)
            | Self::Closed => true,
            Self::UnknownAddress
            | Self::DatabaseEncoding { .. }
            | Self::Folder { .. }
            | Self::Absent(_)
            | Self::DatabaseGone { .. }
            | Self::Marker { .. }
            | Self::IsFolder(_)
            | Self::Thread(_)
            | Self::JobPanicked
            | Self::ProviderNotLocked
            | Self::SecondProvider
            | Self::TransactionDepth
            | Self::TransactionLost(_)
            | Self::Query(_) => false,
        }
    }

    /// The text of the error and of all its causes.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }

    /// Converts the error of a failed commit or rollback. A rejected query becomes a lost
    /// transaction; other errors stay as they are.
    pub(crate) fn from_lost_transaction(error: DieselError) -> Self {
        Self::from(error).at_end_of_transaction()
    }

    /// Converts a rejected query to a lost transaction. Other errors stay as they are.
    pub(crate) fn at_end_of_transaction(self) -> Self {
        if let Self::Query(cause) = self {
            Self::TransactionLost(cause)
        } else {
            self
        }
    }
}
