//! Commits whose success is certain.
//!
//! PostgreSQL answers the COMMIT of a failed transaction with a rollback and no error; that of no transaction with a warning;
//! and with a warning, too, when the wait for a synchronous standby was cancelled. tokio-postgres passes on neither the
//! answer's name nor the state of the transaction. But every statement goes through this connection, so whether one has
//! failed is known here, and every warning is seen.

use tokio_postgres::error::DbError;

use crate::error::{FAILED_TRANSACTION, Failure, OUTCOME_UNKNOWN};

/// The SQLSTATE of a COMMIT outside a transaction.
const NO_TRANSACTION: &str = "25P01";

/// What is known of the transaction that is open.
#[derive(Debug, Default)]
pub(crate) struct Soundness {
    has_failed: bool,
}

/// What a statement does to a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boundary {
    Begin,
    Commit,
    RollBack,
    /// It stays within.
    None,
}

impl Boundary {
    pub(crate) fn of(sql: &str) -> Self {
        let first = sql.split_whitespace().next().unwrap_or_default();
        match first.trim_end_matches(';').to_ascii_uppercase().as_str() {
            "BEGIN" => Self::Begin,
            "COMMIT" => Self::Commit,
            // Also to a savepoint, behind which the transaction is sound again.
            "ROLLBACK" => Self::RollBack,
            _ => Self::None,
        }
    }
}

impl Soundness {
    /// Takes note of what became of a statement.
    pub(crate) fn after<T>(&mut self, boundary: Boundary, outcome: &Result<T, Failure>) {
        match (boundary, outcome) {
            (Boundary::Begin | Boundary::Commit | Boundary::RollBack, Ok(_)) => self.has_failed = false,
            (_, Err(_)) => self.has_failed = true,
            (Boundary::None, Ok(_)) => {}
        }
    }

    /// Whether the transaction can be committed.
    ///
    /// # Errors
    ///
    /// That a statement has failed in it.
    pub(crate) fn require(&self) -> Result<(), Failure> {
        if self.has_failed {
            return Err(Failure::local(FAILED_TRANSACTION, "a statement of the transaction has failed before"));
        }
        Ok(())
    }
}

/// Whether a COMMIT with these warnings has kept the transaction for sure.
pub(crate) fn require_no_warning(warnings: &[DbError]) -> Result<(), Failure> {
    match warnings.first() {
        None => Ok(()),
        Some(warning) if warning.code().code() == NO_TRANSACTION => {
            Err(Failure::local(NO_TRANSACTION, "the transaction had ended before its COMMIT"))
        }
        Some(warning) => Err(Failure::local(
            OUTCOME_UNKNOWN,
            format!("COMMIT was answered with a warning: {} (SQLSTATE {})", warning.message(), warning.code().code()),
        )),
    }
}
