//! What can go wrong in storage, grouped by who can act: the operator, the user at the command line or on a page of the
//! settings, the caller of the API, or us.
//!
//! Knows nothing of HTTP. No variant holds a person's data, a token or the address of a database server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};

use crate::tokens::Environment;

mod refusal;
mod sqlstate;

pub use refusal::Refusal;

/// A job or an operation of the store that failed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    // The operator can act: the configuration, the disk, the database server, the load.
    /// The database address is of no form that is understood. The address itself is not shown: it may hold a password.
    #[error("database address must be sqlite://PATH, postgres://USER@HOST/NAME or postgresql://USER@HOST/NAME")]
    UnknownAddress,
    /// The folder of the SQLite file is absent and cannot be made. The folder above must exist.
    #[error("folder of the database file cannot be made: {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
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
    /// A connection was lost while it was in use. Whether an unanswered write was kept is not known.
    #[error("database connection was lost")]
    ConnectionLost(#[source] DieselError),
    /// No connection could be made within the time that a job waits for one.
    #[error("no database connection is available")]
    Unavailable(#[source] r2d2::Error),
    /// No connection became free within the time that a job waits for one.
    #[error("no database connection became free within {} ms", .0.as_millis())]
    PoolTimeout(Duration),
    /// The connection was lost, or given up, while a commit was under way. Whether it was kept is not known.
    #[error("it is not known whether the transaction was committed")]
    OutcomeUnknown(#[source] Arc<DieselError>),
    /// The database server is a standby, or otherwise read-only, or SQLite cannot write the file. Nothing was changed.
    #[error("database is read-only")]
    ReadOnly(#[source] DieselError),
    /// The database server is a standby, whose timeline is not known: a cursor may have outlived its generation.
    #[error("the database server is a standby, where no cursor can be continued")]
    CursorOnStandby,
    /// The database server cancelled the statement, or lacks memory, connections or the like. Nothing was changed.
    #[error("database server did not serve the statement")]
    ServerUnavailable(#[source] DieselError),
    /// The database lacks a table, a permission or the like that the register needs, or is damaged. Nothing was changed.
    #[error("database refuses what the register needs: {0}")]
    DatabaseFault(Arc<str>),
    /// Another process or another transaction locked what the job needed for too long.
    #[error("database is busy")]
    Busy,
    /// Transactions that ran side by side got into each other's way, and this one was undone.
    #[error("transactions collided")]
    Collided,
    /// The change would be dated more than a second ahead of the clock: the record has changed too often lately, or the
    /// clock was set back a little.
    #[error("the change would be dated more than a second ahead of the clock; it can be made in {} ms", .wait.as_millis())]
    DateNotDue {
        /// How long the change must wait.
        wait: Duration,
    },
    /// Too many jobs wait already. This one was not begun.
    #[error("queue of waiting jobs is full")]
    QueueFull,
    /// The job shared a commit with others and that commit did not happen. Nothing that the job did was kept.
    #[error("group of writes was lost")]
    GroupLost(#[source] Arc<StorageError>),
    /// The disk or the permitted size of the database is exhausted.
    #[error("database has no space left")]
    NoSpace(#[source] DieselError),
    /// SQLite met a condition by which it ends the whole transaction, whatever the statement was.
    #[error("sqlite ended the transaction: {condition}")]
    TransactionEnded {
        /// SQLite's name for the condition.
        condition: &'static str,
    },
    /// The store is shutting down.
    #[error("store is closed")]
    Closed,
    /// The database schema cannot be brought up to date.
    #[error("migrations failed")]
    Migration(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The schema has a migration that this program does not know.
    #[error(
        "database has migration {version}, which this program does not know: use the program that applied it, or let \
         that one take it back with `trainee-register migrate --to {newest}`"
    )]
    SchemaNewer {
        /// The migration.
        version: String,
        /// The last one that this program knows.
        newest: String,
    },
    /// No migration of the program has this name.
    #[error("no migration is called {name}; known are {known}")]
    UnknownMigration {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Taking migrations back would drop tables that hold records.
    #[error(
        "the migrations that would be taken back hold records, in the tables {tables}: make a backup, then give the same \
         command with --force, by which these records are lost"
    )]
    RecordsWouldBeLost {
        /// The names of the tables.
        tables: String,
    },
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
    /// The path of a SQLite database, or of a file that SQLite keeps beside it, leads to another file than the open one, or to
    /// none. Nothing was written.
    #[error("{} is not the file that is open: it was deleted, moved or replaced", .0.display())]
    DatabaseFileChanged(PathBuf),
    /// The marker beside a SQLite database cannot be written.
    #[error("{} cannot be written", .path.display())]
    Marker {
        /// The marker.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is a folder where the file of a SQLite database is to be.
    #[error("{} is a folder: name the file of the database in --database-url, such as sqlite://{}", .0.display(), .0.join("register.db").display())]
    IsFolder(PathBuf),
    /// The database holds no register.
    #[error(
        "{database} holds no register: check --database-url; `trainee-register serve`, `migrate` and `provider add` \
         create one"
    )]
    NoRegister {
        /// What to call the database.
        database: String,
    },
    /// The register is in another schema of PostgreSQL than the one that the connection uses.
    #[error(
        "the database has a register in the schema {schema}: move its tables to the schema public, or name the schema in \
         the address, as in postgres://USER@HOST/NAME?options=-c%20search_path%3D{schema}"
    )]
    OtherSchema {
        /// The name of the schema.
        schema: String,
    },
    /// The schema lacks a migration of this program.
    #[error(
        "{database} has the schema of an older program, without migration {migration}: make a backup, then bring it up to \
         date with `trainee-register migrate`"
    )]
    SchemaOlder {
        /// What to call the database.
        database: String,
        /// The first migration that it lacks.
        migration: String,
    },
    /// The database has tables of a register that no released program has made.
    #[error("{database} has a layout from before the first release and cannot be used: start with an empty database")]
    LayoutBeforeRelease {
        /// What to call the database.
        database: String,
    },
    /// Documents hold fields that the program does not know.
    #[error(
        "records have fields of a newer program (record schema {recorded}, this program knows {known}): use the newer program"
    )]
    RecordsNewer {
        /// The number that the database records.
        recorded: String,
        /// The number of this program.
        known: i64,
    },
    /// Migrations left rows that refer to rows which are not there. They were undone.
    #[error(
        "migrations were undone: {rows} rows of table {table} refer to rows of table {owner} that do not exist; look for \
         them with `trainee-register check` of the program that was used before"
    )]
    BrokenReferences {
        /// The table that refers.
        table: String,
        /// The table in which the rows are missing.
        owner: String,
        /// How many rows refer to missing ones.
        rows: i64,
    },
    /// Another environment than that of the register was requested.
    #[error(
        "the environment of this register is {recorded}, not {requested}: leave --environment (REGISTER_ENVIRONMENT) out, \
         or choose another database"
    )]
    OtherEnvironment {
        /// What the database records.
        recorded: Environment,
        /// What was requested.
        requested: Environment,
    },
    /// The database is the target of a copy that has not come to its end.
    #[error("database is the target of an unfinished copy: begin again with an empty database")]
    UnfinishedCopy,
    /// The writer's thread cannot be started.
    #[error("writer thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The operating system gave no random bytes.
    #[error("no random bytes are available")]
    NoRandomness(#[source] getrandom::Error),

    // The user at the command line or on a page of the settings can act.
    /// The request cannot be carried out as sent.
    #[error(transparent)]
    Refused(#[from] Refusal),

    // The caller can act.
    /// The record was changed by another request after it was read.
    #[error("record was changed meanwhile")]
    Stale,

    // We can act: these are defects.
    /// A stored row is not what the code that wrote it could have written.
    #[error("row {id} of table {table} is corrupt")]
    CorruptRow {
        /// The table's name.
        table: &'static str,
        /// The row's key.
        id: i64,
    },
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
    /// A setting of the register is not what the code that wrote it could have written.
    #[error("setting {name} of the register is corrupt")]
    CorruptSetting {
        /// The setting's name.
        name: &'static str,
    },
    /// The invented organisations that ship with the crate cannot be read.
    #[error("invented organisations are unreadable")]
    SandboxOrganisations(#[source] csv::Error),
}

/// The error of a job: its own, or the store's.
pub trait JobError: From<StorageError> + Send + 'static {
    /// The store's error, if it is one: by it the store knows whether the job may be run again.
    fn of_the_store(&self) -> Option<&StorageError>;
}

impl JobError for StorageError {
    fn of_the_store(&self) -> Option<&StorageError> {
        Some(self)
    }
}

impl StorageError {
    /// Whether the job would have stored a value twice that must be unique.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Query(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))
    }

    /// Whether the job was not done and may well succeed when it is tried again: to repeat it does nothing twice.
    pub fn is_repeatable(&self) -> bool {
        self.is_temporary() && !matches!(self, Self::OutcomeUnknown(_))
    }

    /// Whether the same job may well succeed when it is tried again.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Connection(_)
            | Self::NoConnectionLeft(_)
            | Self::ConnectionLost(_)
            | Self::Unavailable(_)
            | Self::PoolTimeout(_)
            | Self::OutcomeUnknown(_)
            | Self::ReadOnly(_)
            | Self::CursorOnStandby
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
            | Self::Migration(_)
            | Self::SchemaNewer { .. }
            | Self::UnknownMigration { .. }
            | Self::RecordsWouldBeLost { .. }
            | Self::Absent(_)
            | Self::DatabaseGone { .. }
            | Self::Marker { .. }
            | Self::IsFolder(_)
            | Self::NoRegister { .. }
            | Self::OtherSchema { .. }
            | Self::SchemaOlder { .. }
            | Self::LayoutBeforeRelease { .. }
            | Self::RecordsNewer { .. }
            | Self::BrokenReferences { .. }
            | Self::OtherEnvironment { .. }
            | Self::UnfinishedCopy
            | Self::Thread(_)
            | Self::NoRandomness(_)
            | Self::Refused(_)
            | Self::Stale
            | Self::CorruptRow { .. }
            | Self::CorruptSetting { .. }
            | Self::JobPanicked
            | Self::TransactionDepth
            | Self::TransactionLost(_)
            | Self::Query(_)
            | Self::SandboxOrganisations(_) => false,
        }
    }

    /// Why a transaction could not be ended as it should: what passes is said as such, the rest is a lost transaction.
    pub(crate) fn of_lost_transaction(error: DieselError) -> Self {
        Self::from(error).at_end_of_transaction()
    }

    /// The same error where it ended a transaction.
    pub(crate) fn at_end_of_transaction(self) -> Self {
        if let Self::Query(cause) = self { Self::TransactionLost(cause) } else { self }
    }
}
