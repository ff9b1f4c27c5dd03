//! The key of a trainee that a transaction has just inserted.
//!
//! On PostgreSQL nobody waits for the insertion: it is sent with what follows it, COMMIT included. What follows names the key
//! as the last one that this transaction drew for a trainee.

use diesel::sql_types::BigInt;

use super::fixed_expression::fixed_expressions;

/// By what a row refers to a trainee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraineeKey {
    Known(i64),
    /// That of the last trainee which this transaction has inserted; on PostgreSQL only.
    JustInserted,
}

fixed_expressions! {
    /// [`TraineeKey::JustInserted`] in SQL. The migration `counts_in_fewer_statements` makes sure of the name.
    pub(crate) JustInserted: BigInt = "currval('trainees_id_seq')";
}

/// Inserts a row that refers to a trainee, later: `insert_with_key!(connection, insert_into(table), column, key, other values)`.
macro_rules! insert_with_key {
    ($connection:expr, $table:expr, $column:expr, $key:expr, $values:expr) => {
        match (&mut *$connection, $key) {
            (
                $crate::connection::DatabaseConnection::Postgres(inner),
                $crate::connection::inserted::TraineeKey::JustInserted,
            ) => {
                let key = $crate::connection::inserted::JustInserted;
                inner.deferring(|inner| $table.values(($column.eq(key), $values)).execute(inner))
            }
            (connection, key) => {
                // Only PostgreSQL leaves a key unknown.
                let key = key.known().unwrap_or_default();
                let query = $table.values(($column.eq(key), $values));
                $crate::connection::execute_deferred!(connection, |inner| query.execute(inner))
            }
        }
    };
}
pub(crate) use insert_with_key;

impl TraineeKey {
    pub(crate) fn known(self) -> Option<i64> {
        if let Self::Known(key) = self { Some(key) } else { None }
    }
}
