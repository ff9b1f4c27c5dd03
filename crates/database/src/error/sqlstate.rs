//! Maps errors of the database to [`DatabaseError`]: by SQLSTATE on PostgreSQL, by the message on
//! SQLite.

use diesel::result::Error as DieselError;
use postgres_client::sqlstate;

use super::DatabaseError;

impl DatabaseError {
    /// Whether the error is a lock timeout or a conflict between transactions.
    pub fn is_contention(error: &DieselError) -> bool {
        match (sqlstate(error), error) {
            (Some(state), _) => COLLISIONS.contains(&state) || state == LOCK_NOT_AVAILABLE,
            (None, DieselError::DatabaseError(_, information)) => {
                information.message() == SQLITE_BUSY
            }
            (None, _) => false,
        }
    }

    /// Classifies an error of PostgreSQL, or of its connection, by SQLSTATE (PostgreSQL manual,
    /// appendix A).
    fn from_sqlstate(state: &str, error: DieselError) -> Self {
        match (state.get(..2).unwrap_or_default(), state) {
            // statement_completion_unknown
            (_, postgres_client::OUTCOME_UNKNOWN | "40003") => Self::OutcomeUnknown(error.into()),
            (_, state) if COLLISIONS.contains(&state) => Self::Collided,
            (_, LOCK_NOT_AVAILABLE) => Self::Busy,
            // read_only_sql_transaction
            (_, "25006") => Self::ReadOnly(error),
            // disk_full
            (_, "53100") => Self::NoSpace(error),
            // connection_exception; admin_shutdown, crash_shutdown, cannot_connect_now,
            // database_dropped, idle_session_timeout; idle_in_transaction_session_timeout
            // invalid_sql_statement_name: the session is not the one that prepared the statement
            ("08", _)
            | (_, "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" | "26000") => {
                Self::ConnectionLost(error)
            }
            (_, state) if FAULTS.contains(&state) => Self::from_fault(&error),
            // insufficient_resources, query_canceled. program_limit_exceeded is not temporary.
            ("53", _) | (_, "57014") => Self::ServerUnavailable(error),
            // system_error, internal_error of a server that is failing
            ("58" | "XX", _) => Self::ServerUnavailable(error),
            _ => Self::Query(error),
        }
    }

    /// A fault with the text of the database, which names the object and contains no values of
    /// rows.
    fn from_fault(error: &DieselError) -> Self {
        Self::DatabaseFault(error.to_string().into())
    }
}

/// The SQLSTATEs of a database that is damaged or lacks a requirement of the register.
const FAULTS: [&str; 14] = [
    "3D000", // invalid_catalog_name
    "3F000", // invalid_schema_name
    "42501", // insufficient_privilege
    "42703", // undefined_column
    "42704", // undefined_object
    "42804", // datatype_mismatch
    "42809", // wrong_object_type
    "42883", // undefined_function
    "42P01", // undefined_table
    "42P10", // invalid_column_reference: a unique constraint is missing
    "55000", // object_not_in_prerequisite_state
    "F0000", // config_file_error
    "XX001", // data_corrupted
    "XX002", // index_corrupted
];
/// The SQLSTATEs of conflicts between transactions: `serialization_failure`, `deadlock_detected`.
const COLLISIONS: [&str; 2] = ["40001", "40P01"];
/// The SQLSTATE of a lock timeout: `lock_not_available`.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// SQLite's message for a lock timeout.
const SQLITE_BUSY: &str = "database is locked";
/// SQLite's message for a full disk or database.
const SQLITE_FULL: &str = "database or disk is full";
/// SQLite's message for a read-only file.
const SQLITE_READONLY: &str = "attempt to write a readonly database";
/// The beginnings of SQLite's messages for a file that is damaged, unreadable, or lacks a
/// requirement of the register.
const SQLITE_FAULTS: [&str; 11] = [
    "access permission denied",
    "database disk image is malformed",
    "disk I/O error",
    "file is not a database",
    "locking protocol",
    "no such column",
    "no such function",
    "no such index",
    "no such table",
    "out of memory",
    "unable to open database file",
];
/// SQLite's message for a missing column, behind the name of the table.
const SQLITE_NO_COLUMN: &str = " has no column named ";

/// Maps an error of diesel to [`DatabaseError`].
///
/// diesel does not pass on most result codes of SQLite, so the relevant conditions are recognised
/// by their messages, which are constants in SQLite's source (`sqlite3ErrStr`).
impl From<DieselError> for DatabaseError {
    fn from(error: DieselError) -> Self {
        if let DieselError::RollbackErrorOnCommit { commit_error, .. } = error {
            // The failed commit is the cause; the rollback failed because of it.
            return Self::from(*commit_error);
        }
        if let Some(state) = sqlstate(&error).map(str::to_owned) {
            return Self::from_sqlstate(&state, error);
        }
        if let DieselError::DatabaseError(_, information) = &error {
            match information.message() {
                SQLITE_BUSY => return Self::Busy,
                SQLITE_FULL => return Self::NoSpace(error),
                SQLITE_READONLY => return Self::ReadOnly(error),
                message
                    if SQLITE_FAULTS.iter().any(|fault| message.starts_with(fault))
                        || message.contains(SQLITE_NO_COLUMN) =>
                {
                    return Self::from_fault(&error);
                }
                _ => {}
            }
        }
        // diesel marks an unusable connection this way.
        if matches!(error, DieselError::BrokenTransactionManager) {
            Self::ConnectionLost(error)
        } else {
            Self::Query(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::result::DatabaseErrorKind;

    use super::*;

    fn refusal(message: &str) -> DieselError {
        DieselError::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned()))
    }

    #[test]
    fn read_only_sqlite_file_is_temporary_error() {
        let error = DatabaseError::from(refusal("attempt to write a readonly database"));
        assert!(
            matches!(error, DatabaseError::ReadOnly(_)) && error.is_temporary(),
            "{error:?}"
        );
    }

    #[test]
    fn fault_of_sqlite_file_names_object() {
        for message in [
            "no such table: trainees",
            "table trainees has no column named state",
            "disk I/O error",
        ] {
            let error = DatabaseError::from(refusal(message));
            assert!(
                matches!(&error, DatabaseError::DatabaseFault(reason) if **reason == *message),
                "{error:?}"
            );
            assert!(error.to_string().contains(message) && error.is_temporary());
        }
        assert!(matches!(
            DatabaseError::from(refusal("near \"SELEC\": syntax error")),
            DatabaseError::Query(_)
        ));
    }

    #[test]
    fn failed_rollback_after_commit_reports_commit_error() {
        let error = DieselError::RollbackErrorOnCommit {
            rollback_error: Box::new(refusal("cannot rollback - no transaction is active")),
            commit_error: Box::new(refusal("database is locked")),
        };
        assert!(matches!(
            DatabaseError::from_lost_transaction(error),
            DatabaseError::Busy
        ));
    }
}
