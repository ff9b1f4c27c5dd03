//! Copies the last assigned key of each table, so that the target continues after it.
//!
//! The last assigned key may be higher than that of the last row, because later rows may have been
//! removed. Their keys must not be used again.

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

/// The last assigned key of a table; `None` if there is none.
pub(super) fn last_key(
    connection: &mut DatabaseConnection,
    table: &str,
) -> Result<Option<i64>, StorageError> {
    let query = connection.either(
        // A sequence does not advance when rows are inserted with explicit keys.
        format!(
            "SELECT greatest(pg_sequence_last_value(pg_get_serial_sequence('{table}', 'id')::regclass), \
                             (SELECT max(id) FROM {table})) AS key"
        ),
        // Not all tables have an entry, and a migration that copies no row leaves one with 0.
        format!(
            "SELECT nullif(max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{table}'), 0), \
                               coalesce((SELECT max(id) FROM {table}), 0)), 0) AS key"
        ),
    );
    Ok(diesel::sql_query(query)
        .get_result::<LastKey>(connection)?
        .key)
}

/// Sets the last assigned key of a table.
pub(super) fn set_last_key(
    connection: &mut DatabaseConnection,
    table: &str,
    key: i64,
) -> Result<(), StorageError> {
    let statement = connection.either(
        format!("SELECT setval(pg_get_serial_sequence('{table}', 'id'), {key})"),
        // SQLite has no entry for a table that never had rows.
        format!(
            "DELETE FROM sqlite_sequence WHERE name = '{table}'; \
             INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {key})"
        ),
    );
    Ok(connection.batch_execute(&statement)?)
}
