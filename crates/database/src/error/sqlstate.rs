//! Which of the errors of storage an error of the database is: by SQLSTATE on PostgreSQL, by the
//! message on SQLite.

use diesel::result::Error as DieselError;
use postgres_client::sqlstate;

use super::DatabaseError;

impl DatabaseError {
    /// Whether the error is a lock timeout, or a collision of transactions.
    pub fn is_contention(error: &DieselError) -> bool {
        let of_postgres = sqlstate(error)
            .is_some_and(|state| COLLISIONS.contains(&state) || state == LOCK_NOT_AVAILABLE);
        of_postgres
            || matches!(error, DieselError::DatabaseError(_, information) if information.message() == SQLITE_BUSY)
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
            // insufficient_resources; program_limit_exceeded has no place here; query_canceled
            ("53", _) | (_, "57014") => Self::ServerUnavailable(error),
            // system_error, internal_error of a server that is failing
            ("58" | "XX", _) => Self::ServerUnavailable(error),
            _ => Self::Query(error),
        }
    }

    /// What the database says names the object, and holds no values of rows.
    fn from_fault(error: &DieselError) -> Self {
        Self::DatabaseFault(error.to_string().into())
    }
}

/// The SQLSTATEs of a database that lacks what the register needs, or is damaged.
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
/// The SQLSTATEs of transactions that got into each other's way: `serialization_failure`,
/// `deadlock_detected`.
const COLLISIONS: [&str; 2] = ["40001", "40P01"];
/// The SQLSTATE of a lock timeout: `lock_not_available`.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// SQLite's message for a lock timeout.
const SQLITE_BUSY: &str = "database is locked";
/// How SQLite says that there is no room.
const SQLITE_FULL: &str = "database or disk is full";
/// How SQLite says that it can only read the file.
const SQLITE_READONLY: &str = "attempt to write a readonly database";
/// How SQLite begins to say that the file lacks what the register needs, is damaged, or cannot be
/// read.
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
/// How SQLite says that a table lacks a column, behind the name of the table.
const SQLITE_NO_COLUMN: &str = " has no column named ";

/// Sorts a refusal by the database into the variants of [`DatabaseError`].
///
/// Most result codes of SQLite do not reach us through diesel, so the conditions that matter are
/// known by their texts, which are constants in its source (`sqlite3ErrStr`).
impl From<DieselError> for DatabaseError {
    fn from(error: DieselError) -> Self {
        if let DieselError::RollbackErrorOnCommit { commit_error, .. } = error {
            // Nothing was left that could be rolled back; why the commit failed says more.
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
        // One that diesel knows to be unusable.
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
    fn file_of_sqlite_that_can_only_be_read_is_no_defect() {
        let error = DatabaseError::from(refusal("attempt to write a readonly database"));
        assert!(
            matches!(error, DatabaseError::ReadOnly(_)) && error.is_temporary(),
            "{error:?}"
        );
    }

    #[test]
    fn fault_of_a_file_of_sqlite_names_the_object() {
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
    fn a_commit_that_could_not_even_be_rolled_back_is_reported_by_its_own_failure() {
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
