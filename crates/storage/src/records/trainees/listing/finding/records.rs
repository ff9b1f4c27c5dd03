//! Reads the records of a page.
//!
//! On SQLite the keys of a page are found first, and the records by them: both are calls. On
//! PostgreSQL one statement does both, since each is a round trip.

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

/// The trainees that a walk finds on PostgreSQL, in the order of the list. Directly, the records
/// are read along the walk, also of those that it passes by; otherwise the walk stays inside its
/// index, and the records are read by the keys that it finds.
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

/// What is read of a trainee on PostgreSQL.
type Row = (Option<NaiveDateTime>, i64, i64, String);

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

/// Whether the key of a trainee is one of those that a query finds, which runs first and once. As
/// an array they are few for PostgreSQL, however many rows it expects of the query, so that it
/// looks each of them up.
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

/// The trainees that a query finds, in its order, each read along the way.
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

/// The provider's trainees with these keys, in this order. On SQLite only the last one has the date
/// of its last change.
pub(super) fn load_by_keys(
    connection: &mut DatabaseConnection,
    provider: i64,
    keys: &[i64],
) -> Result<Vec<Listed>, StorageError> {
    let rows = documents::load_by_keys(connection, provider, keys)?;
    let listed = |(key, updated_at, changed_in, record)| Listed {
        updated_at,
        changed_in,
        document: TraineeDocument { key, record },
    };
    let mut listed: Vec<Listed> = rows.into_iter().map(listed).collect();
    if !listed.iter().map(|one| &one.document.key).eq(keys) {
        let places: HashMap<i64, usize> = keys
            .iter()
            .enumerate()
            .map(|(place, key)| (*key, place))
            .collect();
        listed.sort_unstable_by_key(|one| places.get(&one.document.key).copied());
    }
    Ok(listed)
}
