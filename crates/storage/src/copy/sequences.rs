//! The next key of each table: the target goes on where the source would have gone on.
//!
//! That is not always behind the last row: the last rows may have been removed, and their keys must not come again.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::CopyError;
use super::tables::{Copied, Visitor, visit_all};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;

#[derive(QueryableByName)]
struct LastKey {
    #[diesel(sql_type = Nullable<BigInt>)]
    key: Option<i64>,
}

#[derive(QueryableByName)]
struct Sequence {
    #[diesel(sql_type = Text)]
    name: String,
}

/// Sets each sequence of the target behind the last key that the source has given.
pub(super) fn align(source: &mut DatabaseConnection, target: &mut DatabaseConnection) -> Result<(), CopyError> {
    visit_all(&mut Alignment { source, target })
}

struct Alignment<'a> {
    source: &'a mut DatabaseConnection,
    target: &'a mut DatabaseConnection,
}

impl Visitor for Alignment<'_> {
    type Error = CopyError;

    fn visit<R: Copied>(&mut self) -> Result<(), CopyError> {
        // Only a key of its own is counted up; other keys are made of what rows say.
        if R::COLUMNS.first() != Some(&"id") {
            return Ok(());
        }
        match last_key(self.source, R::TABLE).map_err(CopyError::Source)? {
            Some(key) => set_last_key(self.target, R::TABLE, key).map_err(CopyError::Target),
            None => Ok(()),
        }
    }
}

/// The last key that a table has given; `None` when it has given none.
pub(super) fn last_key(connection: &mut DatabaseConnection, table: &str) -> Result<Option<i64>, StorageError> {
    let found = match connection {
        DatabaseConnection::Postgres(inner) => {
            let sequence = diesel::sql_query("SELECT pg_get_serial_sequence($1, 'id') AS name")
                .bind::<Text, _>(table)
                .get_result::<Sequence>(inner)?;
            // A sequence stands still while rows come in with keys of their own.
            let query = format!(
                "SELECT greatest(CASE WHEN is_called THEN last_value END, (SELECT max(id) FROM {table})) AS key FROM {}",
                sequence.name
            );
            diesel::sql_query(query).get_result::<LastKey>(inner)?
        }
        DatabaseConnection::Sqlite(inner) => {
            diesel::sql_query("SELECT (SELECT seq FROM sqlite_sequence WHERE name = ?) AS key")
                .bind::<Text, _>(table)
                .get_result::<LastKey>(inner)?
        }
    };
    Ok(found.key)
}

fn set_last_key(connection: &mut DatabaseConnection, table: &str, key: i64) -> Result<(), StorageError> {
    match connection {
        DatabaseConnection::Postgres(inner) => {
            diesel::sql_query("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)")
                .bind::<Text, _>(table)
                .bind::<BigInt, _>(key)
                .execute(inner)?;
        }
        DatabaseConnection::Sqlite(inner) => {
            // A table from which all rows were removed has no line here in the target.
            let changed = diesel::sql_query("UPDATE sqlite_sequence SET seq = ? WHERE name = ?")
                .bind::<BigInt, _>(key)
                .bind::<Text, _>(table)
                .execute(inner)?;
            if changed == 0 {
                diesel::sql_query("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)")
                    .bind::<Text, _>(table)
                    .bind::<BigInt, _>(key)
                    .execute(inner)?;
            }
        }
    }
    Ok(())
}
