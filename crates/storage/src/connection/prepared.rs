//! Statements of SQLite that begin and end transactions and savepoints, and stay prepared.
//!
//! diesel keeps a statement prepared that has a type of its own, and prepares text anew at each execution.

use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl, SqliteConnection};

use super::DatabaseConnection;

/// Begins a transaction that reads.
#[derive(Debug, Clone, Copy, QueryId)]
pub(crate) struct Begin;

/// Commits the transaction.
#[derive(Debug, Clone, Copy, QueryId)]
pub(crate) struct Commit;

/// Rolls the transaction back.
#[derive(Debug, Clone, Copy, QueryId)]
pub(crate) struct RollBack;

/// Opens the savepoint around a job of the writer.
#[derive(Debug, Clone, Copy, QueryId)]
pub(crate) struct OpenSavepoint;

/// Takes back what was done since the savepoint was opened, and leaves it open.
#[derive(Debug, Clone, Copy, QueryId)]
pub(crate) struct RollBackToSavepoint;

/// Closes the savepoint, and keeps what was done.
#[derive(Debug, Clone, Copy, QueryId)]
pub(crate) struct ReleaseSavepoint;

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
    OpenSavepoint => "SAVEPOINT job",
    RollBackToSavepoint => "ROLLBACK TO SAVEPOINT job",
    ReleaseSavepoint => "RELEASE SAVEPOINT job",
}

impl DatabaseConnection {
    /// Runs one of the statements on SQLite, and nothing on PostgreSQL.
    pub(crate) fn run_prepared(
        &mut self,
        statement: impl QueryFragment<Sqlite> + QueryId + RunQueryDsl<SqliteConnection>,
    ) -> Result<(), DieselError> {
        let Self::Sqlite(inner) = self else { return Ok(()) };
        statement.execute(inner).map(|_| ())
    }
}
