//! Which trainees stand on a page.
//!
//! Every query stays inside one index. What a query leaves unsaid, or says otherwise than it might,
//! keeps the databases from taking another.

mod records;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use database::connection::{Backend, DatabaseConnection, QueryQueue as _};
use diesel::expression::expression_types::NotSelectable;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::Bool;
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

/// Up to so many trainees are read from the table although they are passed by.
const FEW: i64 = 32;

/// A trainee that was found, with its place in the lists and among the changes.
pub(super) struct Listed {
    /// When it was last changed; where a page ends, if not everywhere.
    pub(super) updated_at: Option<NaiveDateTime>,
    pub(super) changed_in: i64,
    pub(super) document: TraineeDocument,
}

/// Goes along the list. The counts by day are loaded where they are needed and were not queued.
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

/// The order of a list, or the reverse, as an `ORDER BY` clause has it.
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

/// Those of the trainees that are behind a place, in the order of a list or backwards.
fn behind_place(
    walked: Trainees,
    order: Order,
    forwards: bool,
    (updated_at, key): Place,
) -> Trainees {
    let is_newest_first = is_newest_first(order, forwards);
    let beyond: Box<dyn BoxableExpression<trainees::table, Backend, SqlType = Bool>> =
        match (is_newest_first, forwards) {
            (true, true) => Box::new(
                trainees::updated_at
                    .lt(updated_at)
                    .assume_not_null()
                    .or(trainees::id.lt(key)),
            ),
            (true, false) => Box::new(
                trainees::updated_at
                    .lt(updated_at)
                    .assume_not_null()
                    .or(trainees::id.gt(key)),
            ),
            (false, true) => Box::new(
                trainees::updated_at
                    .gt(updated_at)
                    .assume_not_null()
                    .or(trainees::id.lt(key)),
            ),
            (false, false) => Box::new(
                trainees::updated_at
                    .gt(updated_at)
                    .assume_not_null()
                    .or(trainees::id.gt(key)),
            ),
        };
    if is_newest_first {
        walked
            .filter(trainees::updated_at.le(updated_at))
            .filter(beyond)
    } else {
        walked
            .filter(trainees::updated_at.ge(updated_at))
            .filter(beyond)
    }
}

/// Finds all that the list shows, which are few: by the day on which they begin where the list asks
/// for it, else by each of the states in which any of them is.
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
        // One by one: PostgreSQL plans for lists of any length alike, and takes one of states for a
        // list of them all.
        let of_state = |state: &String| {
            let of_state = trainees::state.eq(state.clone());
            let of_state = narrowed(select_list(provider, listing), listing, today)
                .filter(of_state)
                .select(place);
            connection.queue::<_, (Option<NaiveDateTime>, i64)>(of_state)
        };
        for queued in states.iter().map(of_state).collect::<Result<Vec<_>, _>>()? {
            found.extend(connection.take(queued)?);
        }
    }
    sort(&mut found, listing.order, |(changed, key)| (*changed, *key));
    let [skipped, shown] =
        [listing.offset(), listing.per_page].map(|number| usize::try_from(number).unwrap_or(0));
    let keys: Vec<i64> = found
        .into_iter()
        .skip(skipped)
        .take(shown)
        .map(|(_, key)| key)
        .collect();
    records::load_by_keys(connection, provider, &keys)
}

/// A trainee by its place in a list.
pub(super) type Place = (NaiveDateTime, i64);

/// The trainees behind one of the list, not more than `most`.
pub(super) fn load_after(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    place: Place,
    most: i64,
) -> Result<Vec<Listed>, StorageError> {
    let order = list.listing.order;
    let rest = behind_place(walked(list), order, true, place);
    let page = rest
        .order(WalkOrder {
            order,
            forwards: true,
        })
        .limit(most);
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

/// The trainees that a list shows and whose last change a snapshot does not see, in the order of
/// their changes: those behind a place, not more than `most`.
pub(super) fn changed(
    connection: &mut DatabaseConnection,
    ProviderListing {
        provider,
        listing,
        today,
    }: ProviderListing<'_>,
    (since, position, key): (&Snapshot, i64, i64),
    most: i64,
) -> Result<Vec<Listed>, StorageError> {
    // The cycle as a sum: no index of a list is a candidate, only that of positions.
    let in_cycle = (trainees::academic_cycle + 0).eq(listing.cycle);
    let all = trainees::table
        .into_boxed()
        .filter(visible(provider))
        .filter(in_cycle);
    let mut narrowed = filter_states(begun(changed_since(all, listing), listing, today), listing);
    if let Some(has_trn) = listing.has_trn {
        // Nor that of trainees who wait for a number.
        narrowed = narrowed.filter(trainees::trn.is_null().eq(!has_trn));
    }
    let page = narrowed
        .filter(trainees::changed_in.ge(position))
        .filter(IsUnseen::by(since, connection))
        .filter(trainees::changed_in.gt(position).or(trainees::id.gt(key)))
        .order((trainees::changed_in, trainees::id))
        .limit(most);
    records::load_query(connection, provider, page)
}

/// Puts what was found in the order of a list.
fn sort<T>(found: &mut [T], order: Order, place: impl Fn(&T) -> (Option<NaiveDateTime>, i64)) {
    found.sort_unstable_by(|one, other| {
        let ((changed, key), (other_changed, other_key)) = (place(one), place(other));
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
    fn changes_that_were_seen_are_not_read_again_however_long_a_transaction_is_open() {
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
        let (status, since, has_trn, order) = (None, None, None, Order::NewestFirst);
        let listing = Listing {
            cycle,
            status,
            since,
            has_trn,
            order,
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
            found.iter().map(|one| one.changed_in).collect::<Vec<_>>()
        };
        assert_eq!(unseen(first, first, Vec::new()), [first, second, third]);
        assert_eq!(unseen(first, third, Vec::new()), [third]);
        let (one_open, all_seen_but_one) = (vec![first - 1, second], vec![first]);
        match Kind::from_environment() {
            Kind::Postgres => {
                assert_eq!(unseen(first, third, one_open), [second, third]);
                assert_eq!(unseen(first, third + 1, all_seen_but_one), [first]);
            }
            // Of a register that was copied from PostgreSQL: the cursor is refused, and the query
            // does not fail.
            Kind::Sqlite => assert_eq!(unseen(first, third, one_open), [third]),
        }
    }
}
