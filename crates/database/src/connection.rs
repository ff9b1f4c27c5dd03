//! A connection to either database.
//!
//! Begins and ends transactions, independently of jobs and groups.

mod connect_retry;
mod database_connection;
mod database_file;
pub mod fixed_expression;
mod manager;
pub mod prepared;
mod statement_counter;
mod static_query;
pub(crate) mod watch;

use std::time::Instant;

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::result::Error as DieselError;
use postgres_client::PostgresConnection;

pub use self::database_connection::DatabaseConnection;
pub(crate) use self::database_file::KeptOpen;
pub use self::manager::{Connections, PROBE_TIMEOUT};
pub(crate) use self::manager::{LogPoolErrors, PageCaches, PooledConnection};
pub use self::static_query::{StaticQuery, StaticUpdate, static_query, static_update};
use crate::error::DatabaseError;

/// Runs a query on the inner connection of a [`DatabaseConnection`]: `with_inner!(connection,
/// |inner| query.get_result(inner))`.
///
/// Through the enum, diesel builds the SQL of a query at every execution to find its prepared
/// statement. Through the inner connection, it finds the prepared statement of a static query by
/// the type of the query. Use this macro for the queries of every request. The query must be
/// static: not boxed, without `sql(..)`, and on SQLite without `eq_any`.
///
/// The macro expands the query expression once for each database.
#[macro_export]
macro_rules! with_inner {
    ($connection:expr, |$inner:ident| $query:expr) => {
        match $connection {
            $crate::connection::DatabaseConnection::Postgres($inner) => $query,
            $crate::connection::DatabaseConnection::Sqlite($inner) => $query,
        }
    };
}
pub use with_inner;

/// Like [`with_inner!`], for a statement whose result the job does not need:
/// `execute_deferred!(connection, |inner| query.execute(inner))`. PostgreSQL receives the statement
/// together with the next one, at the latest with COMMIT, and the next one reports its failure.
#[macro_export]
macro_rules! execute_deferred {
    ($connection:expr, |$inner:ident| $query:expr) => {
        match $connection {
            $crate::connection::DatabaseConnection::Postgres($inner) => {
                $inner.deferring(|$inner| $query)
            }
            $crate::connection::DatabaseConnection::Sqlite($inner) => $query,
        }
    };
}
pub use execute_deferred;

/// The diesel backend of both databases.
pub type Backend = <DatabaseConnection as diesel::Connection>::Backend;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads rows by their keys. Without a transaction on PostgreSQL: each query sees what is
    /// committed when it runs.
    LookUp,
    /// Reads one snapshot.
    Read,
    /// Changes rows.
    Write,
}

impl DatabaseConnection {
    /// Begins the outermost transaction.
    ///
    /// All queries of a reading transaction see one snapshot. A writing transaction on SQLite takes
    /// the write lock at once: a later upgrade of a read lock fails if another process has written
    /// in between.
    ///
    /// On PostgreSQL, BEGIN is sent together with the next statement, which reports a failure of
    /// BEGIN. Exception: BEGIN of a writing transaction waits for its answer if statements behind a
    /// failed BEGIN could write ([`PostgresConnection::before_writes`]).
    pub fn begin(&mut self, access: Access) -> Result<(), DieselError> {
        match (self, access) {
            (Self::Postgres(_), Access::LookUp) => Ok(()),
            (Self::Postgres(inner), Access::Read) => {
                inner.deferring(|inner| begin_on_postgres(inner, "REPEATABLE READ READ ONLY"))
            }
            (Self::Postgres(inner), Access::Write) => {
                inner.before_writes(|inner| begin_on_postgres(inner, "READ COMMITTED READ WRITE"))
            }
            (Self::Sqlite(inner), Access::LookUp | Access::Read) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN")
            }
            (Self::Sqlite(inner), Access::Write) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN IMMEDIATE")
            }
        }
    }

    /// Commits the innermost transaction or savepoint that diesel counts. `Ok` means that the
    /// changes are certainly kept; [`DatabaseError::OutcomeUnknown`] that this is not known.
    pub fn commit(&mut self) -> Result<(), DieselError> {
        Self::commit_transaction(self)
    }

    /// Ends a transaction without changes, if one is open: with a rollback if `has_failed`,
    /// otherwise with a commit. Does not wait for the answer of PostgreSQL.
    pub fn end_reading(&mut self, has_failed: bool) -> Result<(), DieselError> {
        let Self::Postgres(inner) = self else {
            return if has_failed {
                Self::rollback_transaction(self)
            } else {
                Self::commit_transaction(self)
            };
        };
        let status = AnsiTransactionManager::transaction_manager_status_mut(inner);
        if status.transaction_depth()?.is_some() {
            inner.deferring(|inner| match has_failed {
                true => AnsiTransactionManager::rollback_transaction(inner),
                false => AnsiTransactionManager::commit_transaction(inner),
            })?;
            inner.flush();
        }
        Ok(())
    }

    /// The number of statements executed on PostgreSQL, without queries; 0 on SQLite.
    pub fn executed(&self) -> u64 {
        if let Self::Postgres(inner) = self {
            inner.executed()
        } else {
            0
        }
    }

    /// The number of transactions and savepoints that are open when a job begins.
    pub fn depth_of(&self, access: Access) -> u32 {
        match (self, access) {
            (Self::Postgres(_), Access::LookUp) => 0,
            (Self::Postgres(_) | Self::Sqlite(_), _) => 1,
        }
    }

    /// Rolls back the innermost transaction or savepoint that diesel counts. The locks are released
    /// before this returns, so a rejected client may retry at once.
    pub fn roll_back(&mut self) -> Result<(), DieselError> {
        Self::rollback_transaction(self)
    }

    /// Sets the deadline for answers of PostgreSQL. SQLite uses its busy timeout instead.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        if let Self::Postgres(inner) = self {
            inner.set_deadline(deadline);
        }
    }

    /// Whether the server was read-only when the connection was made.
    pub fn is_read_only(&self) -> bool {
        if let Self::Postgres(inner) = self {
            inner.is_read_only()
        } else {
            false
        }
    }

    /// Whether statements are round trips to a server.
    pub fn is_remote(&self) -> bool {
        self.either(true, false)
    }

    /// Closes the connection to PostgreSQL, so that the pool drops it. Does nothing on SQLite.
    pub fn close(&mut self) {
        if let Self::Postgres(inner) = self {
            inner.close();
        }
    }

    /// Returns the value for the connected database.
    pub fn either<T>(&self, postgres: T, sqlite: T) -> T {
        match self {
            Self::Postgres(_) => postgres,
            Self::Sqlite(_) => sqlite,
        }
    }

    /// Fails unless exactly `depth` transactions and savepoints are open.
    pub fn require_depth(&mut self, depth: u32) -> Result<(), DatabaseError> {
        match Self::transaction_manager_status_mut(self).transaction_depth() {
            Ok(open) if open.map_or(0, u32::from) == depth => Ok(()),
            Ok(_) | Err(_) => Err(DatabaseError::TransactionDepth),
        }
    }
}

/// Begins a transaction with an isolation level and an access mode.
fn begin_on_postgres(connection: &mut PostgresConnection, mode: &str) -> Result<(), DieselError> {
    AnsiTransactionManager::begin_transaction_sql(
        connection,
        &format!("BEGIN ISOLATION LEVEL {mode}"),
    )
}
