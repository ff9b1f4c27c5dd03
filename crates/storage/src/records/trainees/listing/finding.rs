//! Finds the trainees of a page.
//!
//! Every query uses a single, known index. Some conditions are missing or have an unusual form, so
//! that the planners do not choose another index.

mod records;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use database::connection::{Backend, DatabaseConnection, QueryQueue as _};
use diesel::expression::expression_types::NotSelectable;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use domain::listing::{Order, Status};

use super::counting::{self, Days};
use super::plan::{ListWalk, WalkStart, is_newest_first, passes_by};
use super::query::{
    ProviderListing, Trainees, begun, changed_since, filter_states, narrowed, select_list, walked,
};
use crate::base::pending_result::PendingResult;
use crate::error::StorageError;
use crate::records::change_position::{IsUnseen, Snapshot};
use crate::records::trainees::{TraineeDocument, visible};
use crate::schema::trainees;

/// A walk that skips more trainees than this reads keys instead of whole rows.
const FEW: i64 = 32;

/// A found trainee, with the time and position of its last change.
pub(super) struct Listed {
    /// The time of the last change. Always set for the last trainee of a page, and on PostgreSQL
    /// for all.
    pub(super) updated_at: Option<NaiveDateTime>,
    pub(super) changed_in: i64,
    pub(super) document: TraineeDocument,
}

/// Loads the trainees of a page by a walk along the list. Loads the counts by day if the walk needs
/// them and the caller has not queued them.
pub(super) fn walk(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    walk: ListWalk,
    days: Option<PendingResult<Days>>,
) -> Result<Vec<Listed>, StorageError> {
    let order = list.listing.order;
    let mut walked = walked(list);
    let mut to_skip = walk.skipped;
    if walk.begins_on_a_day {
        let days = match days {
            Some(days) => days,
            None => counting::queue_days(connection, list)?,
        };
        if let Some(WalkStart { day, passed }) = walk.start(order, days(connection)?) {
            to_skip -= passed;
            walked = if is_newest_first(order, walk.forwards) {
                walked.filter(
                    trainees::updated_at.lt(day
                        .succ_opt()
                        .unwrap_or(NaiveDate::MAX)
                        .and_time(NaiveTime::MIN)),
                )
            } else {
                walked.filter(trainees::updated_at.ge(day.and_time(NaiveTime::MIN)))
            };
        }
    }
    let page = walked
        .order(WalkOrder {
            order,
            forwards: walk.forwards,
        })
        .limit(walk.shown)
        .offset(to_skip);
    if connection.is_remote() {
        let directly = to_skip <= FEW && !passes_by(list.listing);
        return records::load_walk(connection, list.provider, page, order, directly);
    }
    let mut keys: Vec<i64> = page.select(trainees::id).load(connection)?;
    if !walk.forwards {
        keys.reverse();
    }
    records::load_by_keys(connection, list.provider, &keys)
}

/// The `ORDER BY` clause of a list, in its order or reversed.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkOrder {
    pub(super) order: Order,
    pub(super) forwards: bool,
}

impl Expression for WalkOrder {
    type SqlType = NotSelectable;
}

impl AppearsOnTable<trainees::table> for WalkOrder {}

impl QueryFragment<Backend> for WalkOrder {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        out.push_sql(match (self.order, self.forwards) {
            (Order::NewestFirst, true) => "updated_at DESC, id DESC",
            (Order::NewestFirst, false) => "updated_at ASC, id ASC",
            (Order::OldestFirst, true) => "updated_at ASC, id DESC",
            (Order::OldestFirst, false) => "updated_at DESC, id ASC",
        });
        Ok(())
    }
}

/// Filters by the trainees after a place, in the order of a list.
fn after_place(walked: Trainees, order: Order, (updated_at, key): Place) -> Trainees {
    match order {
        Order::NewestFirst => walked.filter(trainees::updated_at.le(updated_at)).filter(
            trainees::updated_at
                .lt(updated_at)
                .assume_not_null()
                .or(trainees::id.lt(key)),
        ),
        Order::OldestFirst => walked.filter(trainees::updated_at.ge(updated_at)).filter(
            trainees::updated_at
                .gt(updated_at)
                .assume_not_null()
                .or(trainees::id.lt(key)),
        ),
    }
}

/// Loads a page of a short list: finds the keys of all its trainees, sorts them, and loads the
/// trainees of the page. Finds the keys with one query if the list filters by start date, and
/// otherwise with one query for each of `states`.
pub(super) fn few(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    states: &[String],
) -> Result<Vec<Listed>, StorageError> {
    let ProviderListing {
        provider,
        listing,
        today,
    } = list;
    let place = (trainees::updated_at, trainees::id);
    let mut found: Vec<(Option<NaiveDateTime>, i64)> = Vec::new();
    if listing.status.and_then(Status::started).is_some() {
        found = walked(list).select(place).load(connection)?;
    } else {
        // One query per state: PostgreSQL does not plan for the length of a list of states, and
        // might read all trainees.
        let mut queued = Vec::with_capacity(states.len());
        for state in states {
            let in_state = narrowed(select_list(provider, listing), listing, today)
                .filter(trainees::state.eq(state.clone()))
                .select(place);
            queued.push(connection.queue::<_, (Option<NaiveDateTime>, i64)>(in_state)?);
        }
        for query in queued {
            found.extend(connection.take(query)?);
        }
    }
    sort(&mut found, listing.order, |(changed, key)| (*changed, *key));
    let skipped = usize::try_from(listing.offset()).unwrap_or(0);
    let shown = usize::try_from(listing.per_page).unwrap_or(0);
    let keys: Vec<i64> = found
        .into_iter()
        .skip(skipped)
        .take(shown)
        .map(|(_, key)| key)
        .collect();
    records::load_by_keys(connection, provider, &keys)
}

/// A place in a list: the time of a trainee's last change, and its key.
pub(super) type Place = (NaiveDateTime, i64);

/// Loads the next trainees of a list after a place, up to `limit`.
pub(super) fn load_after(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    place: Place,
    limit: i64,
) -> Result<Vec<Listed>, StorageError> {
    let order = list.listing.order;
    let page = after_place(walked(list), order, place)
        .order(WalkOrder {
            order,
            forwards: true,
        })
        .limit(limit);
    if connection.is_remote() {
        records::load_walk(
            connection,
            list.provider,
            page,
            order,
            !passes_by(list.listing),
        )
    } else {
        records::load_query(connection, list.provider, page)
    }
}

/// Loads the trainees of a list whose last change a snapshot does not see, in the order of changes.
/// Starts after the position and key, and loads up to `limit` trainees.
pub(super) fn changed(
    connection: &mut DatabaseConnection,
    ProviderListing {
        provider,
        listing,
        today,
    }: ProviderListing<'_>,
    (since, position, key): (&Snapshot, i64, i64),
    limit: i64,
) -> Result<Vec<Listed>, StorageError> {
    // The sum excludes the indexes of lists, so that the planner uses the index by position.
    let in_cycle = (trainees::academic_cycle + 0).eq(listing.cycle);
    let all = trainees::table
        .into_boxed()
        .filter(visible(provider))
        .filter(in_cycle);
    let mut narrowed = filter_states(begun(changed_since(all, listing), listing, today), listing);
    if let Some(has_trn) = listing.has_trn {
        // This form excludes the index of trainees who wait for a TRN.
        narrowed = narrowed.filter(trainees::trn.is_null().eq(!has_trn));
    }
    let page = narrowed
        .filter(trainees::changed_in.ge(position))
        .filter(IsUnseen::by(since, connection))
        .filter(trainees::changed_in.gt(position).or(trainees::id.gt(key)))
        .order((trainees::changed_in, trainees::id))
        .limit(limit);
    records::load_query(connection, provider, page)
}

/// Sorts found trainees in the order of a list.
fn sort<T>(found: &mut [T], order: Order, place: impl Fn(&T) -> (Option<NaiveDateTime>, i64)) {
    found.sort_unstable_by(|one, other| {
        let (changed, key) = place(one);
        let (other_changed, other_key) = place(other);
        match order {
            Order::NewestFirst => (other_changed, other_key).cmp(&(changed, key)),
            Order::OldestFirst => (changed, other_key).cmp(&(other_changed, key)),
        }
    });
}

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use test_support::Kind;

    use domain::listing::Listing;

    use super::*;
    use crate::testing::Register;

    #[test]
    fn changes_seen_by_snapshot_are_not_loaded_again() {
        let register = Register::with_provider();
        ["one", "two", "three"]
            .into_iter()
            .for_each(|trainee_id| register.add_trainee(trainee_id));
        let positions = trainees::table.order(trainees::id).select((
            trainees::provider_id,
            trainees::academic_cycle,
            trainees::changed_in,
        ));
        let positions: Vec<(i64, i32, i64)> =
            positions.load(&mut register.second_connection()).unwrap();
        let [(provider, cycle, first), (.., second), (.., third)] = positions[..] else {
            panic!("{positions:?}")
        };
        let listing = Listing {
            cycle,
            status: None,
            since: None,
            has_trn: None,
            order: Order::NewestFirst,
            page: 1,
            per_page: 10,
        };
        let unseen = |oldest_open, next, open| {
            let since = Snapshot {
                oldest_open,
                next,
                open,
            };
            let place = (&since, since.oldest_open, i64::MIN);
            let connection = &mut register.second_connection();
            let list = ProviderListing {
                provider,
                listing: &listing,
                today: Utc::now().date_naive(),
            };
            let found = changed(connection, list, place, 10).unwrap();
            found
                .iter()
                .map(|trainee| trainee.changed_in)
                .collect::<Vec<_>>()
        };
        assert_eq!(unseen(first, first, Vec::new()), [first, second, third]);
        assert_eq!(unseen(first, third, Vec::new()), [third]);
        let one_open = vec![first - 1, second];
        let all_seen_but_one = vec![first];
        match Kind::from_environment() {
            Kind::Postgres => {
                assert_eq!(unseen(first, third, one_open), [second, third]);
                assert_eq!(unseen(first, third + 1, all_seen_but_one), [first]);
            }
            // The cursor of a register that was copied from PostgreSQL is refused later. The query
            // must not fail before that.
            Kind::Sqlite => assert_eq!(unseen(first, third, one_open), [third]),
        }
    }
}
