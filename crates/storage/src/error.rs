//! What can go wrong in storage, grouped by who can act: the operator, the person at the command line, or us.
//!
//! Knows nothing of HTTP. No variant holds a person's data, a token or the address of
//! a database server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use postgres_client::sqlstate;

use crate::tokens::{Environment, TokenStatus};

/// A job or an operation of the store that failed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    // The operator can act: the configuration, the disk, the database server, the load.
    /// The database address is of no form that is understood. The address itself is not shown: it may hold a password.
    #[error("database address must be sqlite://PATH, postgres://USER@HOST/NAME or postgresql://USER@HOST/NAME")]
    UnknownAddress,
    /// A standby has not replayed what a job must see. It was not begun.
    #[error("standby is behind")]
    ReplicaBehind,
    /// Standbys are named of a database that has none, or one that is none.
    #[error("standbys to read from (--read-database-url) must be servers of PostgreSQL, and so must the database")]
    NoReplicas,
    /// The folder of the SQLite file is absent and cannot be made.
    #[error("folder of the database file cannot be made")]
    Folder(#[source] std::io::Error),
    /// No connection to the database can be made.
    #[error("database cannot be reached")]
    Connection(#[source] diesel::ConnectionError),
    /// The database server answers, and has no room for another connection.
    #[error("database server has no connection left")]
    NoConnectionLeft(#[source] diesel::ConnectionError),
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
    OutcomeUnknown(#[source] DieselError),
    /// The database server is a standby, or otherwise read-only. Nothing was changed.
    #[error("database server is read-only")]
    ReadOnly(#[source] DieselError),
    /// The database server cancelled the statement, or lacks memory, connections or the like. Nothing was changed.
    #[error("database server did not serve the statement")]
    ServerUnavailable(#[source] DieselError),
    /// Another process or another transaction locked what the job needed for too long.
    #[error("database is busy")]
    Busy,
    /// Transactions that ran side by side got into each other's way, and this one was undone.
    #[error("transactions collided")]
    Collided,
    /// The change would be dated more than a second ahead of the clock: the record has changed too often lately, or the
    /// clock was set back.
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
    /// There is no file where a database is to be opened.
    #[error(
        "{} does not exist: check --database-url; `trainee-register serve`, `migrate` and `provider add` create a database",
        .0.display()
    )]
    Absent(PathBuf),
    /// The database holds no register.
    #[error(
        "{database} holds no register: check --database-url; `trainee-register serve`, `migrate` and `provider add` \
         create one"
    )]
    NoRegister {
        /// What to call the database.
        database: String,
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
    /// Trainees are yet to be converted to documents.
    #[error(
        "{trainees} trainees are stored as an older program stored them: stop all servers, make a backup, then convert them \
         with `trainee-register migrate`"
    )]
    NotConverted {
        /// How many.
        trainees: i64,
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
    /// The register has providers, and its database does not record the environment.
    #[error(
        "this register does not record its environment: record it once with `trainee-register migrate --environment \
         production`, or `sandbox`"
    )]
    EnvironmentNotRecorded,
    /// The database is the target of a copy that has not come to its end.
    #[error("database is the target of an unfinished copy: finish it with the same `trainee-register copy`")]
    UnfinishedCopy,
    /// The writer's thread cannot be started.
    #[error("writer thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The operating system gave no random bytes.
    #[error("no random bytes are available")]
    NoRandomness(#[source] getrandom::Error),

    // The person at the command line can act.
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
    /// A file with a month of the history cannot be read any more.
    #[error("file of an archived month cannot be read")]
    ArchiveFile(#[source] std::io::Error),
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

/// Why a request from the command line was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A provider's UKPRN is eight digits.
    #[error("ukprn must be eight digits")]
    InvalidUkprn,
    /// A provider's name says something.
    #[error("provider name is blank")]
    BlankProviderName,
    /// A provider's name has 1 to 200 characters.
    #[error("provider name must have 1 to 200 characters on one line")]
    InvalidProviderName,
    /// Another provider has this UKPRN.
    #[error("ukprn belongs to another provider")]
    UkprnTaken,
    /// No provider has this UKPRN.
    #[error("no provider has this ukprn")]
    UnknownProvider,
    /// A closed provider gets no tokens.
    #[error("provider is closed")]
    ProviderClosed,
    /// A token's name has 1 to 200 characters.
    #[error("token name must have 1 to 200 characters on one line")]
    InvalidTokenName,
    /// A user asks for a token, and the organisation has as many as it may have.
    #[error("organisation has too many tokens")]
    TooManyTokens,
    /// A token expires after today and within six months.
    #[error("token must expire after today and at most six months ahead")]
    ExpiryOutOfRange,
    /// No token has this number.
    #[error("no token has this number")]
    UnknownToken,
    /// Only a token that is accepted is replaced by another one.
    #[error("token is {0}; issue a new one")]
    TokenEnded(TokenStatus),
    /// A token that is replaced is accepted until a day after today.
    #[error("the old token must be accepted until a day after today")]
    OverlapOutOfRange,
    /// So many numbers are taken that none was found that is free.
    #[error("no free trn was found")]
    NoFreeTrn,
    /// The person is to be invited by an e-mail address.
    #[error("that is not an e-mail address")]
    InvalidEmail,
    /// A user of an organisation is an admin or a viewer.
    #[error("role must be admin or viewer")]
    UnknownRole,
    /// Operators belong to no organisation, and nobody else is one.
    #[error("operators belong to no organisation, and users of an organisation are admins or viewers")]
    RoleOfOtherKind,
    /// A user does not invite somebody who has access already.
    #[error("person has access already")]
    HasAccess,
    /// A link was used, replaced or withdrawn, has expired, or never was.
    #[error("link cannot be used")]
    LinkNotUsable,
    /// An attempt to sign in was begun in another browser, has expired, was used, or never was.
    #[error("attempt to sign in cannot be used")]
    SignInNotUsable,
    /// An identity may sign in to nothing, or not to that.
    #[error("identity has no access")]
    NoAccess,
    /// No user who has access has this number.
    #[error("no user has this number")]
    UnknownUser,
    /// The user has no such session.
    #[error("user has no such session")]
    UnknownSession,
    /// An organisation keeps an admin.
    #[error("user is the last admin")]
    LastAdmin,
    /// The user may not do that.
    #[error("user may not do that")]
    NotPermitted,
    /// The name of an environment is `sandbox` or `production`.
    #[error("environment must be sandbox or production")]
    UnknownEnvironment,
}

impl StorageError {
    /// Whether the job would have stored a value twice that must be unique.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Query(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))
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
            | Self::ServerUnavailable(_)
            | Self::Busy
            | Self::Collided
            | Self::DateNotDue { .. }
            | Self::QueueFull
            | Self::GroupLost(_)
            | Self::NoSpace(_)
            | Self::TransactionEnded { .. }
            | Self::ReplicaBehind
            | Self::Closed => true,
            Self::UnknownAddress
            | Self::NoReplicas
            | Self::Folder(_)
            | Self::Migration(_)
            | Self::SchemaNewer { .. }
            | Self::UnknownMigration { .. }
            | Self::Absent(_)
            | Self::NoRegister { .. }
            | Self::SchemaOlder { .. }
            | Self::NotConverted { .. }
            | Self::RecordsNewer { .. }
            | Self::BrokenReferences { .. }
            | Self::OtherEnvironment { .. }
            | Self::EnvironmentNotRecorded
            | Self::UnfinishedCopy
            | Self::Thread(_)
            | Self::NoRandomness(_)
            | Self::ArchiveFile(_)
            | Self::Refused(_)
            | Self::Stale
            | Self::CorruptRow { .. }
            | Self::JobPanicked
            | Self::TransactionDepth
            | Self::TransactionLost(_)
            | Self::Query(_)
            | Self::SandboxOrganisations(_) => false,
        }
    }

    /// Whether the database says that others were in the way: a lock was waited for in vain, or transactions collided.
    pub(crate) fn is_contention(error: &DieselError) -> bool {
        let of_postgres =
            sqlstate(error).is_some_and(|state| COLLISIONS.contains(&state) || state == LOCK_NOT_AVAILABLE);
        of_postgres
            || matches!(error, DieselError::DatabaseError(_, information) if information.message() == SQLITE_BUSY)
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

impl StorageError {
    /// Sorts what PostgreSQL, or the connection to it, refused, by the SQLSTATE (PostgreSQL's manual, appendix A).
    fn of_sqlstate(state: &str, error: DieselError) -> Self {
        match (state.get(..2).unwrap_or_default(), state) {
            // statement_completion_unknown
            (_, postgres_client::OUTCOME_UNKNOWN | "40003") => Self::OutcomeUnknown(error),
            (_, state) if COLLISIONS.contains(&state) => Self::Collided,
            (_, LOCK_NOT_AVAILABLE) => Self::Busy,
            // read_only_sql_transaction
            (_, "25006") => Self::ReadOnly(error),
            // disk_full
            (_, "53100") => Self::NoSpace(error),
            // connection_exception; admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped,
            // idle_session_timeout; idle_in_transaction_session_timeout
            ("08", _) | (_, "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03") => Self::ConnectionLost(error),
            // insufficient_resources; program_limit_exceeded has no place here; query_canceled
            ("53", _) | (_, "57014") => Self::ServerUnavailable(error),
            // system_error, internal_error of a server that is failing
            ("58", _) => Self::ServerUnavailable(error),
            _ => Self::Query(error),
        }
    }
}

/// The SQLSTATEs of transactions that got into each other's way: `serialization_failure`, `deadlock_detected`.
const COLLISIONS: [&str; 2] = ["40001", "40P01"];
/// The SQLSTATE of a lock that was waited for in vain: `lock_not_available`.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// How SQLite says that a lock was waited for in vain.
const SQLITE_BUSY: &str = "database is locked";
/// How SQLite says that there is no room.
const SQLITE_FULL: &str = "database or disk is full";

/// Sorts a refusal by the database into the classes above.
///
/// Most result codes of SQLite do not reach us through diesel, so the conditions that matter are known by their texts, which
/// are constants in its source (`sqlite3ErrStr`).
impl From<DieselError> for StorageError {
    fn from(error: DieselError) -> Self {
        if let DieselError::RollbackErrorOnCommit { commit_error, .. } = error {
            // Nothing was left that could be rolled back; why the commit failed says more.
            return Self::from(*commit_error);
        }
        if let Some(state) = sqlstate(&error).map(str::to_owned) {
            return Self::of_sqlstate(&state, error);
        }
        if let DieselError::DatabaseError(_, information) = &error {
            match information.message() {
                SQLITE_BUSY => return Self::Busy,
                SQLITE_FULL => return Self::NoSpace(error),
                _ => {}
            }
        }
        // One that diesel knows to be unusable.
        if matches!(error, DieselError::BrokenTransactionManager) {
            Self::ConnectionLost(error)
        } else {
            Self::Query(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(message: &str) -> DieselError {
        DieselError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned()))
    }

    #[test]
    fn a_commit_that_could_not_even_be_rolled_back_is_reported_by_its_own_failure() {
        let error = DieselError::RollbackErrorOnCommit {
            rollback_error: Box::new(refusal("cannot rollback - no transaction is active")),
            commit_error: Box::new(refusal("database is locked")),
        };
        assert!(matches!(StorageError::of_lost_transaction(error), StorageError::Busy));
    }
}
