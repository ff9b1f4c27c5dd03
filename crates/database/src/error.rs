//! What can go wrong between a job and its database.
//!
//! No variant holds a person's data, a token or the address of a database server.

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};

mod sqlstate;

/// A job or an operation of the database that failed.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    // The operator can act: the configuration, the disk, the database server, the load.
    /// The database address is of no form that is understood. The address itself is not shown: it
    /// may hold a password.
    #[error(
        "database address must be sqlite://PATH, postgres://USER@HOST/NAME or postgresql://USER@HOST/NAME"
    )]
    UnknownAddress,
    /// The folder of the SQLite file is absent and cannot be made. The folder above must exist.
    #[error("folder of the database file cannot be made: {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// No connection to the database can be made.
    #[error("database cannot be reached")]
    Connection(#[source] diesel::ConnectionError),
    /// The database server answers, and has no room for another connection.
    #[error("database server has no connection left")]
    NoConnectionLeft(#[source] diesel::ConnectionError),
    /// The database cannot hold every character that a name may have.
    #[error(
        "the database has the encoding {encoding}, and must have UTF8: create it with ENCODING 'UTF8' \
         (createdb --encoding UTF8 --template template0)"
    )]
    DatabaseEncoding {
        /// The encoding, as PostgreSQL names it.
        encoding: String,
    },
    /// A connection was lost while it was in use. Whether an unanswered write was kept is not
    /// known.
    #[error("database connection was lost")]
    ConnectionLost(#[source] DieselError),
    /// No connection could be made within the time that a job waits for one.
    #[error("no database connection is available")]
    Unavailable(#[source] r2d2::Error),
    /// No connection became free within the time that a job waits for one.
    #[error("no database connection became free within {} ms", .0.as_millis())]
    PoolTimeout(Duration),
    /// The connection was lost, or given up, while a commit was under way. Whether it was kept is
    /// not known.
    #[error("it is not known whether the transaction was committed")]
    OutcomeUnknown(#[source] Arc<DieselError>),
    /// The database server is a standby, or otherwise read-only, or SQLite cannot write the file.
    /// Nothing was changed.
    #[error("database is read-only")]
    ReadOnly(#[source] DieselError),
    /// The database server cancelled the statement, or lacks memory, connections or the like.
    /// Nothing was changed.
    #[error("database server did not serve the statement")]
    ServerUnavailable(#[source] DieselError),
    /// The database lacks a table, a permission or the like that the register needs, or is damaged.
    /// Nothing was changed.
    #[error("database refuses what the register needs: {0}")]
    DatabaseFault(Arc<str>),
    /// Another process or another transaction locked what the job needed for too long.
    #[error("database is busy")]
    Busy,
    /// Transactions that ran side by side got into each other's way, and this one was undone.
    #[error("transactions collided")]
    Collided,
    /// The change would be dated more than a second ahead of the clock: the record has changed too
    /// often in the last second, or the clock was set back a little.
    #[error("the change would be dated more than a second ahead of the clock; it can be made in {} ms", .wait.as_millis())]
    DateNotDue {
        /// How long the change must wait.
        wait: Duration,
    },
    /// Too many jobs wait already. This one was not begun.
    #[error("queue of waiting jobs is full")]
    QueueFull,
    /// The job shared a commit with others and that commit did not happen. Nothing that the job did
    /// was kept.
    #[error("group of writes was lost")]
    GroupLost(#[source] Arc<DatabaseError>),
    /// The disk or the permitted size of the database is exhausted.
    #[error("database has no space left")]
    NoSpace(#[source] DieselError),
    /// SQLite met a condition that ends the whole transaction.
    #[error("sqlite ended the transaction: {condition}")]
    TransactionEnded {
        /// SQLite's name for the condition.
        condition: &'static str,
    },
    /// The store is shutting down.
    #[error("store is closed")]
    Closed,
    /// There is no file where a database is to be opened.
    #[error(
        "{} does not exist: check --database-url; `trainee-register serve`, `migrate` and `provider add` create a database",
        .0.display()
    )]
    Absent(PathBuf),
    /// A register was created in a SQLite file that is absent or empty now.
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
    /// The path of a SQLite database, or of a file that SQLite keeps beside it, leads to another
    /// file than the open one, or to none. Nothing was written.
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
    /// There is a folder where the file of a SQLite database is to be.
    #[error("{} is a folder: name the file of the database in --database-url, such as sqlite://{}", .0.display(), .0.join("register.db").display())]
    IsFolder(PathBuf),
    /// The writer's thread cannot be started.
    #[error("writer thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The job panicked. Nothing that it did was kept.
    #[error("job panicked")]
    JobPanicked,
    /// The job left more or fewer open transactions than it found.
    #[error("job left the transaction depth off")]
    TransactionDepth,
    /// The transaction had ended, or was unusable, when it was to be committed.
    #[error("transaction was lost before its commit")]
    TransactionLost(#[source] DieselError),
    /// The database refused a query.
    #[error("query failed")]
    Query(#[source] DieselError),
}

/// The error of a job: its own, or that of the database.
pub trait JobError: From<DatabaseError> + Send + 'static {
    /// The error of the database, if it is one. It decides whether the job may be run again.
    fn database_error(&self) -> Option<&DatabaseError>;
}

impl JobError for DatabaseError {
    fn database_error(&self) -> Option<&DatabaseError> {
        Some(self)
    }
}

impl DatabaseError {
    /// Whether the job would have stored a value twice that must be unique.
    pub fn is_unique_violation(&self) -> bool {
        matches!(
            self,
            Self::Query(DieselError::DatabaseError(
                DatabaseErrorKind::UniqueViolation,
                _
            ))
        )
    }

    /// Whether the same job may succeed when it is tried again.
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
            | Self::DateNotDue { .. }
            | Self::QueueFull
            | Self::GroupLost(_)
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

    /// The error of a failed commit or rollback: a temporary error stays as it is, any other is a
    /// lost transaction.
    pub(crate) fn from_lost_transaction(error: DieselError) -> Self {
        Self::from(error).at_end_of_transaction()
    }

    /// The error as one that ended the transaction.
    pub(crate) fn at_end_of_transaction(self) -> Self {
        if let Self::Query(cause) = self {
            Self::TransactionLost(cause)
        } else {
            self
        }
    }
}
