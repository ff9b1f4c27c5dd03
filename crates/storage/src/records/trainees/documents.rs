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

/// What is read of a trainee: key, the date of its last change, its position, and the document.
type Row = (i64, Option<NaiveDateTime>, i64, JsonText);

/// The provider's trainees with these keys, in any order. On SQLite only the one with the last key
/// has a date: dates are text there and take long to parse.
pub(super) fn load_by_keys(
    connection: &mut DatabaseConnection,
    provider: i64,
    keys: &[i64],
) -> Result<Vec<Row>, StorageError> {
    // On SQLite by key alone: the keys are the provider's, and next to another condition it might
    // rather go through all that the provider has.
    Ok(match connection {
        DatabaseConnection::Postgres(inner) => trainees::table
            .filter(trainees::id.eq_any(keys))
            .filter(trainees::provider_id.eq(provider))
            .select((
                trainees::id,
                trainees::updated_at,
                trainees::changed_in,
                trainees::record,
            ))
            .load(inner)?,
        DatabaseConnection::Sqlite(inner) => DocumentsByKey::new(keys).load(inner)?,
    })
}

/// The column `record` on PostgreSQL, whose `json` is sent as its text. The enum of both
/// connections knows no JSON.
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

/// Selects rows on SQLite, where `IN` with a list of values is a statement of its own for each
/// number of them.
#[derive(Debug, QueryId)]
struct DocumentsByKey {
    /// The keys, as a JSON array.
    keys: String,
    /// The key of the trainee whose date is read too.
    last: Option<i64>,
}

impl DocumentsByKey {
    fn new(keys: &[i64]) -> Self {
        let mut list = String::with_capacity(keys.len() * 8);
        for key in keys {
            list.push(if list.is_empty() { '[' } else { ',' });
            // A text takes whatever is written into it.
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
            " THEN trainees.updated_at END, trainees.changed_in, trainees.record FROM json_each(",
        );
        out.push_bind_param::<Text, _>(&self.keys)?;
        out.push_sql(") AS wanted CROSS JOIN trainees ON trainees.id = wanted.value");
        Ok(())
    }
}
