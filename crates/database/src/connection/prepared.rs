//! SQLite statements that begin and end transactions and savepoints or read their state, and stay
//! prepared.
//!
//! diesel keeps statements prepared that have their own type, but prepares text at each
//! execution.

use diesel::connection::{
    SimpleConnection as _, TransactionDepthChange, TransactionManager as _,
    TransactionManagerStatus,
};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sql_types::BigInt;
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl, SqliteConnection};

use super::database_connection::DatabaseConnection;

/// Begins a transaction that reads.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Begin;

/// Commits the transaction.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Commit;

/// Rolls the transaction back.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct RollBack;

/// Opens the savepoint around a job of the writer. The name is diesel's name for the first
/// savepoint in a transaction.
#[derive(Debug, Clone, Copy, QueryId)]
struct OpenSavepoint;

/// Rolls back to the savepoint, which stays open.
#[derive(Debug, Clone, Copy, QueryId)]
struct RollBackToSavepoint;

/// Releases the savepoint and keeps its changes.
#[derive(Debug, Clone, Copy, QueryId)]
struct ReleaseSavepoint;

/// The version of the file that the transaction sees. Changes with each commit of another
/// connection, in any process. Comparable only on one connection.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct DataVersion;

impl Query for DataVersion {
    type SqlType = BigInt;
}

macro_rules! statements {
    ($($name:ident => $sql:literal,)*) => {$(
        impl QueryFragment<Sqlite> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
                out.push_sql($sql);
                Ok(())
            }
        }

        impl RunQueryDsl<SqliteConnection> for $name {}
    )*};
}

statements! {
    Begin => "BEGIN",
    Commit => "COMMIT",
    RollBack => "ROLLBACK",
    OpenSavepoint => "SAVEPOINT diesel_savepoint_1",
    RollBackToSavepoint => "ROLLBACK TO SAVEPOINT diesel_savepoint_1",
    ReleaseSavepoint => "RELEASE SAVEPOINT diesel_savepoint_1",
    DataVersion => "PRAGMA data_version",
}

impl DatabaseConnection {
    /// Runs one of these statements on SQLite. Does nothing on PostgreSQL.
    pub fn run_prepared(
        &mut self,
        statement: impl QueryFragment<Sqlite> + QueryId + RunQueryDsl<SqliteConnection>,
    ) -> Result<(), DieselError> {
        let Self::Sqlite(inner) = self else {
            return Ok(());
        };
        statement.execute(inner).map(|_| ())
    }

    /// Opens the savepoint of the job with this number in the transaction. diesel counts it.
    ///
    /// The statement is prepared on SQLite, and deferred on PostgreSQL. There each savepoint has a
    /// different name: if a deferred statement of an earlier job has failed, the savepoint does not
    /// exist, and a rollback to it must not find an earlier one.
    pub(crate) fn open_savepoint(&mut self, job: usize) -> Result<(), DieselError> {
        match self {
            Self::Postgres(inner) => {
                inner.deferring(|inner| inner.batch_execute(&format!("SAVEPOINT job_{job}")))?;
            }
            Self::Sqlite(inner) => drop(OpenSavepoint.execute(inner)?),
        }
        self.change_depth(TransactionDepthChange::IncreaseDepth)
    }

    /// Rolls back to the savepoint, which stays open. Reports failures that diesel may treat as a
    /// success.
    pub(crate) fn roll_back_to_savepoint(&mut self, job: usize) -> Result<(), DieselError> {
        match self {
            Self::Postgres(inner) => {
                inner.batch_execute(&format!("ROLLBACK TO SAVEPOINT job_{job}"))
            }
            Self::Sqlite(inner) => RollBackToSavepoint.execute(inner).map(drop),
        }
    }

    /// Releases the savepoint and keeps its changes. The statement fails if the job has ended the
    /// transaction, and then the next job must not write. PostgreSQL therefore answers it before the
    /// next job, unless writes outside transactions are refused anyway.
    pub(crate) fn release_savepoint(&mut self, job: usize) -> Result<(), DieselError> {
        match self {
            Self::Postgres(inner) => inner.before_writes(|inner| {
                inner.batch_execute(&format!("RELEASE SAVEPOINT job_{job}"))
            })?,
            Self::Sqlite(inner) => drop(ReleaseSavepoint.execute(inner)?),
        }
        self.change_depth(TransactionDepthChange::DecreaseDepth)
    }

    /// Changes the number of transactions and savepoints that diesel counts.
    fn change_depth(&mut self, change: TransactionDepthChange) -> Result<(), DieselError> {
        match Self::transaction_manager_status_mut(self) {
            TransactionManagerStatus::Valid(status) => status.change_transaction_depth(change),
            TransactionManagerStatus::InError => Err(DieselError::BrokenTransactionManager),
        }
    }
}
