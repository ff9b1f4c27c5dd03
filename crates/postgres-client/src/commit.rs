//! Makes sure that a successful COMMIT has committed the transaction.
//!
//! PostgreSQL does not answer every COMMIT without effect with an error:
//!
//! - the COMMIT of a failed transaction rolls it back and succeeds;
//! - the COMMIT outside a transaction succeeds with a warning;
//! - a COMMIT whose wait for a synchronous standby was cancelled succeeds with a warning.
//!
//! tokio-postgres reports neither the command tag of the answer nor the state of the transaction.
//! All statements go through this connection, so the connection itself records whether one has
//! failed, and collects every warning.

use tokio_postgres::error::DbError;

use crate::error::{FAILED_TRANSACTION, OUTCOME_UNKNOWN, PostgresError};

/// The SQLSTATE of a COMMIT outside a transaction.
const NO_TRANSACTION: &str = "25P01";

/// The state of the open transaction.
#[derive(Debug, Default)]
pub(crate) struct TransactionStatus {
    has_failed: bool,
}

/// The effect of a statement on the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementKind {
    Begin,
    Commit,
    RollBack,
    /// Neither begins nor ends a transaction.
    Other,
}

impl StatementKind {
    /// The effect of a statement, by its first word.
    pub(crate) fn from_sql(sql: &str) -> Self {
        let first = sql.split_whitespace().next().unwrap_or_default();
        match first.trim_end_matches(';').to_ascii_uppercase().as_str() {
            "BEGIN" => Self::Begin,
            "COMMIT" => Self::Commit,
            // This includes a rollback to a savepoint: the transaction is valid again after it.
            "ROLLBACK" => Self::RollBack,
            _ => Self::Other,
        }
    }
}

impl TransactionStatus {
    /// Records the outcome of a statement.
    pub(crate) fn after<T>(&mut self, kind: StatementKind, outcome: &Result<T, PostgresError>) {
        match (kind, outcome) {
            (StatementKind::Begin | StatementKind::Commit | StatementKind::RollBack, Ok(_)) => {
                self.has_failed = false;
            }
            (_, Err(_)) => self.has_failed = true,
            (StatementKind::Other, Ok(_)) => {}
        }
    }

    /// Fails if a statement of the transaction has failed.
    ///
    /// # Errors
    ///
    /// An error with the SQLSTATE `in_failed_sql_transaction`.
    pub(crate) fn require(&self) -> Result<(), PostgresError> {
        if self.has_failed {
            return Err(PostgresError::local(
                FAILED_TRANSACTION,
                "a statement of the transaction has failed before",
            ));
        }
        Ok(())
    }
}

/// Fails unless a COMMIT with these warnings is certain to have committed the transaction.
pub(crate) fn require_no_warning(warnings: &[DbError]) -> Result<(), PostgresError> {
    match warnings.first() {
        None => Ok(()),
        Some(warning) if warning.code().code() == NO_TRANSACTION => Err(PostgresError::local(
            NO_TRANSACTION,
            "the transaction had ended before its COMMIT",
        )),
        Some(warning) => Err(PostgresError::local(
            OUTCOME_UNKNOWN,
            format!(
                "COMMIT was answered with a warning: {} (SQLSTATE {})",
                warning.message(),
                warning.code().code()
            ),
        )),
    }
}
