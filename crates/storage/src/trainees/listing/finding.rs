//! Which trainees stand on a page.
//!
//! There are two ways. The trainees of a list can be walked along, in their order, from the nearer end, to where the page
//! is; a list of one state has an index of its own for that, and in any other those that it does not show are passed by. Where
//! many would be passed by, the counts by day say on which day the walk begins.
//! But where a list is narrowed to so few that they would fit on one page, a walk might pass all the others by to meet
//! them: then all of the few are found, by their states or by the day on which they begin, and put in order here.
//!
//! Every query stays inside one index. What a query leaves unsaid, or says otherwise than it might, keeps the databases
//! from taking another.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Json, Text};
use diesel::sqlite::Sqlite;
use domain::State;
use domain::listing::{Listing, MAX_PER_PAGE, Order, Status};

use super::counting::{Count, start_of_walk};
use crate::connection::{Backend, DatabaseConnection};
use crate::document::JsonText;
use crate::error::StorageError;
use crate::schema::trainees;
use crate::trainees::{TraineeDocument, visible};

type Trainees = trainees::BoxedQuery<'static, Backend>;

/// The keys of the trainees on a page that is not past the end, in the order of the list.
pub(super) fn keys(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    today: NaiveDate,
    count: &Count,
) -> Result<Vec<i64>, StorageError> {
    let passes_by = match listing.status {
        Some(status) => status.states().len() > 1,
        None => listing.has_trn.is_some(),
    };
    match &count.states {
        Some(states) if passes_by && count.total <= MAX_PER_PAGE => few(connection, provider, listing, today, states),
        Some(_) | None => walk(connection, provider, listing, today, count.total),
    }
}

/// The trainees with these keys, in this order.
pub(super) fn documents(
    connection: &mut DatabaseConnection,
    keys: &[i64],
) -> Result<Vec<TraineeDocument>, StorageError> {
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

/// Goes along the list, from its nearer end.
fn walk(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    today: NaiveDate,
    total: i64,
) -> Result<Vec<i64>, StorageError> {
    let before = listing.offset();
    let shown = listing.per_page.min(total - before);
    let after = total - before - shown;
    let (forwards, skipped) = (before <= after, before.min(after));
    let newest_first = (listing.order == Order::NewestFirst) == forwards;
    let mut walked = walked(provider, listing, today);
    let mut to_skip = skipped;
    if let Some(start) = start_of_walk(connection, provider, listing, newest_first, skipped)? {
        to_skip -= start.passed;
        let next_day = start.day.succ_opt().unwrap_or(NaiveDate::MAX);
        walked = if newest_first {
            walked.filter(trainees::updated_at.lt(next_day.and_time(NaiveTime::MIN)))
        } else {
            walked.filter(trainees::updated_at.ge(start.day.and_time(NaiveTime::MIN)))
        };
    }
    let ordered = match (listing.order, forwards) {
        (Order::NewestFirst, true) => walked.order((trainees::updated_at.desc(), trainees::id.desc())),
        (Order::NewestFirst, false) => walked.order((trainees::updated_at.asc(), trainees::id.asc())),
        (Order::OldestFirst, true) => walked.order((trainees::updated_at.asc(), trainees::id.desc())),
        (Order::OldestFirst, false) => walked.order((trainees::updated_at.desc(), trainees::id.asc())),
    };
    let mut keys: Vec<i64> = ordered.limit(shown).offset(to_skip).select(trainees::id).load(connection)?;
    if !forwards {
        keys.reverse();
    }
    Ok(keys)
}

/// Finds all that the list shows, which are few: by the day on which they begin where the list asks for it, else by each
/// of the states in which any of them is.
fn few(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    today: NaiveDate,
    states: &[String],
) -> Result<Vec<i64>, StorageError> {
    let queries = if listing.status.and_then(Status::started).is_some() {
        vec![walked(provider, listing, today)]
    } else {
        // One by one: PostgreSQL plans for lists of any length alike, and takes one of states for a list of them all.
        let of_state = |state: &String| {
            narrowed(of_list(provider, listing), listing, today).filter(trainees::state.eq(state.clone()))
        };
        states.iter().map(of_state).collect()
    };
    let mut found: Vec<(Option<NaiveDateTime>, i64)> = Vec::new();
    for query in queries {
        found.extend(query.select((trainees::updated_at, trainees::id)).load::<(_, i64)>(connection)?);
    }
    match listing.order {
        Order::NewestFirst => found.sort_unstable_by_key(|(changed, key)| Reverse((*changed, *key))),
        Order::OldestFirst => found.sort_unstable_by_key(|(changed, key)| (*changed, Reverse(*key))),
    }
    let [skipped, shown] = [listing.offset(), listing.per_page].map(|number| usize::try_from(number).unwrap_or(0));
    Ok(found.into_iter().skip(skipped).take(shown).map(|(_, key)| key).collect())
}

/// The trainees that a list shows, for a walk along it in the order of their changes. Where it shows several states, the
/// query names those that it leaves out: for them no index is a candidate.
pub(super) fn walked(provider: i64, listing: &Listing, today: NaiveDate) -> Trainees {
    let walked = narrowed(of_list(provider, listing), listing, today);
    match listing.status.map(Status::states) {
        None => walked,
        Some([only]) => walked.filter(trainees::state.eq(only.name())),
        Some(states) => {
            let others = State::ALL.iter().copied().filter(|state| !states.contains(state));
            walked.filter(trainees::state.ne_all(others.map(State::name)))
        }
    }
}

/// All trainees of a list, or those that have changed since a moment.
fn of_list(provider: i64, listing: &Listing) -> Trainees {
    let all = trainees::table.into_boxed().filter(visible(provider)).filter(trainees::academic_cycle.eq(listing.cycle));
    match listing.since {
        Some(since) => all.filter(trainees::updated_at.ge(since.naive_utc())),
        None => all,
    }
}

/// Those of them that are asked for, but for the state.
fn narrowed(mut trainees: Trainees, listing: &Listing, today: NaiveDate) -> Trainees {
    trainees = match listing.status.and_then(Status::started) {
        Some(true) => trainees.filter(trainees::itt_start_date.le(today)),
        Some(false) => trainees.filter(trainees::itt_start_date.gt(today)),
        None => trainees,
    };
    match listing.has_trn {
        Some(true) => trainees.filter(trainees::trn.is_not_null()),
        Some(false) => trainees.filter(trainees::trn.is_null()),
        None => trainees,
    }
}
