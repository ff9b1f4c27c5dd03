//! Counts the trainees of a list without reading them.
//!
//! Triggers of the database maintain a count for each combination of provider, cycle, state,
//! planned first day and presence of a TRN. The total of a list is the sum of the matching counts,
//! so its cost does not depend on the number of trainees.
//!
//! For lists of changes since a timestamp, the database also maintains counts by the day of the
//! last change. Only the trainees of the day of the timestamp are counted individually, inside an
//! index. Lists that also filter by start date count all their trainees individually: counts by
//! both dates would be too many.

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

/// The planned first day in the counts of trainees without one.
const NO_DAY: Option<NaiveDate> = NaiveDate::from_ymd_opt(1, 1, 1);

/// The number of trainees of a list.
pub(super) struct Count {
    /// The trainees on all pages.
    pub(super) total: i64,
    /// The states of these trainees; `None` when unknown.
    pub(super) states: Option<Vec<String>>,
}

/// Queues the query for the number of trainees of a list.
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
            // A query with a list of values is planned each time.
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

/// Queues the queries for the number of trainees of a list that have changed since a timestamp.
fn queue_count_since(
    connection: &mut DatabaseConnection,
    list: ProviderListing<'_>,
    since: DateTime<Utc>,
) -> Result<PendingResult<Count>, StorageError> {
    let mut individually = walked(list);
    let day = since.date_naive();
    // `None` for lists that filter by start date: all their trainees are counted individually.
    let next_day = day
        .succ_opt()
        .filter(|_| list.listing.status.and_then(Status::started).is_none());
    let mut later = None;
    if let Some(next_day) = next_day {
        individually =
            individually.filter(trainees::updated_at.lt(next_day.and_time(NaiveTime::MIN)));
        let by_day = trainee_change_counts::table
            .select(SumOfTrainees)
            .filter(is_counted_by_day(list))
            .filter(trainee_change_counts::changed_on.gt(day));
        later = Some(connection.queue::<_, i64>(by_day)?);
    }
    let individually = connection.queue::<_, i64>(individually.count())?;
    Ok(Box::new(|connection| {
        let mut total = connection.take(individually)?;
        if let Some(later) = later {
            total.extend(connection.take(later)?);
        }
        Ok(Count {
            total: total.into_iter().sum(),
            states: None,
        })
    }))
}

/// The sum of the column `trainees` of either table of counts; 0 when there are no rows.
///
/// Statements with this type stay prepared. Statements with `sql(..)` do not.
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

/// SQL condition: a count by day belongs to the list. Ignores the filter by start date.
fn is_counted_by_day(
    ProviderListing {
        provider, listing, ..
    }: ProviderListing<'_>,
) -> Box<dyn BoxableExpression<trainee_change_counts::table, Backend, SqlType = Bool>> {
    let in_cycle = trainee_change_counts::provider_id
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
        (None, None) => Box::new(in_cycle),
        (None, Some(has_trn)) => Box::new(in_cycle.and(trainee_change_counts::has_trn.eq(has_trn))),
        (Some(states), None) => Box::new(in_cycle.and(trainee_change_counts::state.eq_any(states))),
        (Some(states), Some(has_trn)) => Box::new(
            in_cycle
                .and(trainee_change_counts::state.eq_any(states))
                .and(trainee_change_counts::has_trn.eq(has_trn)),
        ),
    }
}

/// The number of trainees of a list for each day of their last change.
pub(super) type Days = Vec<(NaiveDate, i64)>;

/// Queues the query for the number of trainees of a list by the day of their last change. The
/// result is empty for lists that filter by start date, which have no counts by day.
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

/// The number of wrong counts.
#[derive(QueryableByName)]
struct WrongCounts {
    #[diesel(sql_type = BigInt)]
    counts: i64,
}

/// The number of stored counts that differ from the trainees.
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
        .get_result::<WrongCounts>(connection)?
        .counts)
}

#[cfg(test)]
mod tests;
