//! Loads the records of a page.
//!
//! On SQLite one query finds the keys of the page and a second one loads the records. On PostgreSQL
//! one statement does both, to save a round trip.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use database::connection::{Backend, DatabaseConnection};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool};
use domain::listing::Order;
use stored_document::JsonText;

use super::{Listed, Trainees, sort};
use crate::error::StorageError;
use crate::records::trainees::TraineeDocument;
use crate::records::trainees::documents::{self, RecordText};
use crate::schema::trainees;

/// Loads the trainees of a walk on PostgreSQL, in the order of the list.
///
/// If `directly` is true, the walk reads the row of each trainee, including skipped ones. If false,
/// the walk stays inside its index, and the statement then reads the rows by their keys.
pub(super) fn load_walk(
    connection: &mut DatabaseConnection,
    provider: i64,
    walk: Trainees,
    order: Order,
    directly: bool,
) -> Result<Vec<Listed>, StorageError> {
    let columns = (
        trainees::updated_at,
        trainees::id,
        trainees::changed_in,
        RecordText,
    );
    let mut found: Vec<Row> = if directly {
        walk.select(columns).load(connection)?
    } else {
        let found = KeyIn {
            keys: walk.select(trainees::id),
        };
        let trainees = trainees::table
            .filter(found)
            .filter(trainees::provider_id.eq(provider));
        trainees.select(columns).load(connection)?
    };
    sort(&mut found, order, |(changed, key, ..)| (*changed, *key));
    Ok(found.into_iter().map(listed).collect())
}

/// Time of the last change, key, position and document of a trainee on PostgreSQL.
type Row = (Option<NaiveDateTime>, i64, i64, String);

/// Converts a row.
fn listed((updated_at, key, changed_in, record): Row) -> Listed {
    Listed {
        updated_at,
        changed_in,
        document: TraineeDocument {
            key,
            record: JsonText(record),
        },
    }
}

/// SQL condition: the key of a trainee is among the keys that a query returns.
///
/// The query runs first and once. PostgreSQL assumes that an array has few elements, independent of
/// its estimate for the query, and therefore looks up each key.
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

/// Loads the trainees of a query in its order. On PostgreSQL the query reads the rows directly.
pub(super) fn load_query(
    connection: &mut DatabaseConnection,
    provider: i64,
    query: Trainees,
) -> Result<Vec<Listed>, StorageError> {
    if !connection.is_remote() {
        let keys: Vec<i64> = query.select(trainees::id).load(connection)?;
        return load_by_keys(connection, provider, &keys);
    }
    let columns = (
        trainees::updated_at,
        trainees::id,
        trainees::changed_in,
        RecordText,
    );
    let found: Vec<Row> = query.select(columns).load(connection)?;
    Ok(found.into_iter().map(listed).collect())
}

/// Loads the provider's trainees with these keys, in the order of the keys. On SQLite only the last
/// trainee has the time of its last change.
pub(super) fn load_by_keys(
    connection: &mut DatabaseConnection,
    provider: i64,
    keys: &[i64],
) -> Result<Vec<Listed>, StorageError> {
    let rows = documents::load_by_keys(connection, provider, keys)?;
    let mut listed: Vec<Listed> = rows
        .into_iter()
        .map(|(key, updated_at, changed_in, record)| Listed {
            updated_at,
            changed_in,
            document: TraineeDocument { key, record },
        })
        .collect();
    // The database returns the rows in any order, usually in the order of the keys.
    if !listed.iter().map(|found| &found.document.key).eq(keys) {
        let positions: HashMap<i64, usize> = keys
            .iter()
            .enumerate()
            .map(|(position, key)| (*key, position))
            .collect();
        listed.sort_unstable_by_key(|found| positions.get(&found.document.key).copied());
    }
    Ok(listed)
}
