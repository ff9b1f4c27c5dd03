//! Commits whose success is certain.
//!
//! PostgreSQL answers the COMMIT of a failed transaction with a rollback and no error; that of no
//! transaction with a warning; and with a warning, too, when the wait for a synchronous standby was
//! cancelled. tokio-postgres passes on neither the answer's name nor the state of the transaction.
//! But every statement goes through this connection, so whether one has failed is known here, and
//! every warning is seen.

use tokio_postgres::error::DbError;

use crate::error::{FAILED_TRANSACTION, OUTCOME_UNKNOWN, PostgresError};

/// The SQLSTATE of a COMMIT outside a transaction.
const NO_TRANSACTION: &str = "25P01";

/// What is known of the transaction that is open.
#[derive(Debug, Default)]
pub(crate) struct TransactionStatus {
    has_failed: bool,
}

/// What a statement does to a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementKind {
    Begin,
    Commit,
    RollBack,
    /// Neither begins nor ends a transaction.
    Other,
}

impl StatementKind {
    pub(crate) fn from_sql(sql: &str) -> Self {
        let first = sql.split_whitespace().next().unwrap_or_default();
        match first.trim_end_matches(';').to_ascii_uppercase().as_str() {
            "BEGIN" => Self::Begin,
            "COMMIT" => Self::Commit,
            // Also to a savepoint; the transaction is valid again after that.
            "ROLLBACK" => Self::RollBack,
            _ => Self::Other,
        }
    }
}

impl TransactionStatus {
    /// Takes note of what became of a statement.
    pub(crate) fn after<T>(&mut self, kind: StatementKind, outcome: &Result<T, PostgresError>) {
        match (kind, outcome) {
            (StatementKind::Begin | StatementKind::Commit | StatementKind::RollBack, Ok(_)) => {
                self.has_failed = false
            }
            (_, Err(_)) => self.has_failed = true,
            (StatementKind::Other, Ok(_)) => {}
        }
    }

    /// Whether the transaction can be committed.
    ///
    /// # Errors
    ///
    /// That a statement has failed in it.
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

/// Whether a COMMIT with these warnings has kept the transaction for sure.
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
