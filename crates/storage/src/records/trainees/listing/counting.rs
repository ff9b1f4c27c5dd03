//! How many trainees a list shows, without looking at them.
//!
//! The database keeps a count for each list, state, planned first day and whether there is a
//! teacher reference number, by triggers of its own. What a list shows is the sum of some of them:
//! of as many as there are such combinations, however many trainees there are. For changes since a
//! timestamp it keeps counts by the day of the last change; only the day of the timestamp is
//! counted one by one, inside an index. So are all changes since a timestamp where a list also asks
//! who has begun: that would take a count for each day of change and each first day.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use database::connection::{Backend, DatabaseConnection, QueryQueue as _};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool};
use domain::State;
use domain::listing::Status;

use super::query::{ProviderListing, walked};
use crate::base::pending_result::PendingResult;
use crate::error::StorageError;
use crate::schema::{trainee_change_counts, trainee_counts, trainees};

/// The planned first day under which those trainees are counted who have none.
const NO_DAY: Option<NaiveDate> = NaiveDate::from_ymd_opt(1, 1, 1);

/// How many trainees a list shows.
pub(super) struct Count {
    /// The trainees on all pages.
    pub(super) total: i64,
    /// The states that any of them is in, where that is known.
    pub(super) states: Option<Vec<String>>,
}

/// Counts the trainees of a list.
pub(super) fn queue_count(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
) -> Result<PendingResult<Count>, StorageError> {
    let ProviderListing {
        provider,
        listing,
        today,
    } = list;
    if let Some(since) = listing.since {
        return queue_count_since(connection, list, since);
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
            states => {
                kept.filter(trainee_counts::state.eq_any(states.iter().copied().map(State::name)))
            }
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
    let by_state = connection.queue::<_, (String, i64)>(kept)?;
    Ok(Box::new(|connection| {
        let mut by_state = connection.take(by_state)?;
        by_state.retain(|(_, trainees)| *trainees > 0);
        Ok(Count {
            total: by_state.iter().map(|(_, trainees)| trainees).sum(),
            states: Some(by_state.into_iter().map(|(state, _)| state).collect()),
        })
    }))
}

/// Counts the trainees of a list that have changed since a timestamp.
fn queue_count_since(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    since: DateTime<Utc>,
) -> Result<PendingResult<Count>, StorageError> {
    let mut one_by_one = walked(list);
    let day = since.date_naive();
    let next_day = day
        .succ_opt()
        .filter(|_| list.listing.status.and_then(Status::started).is_none());
    let mut later = None;
    if let Some(next_day) = next_day {
        one_by_one = one_by_one.filter(trainees::updated_at.lt(next_day.and_time(NaiveTime::MIN)));
        let by_day = trainee_change_counts::table
            .select(SumOfTrainees)
            .filter(is_counted_by_day(list))
            .filter(trainee_change_counts::changed_on.gt(day));
        later = Some(connection.queue::<_, i64>(by_day)?);
    }
    let one_by_one = connection.queue::<_, i64>(one_by_one.count())?;
    Ok(Box::new(|connection| {
        let mut total = connection.take(one_by_one)?;
        if let Some(later) = later {
            total.extend(connection.take(later)?);
        }
        Ok(Count {
            total: total.into_iter().sum(),
            states: None,
        })
    }))
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

/// Whether a count by day is one of trainees whom a list shows, whatever it says of when they
/// begin.
fn is_counted_by_day(
    ProviderListing {
        provider, listing, ..
    }: ProviderListing<'_>,
) -> Box<dyn BoxableExpression<trainee_change_counts::table, Backend, SqlType = Bool>> {
    let of_list = trainee_change_counts::provider_id
        .eq(provider)
        .and(trainee_change_counts::academic_cycle.eq(listing.cycle));
    let states = listing.status.map(|status| {
        status
            .states()
            .iter()
            .copied()
            .map(State::name)
            .collect::<Vec<_>>()
    });
    match (states, listing.has_trn) {
        (None, None) => Box::new(of_list),
        (None, Some(has_trn)) => Box::new(of_list.and(trainee_change_counts::has_trn.eq(has_trn))),
        (Some(states), None) => Box::new(of_list.and(trainee_change_counts::state.eq_any(states))),
        (Some(states), Some(has_trn)) => Box::new(
            of_list
                .and(trainee_change_counts::state.eq_any(states))
                .and(trainee_change_counts::has_trn.eq(has_trn)),
        ),
    }
}

/// The trainees of a list by the day of their last change.
pub(super) type Days = Vec<(NaiveDate, i64)>;

/// Counts the trainees of a list by the day of their last change, where they are counted by day.
pub(super) fn queue_days(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
) -> Result<PendingResult<Days>, StorageError> {
    if list.listing.status.and_then(Status::started).is_some() {
        return Ok(Box::new(|_| Ok(Vec::new())));
    }
    let days = trainee_change_counts::table
        .group_by(trainee_change_counts::changed_on)
        .select((trainee_change_counts::changed_on, SumOfTrainees))
        .filter(is_counted_by_day(list));
    let days = connection.queue(days)?;
    Ok(Box::new(|connection| Ok(connection.take(days)?)))
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
    Ok(diesel::sql_query(query)
        .get_result::<Wrong>(connection)?
        .counts)
}

#[cfg(test)]
mod tests;
