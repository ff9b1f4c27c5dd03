//! Reads the documents of trainees.

use std::fmt::Write as _;

use chrono::NaiveDateTime;
use database::connection::{Backend, DatabaseConnection};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Json, Nullable, Text, Timestamp};
use diesel::sqlite::Sqlite;
use stored_document::JsonText;

use crate::error::StorageError;
use crate::schema::trainees;

/// Key, date of the last change, position and document of a trainee.
type Row = (i64, Option<NaiveDateTime>, i64, JsonText);

/// The provider's trainees with these keys, in any order. On SQLite only the trainee with the last
/// key has a date: SQLite stores dates as text, which is slow to parse.
pub(super) fn load_by_keys(
    connection: &mut DatabaseConnection,
    provider: i64,
    keys: &[i64],
) -> Result<Vec<Row>, StorageError> {
    // On SQLite the query filters by key only: with another condition SQLite might scan all
    // trainees of the provider. All keys belong to the provider.
    Ok(match connection {
        DatabaseConnection::Postgres(inner) => trainees::table
            .filter(trainees::id.eq_any(keys))
            .filter(trainees::provider_id.eq(provider))
            .select((
                trainees::id,
                trainees::updated_at,
                trainees::position,
                trainees::record,
            ))
            .load(inner)?,
        DatabaseConnection::Sqlite(inner) => DocumentsByKey::new(keys).load(inner)?,
    })
}

/// The column `record` as text, for PostgreSQL, which sends `json` as text. The backend for both
/// databases does not support JSON.
#[derive(Debug, Clone, Copy, QueryId)]
pub(super) struct RecordText;

impl Expression for RecordText {
    type SqlType = Text;
}

impl AppearsOnTable<trainees::table> for RecordText {}

impl SelectableExpression<trainees::table> for RecordText {}

impl ValidGrouping<()> for RecordText {
    type IsAggregate = is_aggregate::No;
}

impl QueryFragment<Backend> for RecordText {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        trainees::record.walk_ast(out.reborrow())
    }
}

/// Selects rows by key on SQLite. Unlike `IN` with a list of values, the statement is the same for
/// any number of keys and stays prepared.
#[derive(Debug, QueryId)]
struct DocumentsByKey {
    /// The keys, as a JSON array.
    keys: String,
    /// The key of the only trainee whose date is read.
    last: Option<i64>,
}

impl DocumentsByKey {
    fn new(keys: &[i64]) -> Self {
        // Room for keys of up to 7 digits and a comma. The text grows for longer keys.
        let mut list = String::with_capacity(keys.len() * 8);
        for key in keys {
            list.push(if list.is_empty() { '[' } else { ',' });
            // Writing to a `String` cannot fail.
            let _ = write!(list, "{key}");
        }
        list.push_str(if list.is_empty() { "[]" } else { "]" });
        Self {
            keys: list,
            last: keys.last().copied(),
        }
    }
}

impl Query for DocumentsByKey {
    type SqlType = (BigInt, Nullable<Timestamp>, BigInt, Json);
}

impl RunQueryDsl<SqliteConnection> for DocumentsByKey {}

impl QueryFragment<Sqlite> for DocumentsByKey {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("SELECT trainees.id, CASE WHEN trainees.id = ");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.last)?;
        out.push_sql(
            " THEN trainees.updated_at END, trainees.position, trainees.record FROM json_each(",
        );
        out.push_bind_param::<Text, _>(&self.keys)?;
        out.push_sql(") AS wanted CROSS JOIN trainees ON trainees.id = wanted.value");
        Ok(())
    }
}
