//! One connection to either database.
//!
//! Knows nothing of jobs or groups: only how transactions begin and end on either database.

mod connect_retry;
mod database_connection;
mod database_file;
pub mod fixed_expression;
mod manager;
pub mod prepared;
mod queued;
mod statement_counter;
mod static_query;

use std::time::Instant;

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::result::Error as DieselError;
use postgres_client::PostgresConnection;

pub use self::database_connection::DatabaseConnection;
pub(crate) use self::database_file::KeptOpen;
pub use self::manager::{Connections, PROBE_TIMEOUT};
pub(crate) use self::manager::{LogPoolErrors, PageCaches};
pub use self::queued::{Borrowed, QueryQueue, QueuedQuery};
pub use self::static_query::{StaticQuery, StaticUpdate, static_query, static_update};
use crate::error::DatabaseError;

/// Runs a query on the connection that a [`DatabaseConnection`] holds, whichever it is:
/// `with_inner!(connection, |inner| query.get_result(inner))`.
///
/// The enum's connection builds the SQL of a query at every execution, to look for its prepared
/// statement; a connection of its own finds the statement of a static query by the type of the
/// query. So the queries that every request makes are run this way. Such a query is static, that is
/// neither boxed nor with `sql(..)` in it, and on SQLite it has no `eq_any`.
///
/// The query stands in the program once for each database. It is made before, or in place.
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
/// `execute_deferred!(connection, |inner| query.execute(inner))`. On PostgreSQL it is sent together
/// with the next one, COMMIT at the latest, and its failure is that of the next one.
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

/// What diesel knows of both databases together.
pub type Backend = <DatabaseConnection as diesel::Connection>::Backend;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read rows by their keys. On PostgreSQL there is no transaction: each query sees what is
    /// committed when it runs.
    LookUp,
    /// Read one snapshot.
    Read,
    /// Change rows.
    Write,
}

impl DatabaseConnection {
    /// Begins the outermost transaction.
    ///
    /// A reading one sees one snapshot, however many queries it makes. A writing one on SQLite
    /// takes the write lock at once, so that it never has to give up half-way because another
    /// process was faster. On PostgreSQL the statement goes along with the next one, and its
    /// failure is that of the next one; one that writes is awaited where statements behind a failed
    /// BEGIN could write.
    pub fn begin(&mut self, access: Access) -> Result<(), DieselError> {
        match (self, access) {
            (Self::Postgres(_), Access::LookUp) => Ok(()),
            (Self::Postgres(inner), Access::Read) => {
                inner.deferring(|inner| begin_on_postgres(inner, "REPEATABLE READ READ ONLY"))
            }
            (Self::Postgres(inner), Access::Write) => {
                inner.begin_writing(|inner| begin_on_postgres(inner, "READ COMMITTED READ WRITE"))
            }
            (Self::Sqlite(inner), Access::LookUp | Access::Read) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN")
            }
            (Self::Sqlite(inner), Access::Write) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN IMMEDIATE")
            }
        }
    }

    /// Commits the innermost transaction or savepoint that diesel counts. When this returns, it is
    /// certain that it was kept; [`DatabaseError::OutcomeUnknown`] where that is not known.
    pub fn commit(&mut self) -> Result<(), DieselError> {
        Self::commit_transaction(self)
    }

    /// Ends a transaction that has changed nothing, if one is open. On PostgreSQL this does not
    /// wait for the answer.
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

    /// How many statements were executed on PostgreSQL, which queries are not.
    pub fn executed(&self) -> u64 {
        if let Self::Postgres(inner) = self {
            inner.executed()
        } else {
            0
        }
    }

    /// The transactions and savepoints that a job finds open.
    pub fn depth_of(&self, access: Access) -> u32 {
        match (self, access) {
            (Self::Postgres(_), Access::LookUp) => 0,
            (Self::Postgres(_) | Self::Sqlite(_), _) => 1,
        }
    }

    /// Rolls the innermost transaction or savepoint back that diesel counts. When this returns, its
    /// locks are released: a client that was refused may send its request again at once.
    pub fn roll_back(&mut self) -> Result<(), DieselError> {
        Self::rollback_transaction(self)
    }

    /// Until when PostgreSQL may take to answer. SQLite has its busy timeout.
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

    /// Whether each answer is a round trip to a server.
    pub fn is_remote(&self) -> bool {
        self.either(true, false)
    }

    /// Gives the connection up: the pool drops it.
    pub fn close(&mut self) {
        if let Self::Postgres(inner) = self {
            inner.close();
        }
    }

    /// What is meant for the database that is connected.
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

fn begin_on_postgres(connection: &mut PostgresConnection, mode: &str) -> Result<(), DieselError> {
    AnsiTransactionManager::begin_transaction_sql(
        connection,
        &format!("BEGIN ISOLATION LEVEL {mode}"),
    )
}
