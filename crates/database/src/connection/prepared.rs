//! Statements of SQLite that begin and end transactions and savepoints or look at their state, and
//! stay prepared.
//!
//! diesel keeps a statement prepared that has its own type, and prepares text at each execution.

use diesel::connection::{
    AnsiTransactionManager, TransactionDepthChange, TransactionManager as _,
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

/// Opens the savepoint around a job of the writer: the first one inside a transaction, by the name
/// that diesel gives it.
#[derive(Debug, Clone, Copy, QueryId)]
struct OpenSavepoint;

/// Takes back what was done since the savepoint was opened, and leaves it open.
#[derive(Debug, Clone, Copy, QueryId)]
struct RollBackToSavepoint;

/// Closes the savepoint, and keeps what was done.
#[derive(Debug, Clone, Copy, QueryId)]
struct ReleaseSavepoint;

/// The number of the state of the file that the transaction sees. It is another one after each
/// commit of another connection, of any process, and means something on one connection only.
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
    /// Runs one of the statements on SQLite, and nothing on PostgreSQL.
    pub fn run_prepared(
        &mut self,
        statement: impl QueryFragment<Sqlite> + QueryId + RunQueryDsl<SqliteConnection>,
    ) -> Result<(), DieselError> {
        let Self::Sqlite(inner) = self else {
            return Ok(());
        };
        statement.execute(inner).map(|_| ())
    }

    /// Opens the first savepoint inside a transaction on SQLite, as diesel's transaction manager
    /// does, which prepares the statement each time; nothing on PostgreSQL.
    pub fn open_savepoint(&mut self) -> Result<(), DieselError> {
        self.run_prepared(OpenSavepoint)?;
        self.change_depth(TransactionDepthChange::IncreaseDepth)
    }

    /// Takes back what was done since the savepoint was opened, and leaves it open. A failure
    /// shows, which diesel may take for a success.
    pub fn roll_back_to_savepoint(&mut self) -> Result<(), DieselError> {
        self.run_prepared(RollBackToSavepoint)
    }

    /// Closes the savepoint, and keeps what was done.
    pub fn release_savepoint(&mut self) -> Result<(), DieselError> {
        self.run_prepared(ReleaseSavepoint)?;
        self.change_depth(TransactionDepthChange::DecreaseDepth)
    }

    fn change_depth(&mut self, change: TransactionDepthChange) -> Result<(), DieselError> {
        let Self::Sqlite(inner) = self else {
            return Ok(());
        };
        match AnsiTransactionManager::transaction_manager_status_mut(inner) {
            TransactionManagerStatus::Valid(status) => status.change_transaction_depth(change),
            TransactionManagerStatus::InError => Err(DieselError::BrokenTransactionManager),
        }
    }
}
