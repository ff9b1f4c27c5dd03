//! Counts the trainees of a list, and loads those of a page.
//!
//! The keys of a page are found inside an index, and the documents are then read by their keys. On
//! PostgreSQL one statement does both, to save a round trip.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use database::connection::{Backend, DatabaseConnection};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool};
use domain::listing::Order;
use stored_document::JsonText;

use super::query::{ProviderListing, Trainees, select_list};
use crate::error::StorageError;
use crate::records::trainees::TraineeDocument;
use crate::records::trainees::documents::{self, RecordText};
use crate::schema::trainees;

/// A found trainee, with the time and position of its last change.
pub(super) struct Listed {
    /// The time of the last change. Always set for the last trainee of a page, and on PostgreSQL
    /// for all.
    pub(super) updated_at: Option<NaiveDateTime>,
    pub(super) position: i64,
    pub(super) document: TraineeDocument,
}

/// A place in a list: the time of a trainee's last change, and its key.
pub(super) type Place = (NaiveDateTime, i64);

/// The number of trainees of a list.
pub(super) fn count(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
) -> Result<i64, StorageError> {
    Ok(select_list(list).count().get_result(connection)?)
}

/// Loads the trainees of the numbered page.
pub(super) fn load_page(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
) -> Result<Vec<Listed>, StorageError> {
    let listing = list.listing;
    let page = Selected {
        trainees: select_list(list).offset(listing.offset()),
        order: PageOrder::List(listing.order),
        limit: listing.per_page,
    };
    page.load(connection, list.provider)
}

/// Loads the next trainees of a list after a place, up to `limit`.
pub(super) fn load_after(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    (updated_at, key): Place,
    limit: i64,
) -> Result<Vec<Listed>, StorageError> {
    let order = list.listing.order;
    let all = select_list(list);
    let after = match order {
        Order::NewestFirst => all.filter(trainees::updated_at.le(updated_at)).filter(
            trainees::updated_at
                .lt(updated_at)
                .assume_not_null()
                .or(trainees::id.lt(key)),
        ),
        Order::OldestFirst => all.filter(trainees::updated_at.ge(updated_at)).filter(
            trainees::updated_at
                .gt(updated_at)
                .assume_not_null()
                .or(trainees::id.lt(key)),
        ),
    };
    let page = Selected {
        trainees: after,
        order: PageOrder::List(order),
        limit,
    };
    page.load(connection, list.provider)
}

/// Loads the trainees of a list that have changed after a position and key, up to `limit`, in the
/// order of their changes.
pub(super) fn load_changes(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    (position, key): (i64, i64),
    limit: i64,
) -> Result<Vec<Listed>, StorageError> {
    let changed = select_list(list)
        .filter(trainees::position.ge(position))
        .filter(trainees::position.gt(position).or(trainees::id.gt(key)));
    let page = Selected {
        trainees: changed,
        order: PageOrder::Changes,
        limit,
    };
    page.load(connection, list.provider)
}

/// Trainees to load, with their order and their number.
struct Selected {
    trainees: Trainees,
    order: PageOrder,
    limit: i64,
}

/// The order of the trainees on a page.
#[derive(Debug, Clone, Copy)]
enum PageOrder {
    List(Order),
    Changes,
}

impl PageOrder {
    /// Puts trainees into this order.
    fn sort(self, trainees: Trainees) -> Trainees {
        match self {
            Self::List(Order::NewestFirst) => {
                trainees.order((trainees::updated_at.desc(), trainees::id.desc()))
            }
            Self::List(Order::OldestFirst) => {
                trainees.order((trainees::updated_at.asc(), trainees::id.desc()))
            }
            Self::Changes => trainees.order((trainees::position, trainees::id)),
        }
    }
}

/// Time of the last change, key, position and document of a trainee on PostgreSQL.
type Row = (Option<NaiveDateTime>, i64, i64, String);

impl Selected {
    /// Loads the trainees in their order.
    fn load(
        self,
        connection: &mut DatabaseConnection,
        provider: i64,
    ) -> Result<Vec<Listed>, StorageError> {
        let keys = self.order.sort(self.trainees).limit(self.limit);
        let keys = keys.select(trainees::id);
        if !connection.is_remote() {
            let keys: Vec<i64> = keys.load(connection)?;
            return load_by_keys(connection, provider, &keys);
        }
        let found = trainees::table
            .into_boxed()
            .filter(trainees::provider_id.eq(provider))
            .filter(KeyIn { keys });
        let columns = (
            trainees::updated_at,
            trainees::id,
            trainees::position,
            RecordText,
        );
        let rows: Vec<Row> = self.order.sort(found).select(columns).load(connection)?;
        Ok(rows.into_iter().map(listed).collect())
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

/// Converts a row.
fn listed((updated_at, key, position, record): Row) -> Listed {
    Listed {
        updated_at,
        position,
        document: TraineeDocument {
            key,
            record: JsonText(record),
        },
    }
}

/// Loads the provider's trainees with these keys, in the order of the keys. Only the last trainee
/// has the time of its last change.
fn load_by_keys(
    connection: &mut DatabaseConnection,
    provider: i64,
    keys: &[i64],
) -> Result<Vec<Listed>, StorageError> {
    let rows = documents::load_by_keys(connection, provider, keys)?;
    let mut listed: Vec<Listed> = rows
        .into_iter()
        .map(|(key, updated_at, position, record)| Listed {
            updated_at,
            position,
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
