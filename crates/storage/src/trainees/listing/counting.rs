//! How many trainees a list shows, without looking at them.
//!
//! The database keeps a count for each list, state, planned first day and whether there is a teacher reference number,
//! by triggers of its own. What a list shows is the sum of some of them: of as many as there are such combinations,
//! however many trainees there are. For changes since a timestamp it keeps counts by the day of the last change; only
//! the day of the timestamp is counted one by one, inside an index. So are all changes since a timestamp where a list
//! also asks who has begun: that would take a count for each day of change and each first day.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool};
use domain::State;
use domain::listing::{Listing, Status};

use super::finding::walked;
use crate::connection::{Backend, DatabaseConnection};
use crate::error::StorageError;
use crate::schema::{trainee_change_counts, trainee_counts, trainees};

/// The planned first day under which those trainees are counted who have none.
const NO_DAY: Option<NaiveDate> = NaiveDate::from_ymd_opt(1, 1, 1);

/// To pass so many trainees by takes about as long as to read the counts by day.
const MANY: i64 = 1_000;

/// Where a page skips so many trainees, the counts by day are queried together with the count, although the end of the list
/// may be near enough to go without them.
pub(super) const FAR: i64 = 2 * MANY;

/// How many trainees a list shows.
pub(super) struct Count {
    /// The trainees on all pages.
    pub(super) total: i64,
    /// The states that any of them is in, where that is known.
    pub(super) states: Option<Vec<String>>,
}

/// Counts the trainees of a list.
pub(super) fn count(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    today: NaiveDate,
) -> Result<Count, StorageError> {
    if let Some(since) = listing.since {
        let total = count_since(connection, provider, listing, today, since)?;
        return Ok(Count { total, states: None });
    }
    let mut kept = trainee_counts::table
        .group_by(trainee_counts::state)
        .select((trainee_counts::state, SumOfTrainees))
        .into_boxed()
        .filter(trainee_counts::provider_id.eq(provider))
        .filter(trainee_counts::academic_cycle.eq(listing.cycle));
    if let Some(status) = listing.status {
        kept = match status.states() {
            // A list of values is planned anew each time.
            [only] => kept.filter(trainee_counts::state.eq(only.name())),
            states => kept.filter(trainee_counts::state.eq_any(states.iter().copied().map(State::name))),
        };
        kept = match status.started() {
            Some(true) => kept
                .filter(trainee_counts::itt_start_date.le(today))
                .filter(trainee_counts::itt_start_date.nullable().ne(NO_DAY)),
            Some(false) => kept.filter(trainee_counts::itt_start_date.gt(today)),
            None => kept,
        };
    }
    if let Some(has_trn) = listing.has_trn {
        kept = kept.filter(trainee_counts::has_trn.eq(has_trn));
    }
    let mut by_state = kept.load::<(String, i64)>(connection)?;
    by_state.retain(|(_, trainees)| *trainees > 0);
    Ok(Count {
        total: by_state.iter().map(|(_, trainees)| trainees).sum(),
        states: Some(by_state.into_iter().map(|(state, _)| state).collect()),
    })
}

/// Counts the trainees of a list that have changed since a timestamp.
fn count_since(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    today: NaiveDate,
    since: DateTime<Utc>,
) -> Result<i64, StorageError> {
    let one_by_one = walked(provider, listing, today);
    let day = since.date_naive();
    let next_day = day.succ_opt().filter(|_| listing.status.and_then(Status::started).is_none());
    // Loaded as lists: in a pipeline there is no row at first.
    let Some(next_day) = next_day else { return Ok(one_by_one.count().load::<i64>(connection)?.into_iter().sum()) };
    let on_the_day = one_by_one
        .filter(trainees::updated_at.lt(next_day.and_time(NaiveTime::MIN)))
        .count()
        .load::<i64>(connection)?;
    let later = trainee_change_counts::table
        .select(SumOfTrainees)
        .filter(is_counted_by_day(provider, listing))
        .filter(trainee_change_counts::changed_on.gt(day));
    Ok(on_the_day.into_iter().chain(later.load::<i64>(connection)?).sum())
}

/// The sum of the column `trainees` of either table of counts; 0 of no rows.
///
/// A statement with a type of its own stays prepared. One with `sql(..)` in it does not.
#[derive(Debug, Clone, Copy, QueryId)]
struct SumOfTrainees;

impl Expression for SumOfTrainees {
    type SqlType = BigInt;
}

impl<Source> AppearsOnTable<Source> for SumOfTrainees {}

impl<Source> SelectableExpression<Source> for SumOfTrainees {}

impl<Columns> ValidGrouping<Columns> for SumOfTrainees {
    type IsAggregate = is_aggregate::Yes;
}

impl QueryFragment<Backend> for SumOfTrainees {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        out.push_sql("CAST(coalesce(sum(trainees), 0) AS BIGINT)");
        Ok(())
    }
}

/// Whether a count by day is one of trainees whom a list shows, whatever it says of when they begin.
fn is_counted_by_day(
    provider: i64,
    listing: &Listing,
) -> Box<dyn BoxableExpression<trainee_change_counts::table, Backend, SqlType = Bool>> {
    let of_list =
        trainee_change_counts::provider_id.eq(provider).and(trainee_change_counts::academic_cycle.eq(listing.cycle));
    let states = listing.status.map(|status| status.states().iter().copied().map(State::name).collect::<Vec<_>>());
    match (states, listing.has_trn) {
        (None, None) => Box::new(of_list),
        (None, Some(has_trn)) => Box::new(of_list.and(trainee_change_counts::has_trn.eq(has_trn))),
        (Some(states), None) => Box::new(of_list.and(trainee_change_counts::state.eq_any(states))),
        (Some(states), Some(has_trn)) => Box::new(
            of_list.and(trainee_change_counts::state.eq_any(states)).and(trainee_change_counts::has_trn.eq(has_trn)),
        ),
    }
}

/// The trainees of a list by the day of their last change.
pub(super) type Days = Vec<(NaiveDate, i64)>;

/// Counts the trainees of a list by the day of their last change, where they are counted by day: of all days, or from one on.
pub(super) fn days(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    from: Option<NaiveDate>,
) -> Result<Days, StorageError> {
    if listing.status.and_then(Status::started).is_some() {
        return Ok(Vec::new());
    }
    let days = trainee_change_counts::table
        .group_by(trainee_change_counts::changed_on)
        .select((trainee_change_counts::changed_on, SumOfTrainees))
        .filter(is_counted_by_day(provider, listing));
    Ok(match from {
        Some(from) => days.filter(trainee_change_counts::changed_on.ge(from)).load(connection)?,
        None => days.load(connection)?,
    })
}

/// Where a walk along a list begins that passes many trainees by.
pub(super) struct Start {
    /// The day of the last change of the first trainee that it meets.
    pub(super) day: NaiveDate,
    /// Those of the list that changed on the days before, as the walk goes.
    pub(super) passed: i64,
    /// Those of the list that changed on that day.
    pub(super) trainees: i64,
}

/// Whether a walk that skips so many trainees may begin on a day that the counts by day name.
pub(super) fn may_begin_on_a_day(listing: &Listing, newest_first: bool, skipped: i64) -> bool {
    // Of the day with which the list begins, trainees are counted that it does not show.
    let begins_within_a_day = listing.since.is_some() && !newest_first;
    skipped >= MANY && !begins_within_a_day
}

/// Where a walk begins that skips so many trainees; `None` for the end of the list, where they are few or not counted
/// by day.
pub(super) fn start_of_walk(mut days: Days, listing: &Listing, newest_first: bool, skipped: i64) -> Option<Start> {
    if !may_begin_on_a_day(listing, newest_first, skipped) {
        return None;
    }
    days.sort_unstable_by_key(|(day, _)| *day);
    if newest_first {
        days.reverse();
    }
    let mut passed = 0;
    for (day, trainees) in days {
        if passed + trainees > skipped {
            return Some(Start { day, passed, trainees });
        }
        passed += trainees;
    }
    None
}

#[derive(QueryableByName)]
struct Wrong {
    #[diesel(sql_type = BigInt)]
    counts: i64,
}

/// How many of the counts that the database keeps for lists are wrong.
pub(crate) fn miscounted(connection: &mut DatabaseConnection) -> Result<i64, StorageError> {
    let no_day = connection.either("DATE '0001-01-01'", "'0001-01-01'");
    let changed_on = connection.either("updated_at::DATE", "date(updated_at)");
    let query = format!(
        "SELECT count(*) AS counts FROM (
             SELECT 1 FROM (
                 SELECT provider_id, academic_cycle, state, trn IS NOT NULL AS has_trn,
                        coalesce(itt_start_date, {no_day}) AS itt_start_date, 1 AS trainees
                 FROM trainees WHERE discarded_at IS NULL AND state <> 'draft'
                 UNION ALL
                 SELECT provider_id, academic_cycle, state, has_trn, itt_start_date, -trainees FROM trainee_counts
             ) AS both_sides
             GROUP BY provider_id, academic_cycle, state, has_trn, itt_start_date
             HAVING sum(trainees) <> 0
             UNION ALL
             SELECT 1 FROM (
                 SELECT provider_id, academic_cycle, {changed_on} AS changed_on, state, trn IS NOT NULL AS has_trn,
                        1 AS trainees
                 FROM trainees WHERE discarded_at IS NULL AND state <> 'draft'
                 UNION ALL
                 SELECT provider_id, academic_cycle, changed_on, state, has_trn, -trainees FROM trainee_change_counts
             ) AS both_sides
             GROUP BY provider_id, academic_cycle, changed_on, state, has_trn
             HAVING sum(trainees) <> 0
         ) AS wrong"
    );
    Ok(diesel::sql_query(query).get_result::<Wrong>(connection)?.counts)
}

#[cfg(test)]
mod tests;
