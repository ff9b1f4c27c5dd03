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

/// Opens the savepoint around a job of the writer. The name is diesel's name for the first
/// savepoint in a transaction.
const OPEN_SAVEPOINT: &str = "SAVEPOINT diesel_savepoint_1";
/// Rolls back to the savepoint, which stays open.
const ROLL_BACK_TO_SAVEPOINT: &str = "ROLLBACK TO SAVEPOINT diesel_savepoint_1";
/// Releases the savepoint and keeps its changes.
const RELEASE_SAVEPOINT: &str = "RELEASE SAVEPOINT diesel_savepoint_1";

/// Begins a transaction that reads.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Begin;

/// Commits the transaction.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Commit;

/// Rolls the transaction back.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct RollBack;

/// [`OPEN_SAVEPOINT`] on SQLite.
#[derive(Debug, Clone, Copy, QueryId)]
struct OpenSavepoint;

/// [`ROLL_BACK_TO_SAVEPOINT`] on SQLite.
#[derive(Debug, Clone, Copy, QueryId)]
struct RollBackToSavepoint;

/// [`RELEASE_SAVEPOINT`] on SQLite.
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
    ($($name:ident => $sql:expr,)*) => {$(
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
    OpenSavepoint => OPEN_SAVEPOINT,
    RollBackToSavepoint => ROLL_BACK_TO_SAVEPOINT,
    ReleaseSavepoint => RELEASE_SAVEPOINT,
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

    /// Opens the first savepoint in a transaction, like diesel's transaction manager. The statement
    /// is prepared on SQLite, and deferred on PostgreSQL.
    pub(crate) fn open_savepoint(&mut self) -> Result<(), DieselError> {
        match self {
            Self::Postgres(inner) => {
                inner.deferring(|inner| inner.batch_execute(OPEN_SAVEPOINT))?;
            }
            Self::Sqlite(inner) => drop(OpenSavepoint.execute(inner)?),
        }
        self.change_depth(TransactionDepthChange::IncreaseDepth)
    }

    /// Rolls back to the savepoint, which stays open. Reports failures that diesel may treat as a
    /// success.
    pub(crate) fn roll_back_to_savepoint(&mut self) -> Result<(), DieselError> {
        match self {
            Self::Postgres(inner) => inner.batch_execute(ROLL_BACK_TO_SAVEPOINT),
            Self::Sqlite(inner) => RollBackToSavepoint.execute(inner).map(drop),
        }
    }

    /// Releases the savepoint and keeps its changes. The statement is deferred on PostgreSQL: if a
    /// deferred statement behind the savepoint fails, a later statement reports it and the
    /// transaction is lost.
    pub(crate) fn release_savepoint(&mut self) -> Result<(), DieselError> {
        match self {
            Self::Postgres(inner) => {
                inner.deferring(|inner| inner.batch_execute(RELEASE_SAVEPOINT))?;
            }
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
