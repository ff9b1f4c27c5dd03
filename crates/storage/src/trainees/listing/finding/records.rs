//! Reads the records of a page.
//!
//! On SQLite the keys of a page are found first, and the records by them: both are calls. On PostgreSQL one statement does both,
//! since each is a round trip.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Json, Text};
use diesel::sqlite::Sqlite;
use domain::listing::Order;

use super::{Trainees, sort};
use crate::connection::{Backend, DatabaseConnection};
use crate::document::JsonText;
use crate::error::StorageError;
use crate::schema::trainees;
use crate::trainees::TraineeDocument;

/// The trainees that a walk finds on PostgreSQL, in the order of the list. Directly, the records are read along the walk, also
/// of those that it passes by; otherwise the walk stays inside its index, and the records are read by the keys that it finds.
pub(super) fn of_walk(
    connection: &mut DatabaseConnection,
    walk: Trainees,
    order: Order,
    directly: bool,
) -> Result<Vec<TraineeDocument>, StorageError> {
    let columns = (trainees::updated_at, trainees::id, RecordText);
    let mut found: Vec<(Option<NaiveDateTime>, i64, String)> = if directly {
        walk.select(columns).load(connection)?
    } else {
        trainees::table.filter(KeyIn { keys: walk.select(trainees::id) }).select(columns).load(connection)?
    };
    sort(&mut found, order, |(changed, key, _)| (*changed, *key));
    Ok(found.into_iter().map(|(_, key, record)| TraineeDocument { key, record: JsonText(record) }).collect())
}

/// The column `record` on PostgreSQL, whose `json` is sent as its text. The enum of both connections knows no JSON.
#[derive(Debug, Clone, Copy, QueryId)]
struct RecordText;

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

/// Whether the key of a trainee is one of those that a query finds, which runs first and once. As an array they are few for
/// PostgreSQL, however many rows it expects of the query, so that it looks each of them up.
struct KeyIn {
    keys: trainees::BoxedQuery<'static, Backend, BigInt>,
}

impl Expression for KeyIn {
    type SqlType = Bool;
}

impl AppearsOnTable<trainees::table> for KeyIn {}

impl ValidGrouping<()> for KeyIn {
    type IsAggregate = is_aggregate::No;
}

impl QueryId for KeyIn {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Backend> for KeyIn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        out.push_sql("trainees.id = ANY(ARRAY(");
        QueryFragment::<Backend>::walk_ast(&self.keys, out.reborrow())?;
        out.push_sql("))");
        Ok(())
    }
}

/// The trainees with these keys, in this order.
pub(super) fn of_keys(connection: &mut DatabaseConnection, keys: &[i64]) -> Result<Vec<TraineeDocument>, StorageError> {
    // By key alone: the keys are the provider's, and next to another condition SQLite might rather go through all that the
    // provider has.
    let rows: Vec<(i64, JsonText)> = match connection {
        DatabaseConnection::Postgres(inner) => {
            trainees::table.filter(trainees::id.eq_any(keys)).select((trainees::id, trainees::record)).load(inner)?
        }
        DatabaseConnection::Sqlite(inner) => DocumentsByKey::of(keys).load(inner)?,
    };
    let mut rows: HashMap<i64, JsonText> = rows.into_iter().collect();
    let documents = keys.iter().filter_map(|key| Some(TraineeDocument { key: *key, record: rows.remove(key)? }));
    Ok(documents.collect())
}

/// Selects keys and documents on SQLite, where `IN` with a list of values is a statement of its own for each number of them.
#[derive(Debug, QueryId)]
struct DocumentsByKey {
    /// The keys, as a JSON array.
    keys: String,
}

impl DocumentsByKey {
    fn of(keys: &[i64]) -> Self {
        let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
        Self { keys: format!("[{}]", keys.join(",")) }
    }
}

impl Query for DocumentsByKey {
    type SqlType = (BigInt, Json);
}

impl RunQueryDsl<SqliteConnection> for DocumentsByKey {}

impl QueryFragment<Sqlite> for DocumentsByKey {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("SELECT trainees.id, trainees.record FROM json_each(");
        out.push_bind_param::<Text, _>(&self.keys)?;
        out.push_sql(") AS wanted CROSS JOIN trainees ON trainees.id = wanted.value");
        Ok(())
    }
}
