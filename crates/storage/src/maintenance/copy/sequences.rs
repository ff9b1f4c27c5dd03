//! The next key of each table: the target goes on where the source would have gone on.
//!
//! The next key may be far after the last row: the last rows may have been removed, and their keys
//! must not be used again.

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};

use crate::error::StorageError;

#[derive(QueryableByName)]
struct LastKey {
    #[diesel(sql_type = Nullable<BigInt>)]
    key: Option<i64>,
}

/// The last key that the sequence of a table has given; `None` when it has given none.
pub(super) fn last_key(
    connection: &mut DatabaseConnection,
    table: &str,
) -> Result<Option<i64>, StorageError> {
    let query = connection.either(
        // A sequence stands still while rows come in with keys of their own.
        format!(
            "SELECT greatest(pg_sequence_last_value(pg_get_serial_sequence('{table}', 'id')::regclass), \
                             (SELECT max(id) FROM {table})) AS key"
        ),
        format!("SELECT (SELECT seq FROM sqlite_sequence WHERE name = '{table}') AS key"),
    );
    Ok(diesel::sql_query(query)
        .get_result::<LastKey>(connection)?
        .key)
}

/// Sets the sequence of a table behind a key.
pub(super) fn set_last_key(
    connection: &mut DatabaseConnection,
    table: &str,
    key: i64,
) -> Result<(), StorageError> {
    let statement = connection.either(
        format!("SELECT setval(pg_get_serial_sequence('{table}', 'id'), {key})"),
        // The target has no line for a table without rows.
        format!(
            "DELETE FROM sqlite_sequence WHERE name = '{table}'; \
             INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {key})"
        ),
    );
    Ok(connection.batch_execute(&statement)?)
}
