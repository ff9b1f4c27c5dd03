//! How many trainees a list shows, without looking at them.
//!
//! The database keeps a count for each list, state, planned first day and whether there is a teacher reference number,
//! by triggers of its own. What a list shows is the sum of some of them: of as many as there are such combinations,
//! however many trainees there are. Only changes since a moment are counted one by one, inside an index.

use chrono::NaiveDate;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use domain::State;
use domain::listing::Listing;

use super::finding::walked;
use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::schema::trainee_counts;

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
pub(super) fn count(
    connection: &mut DatabaseConnection,
    provider: i64,
    listing: &Listing,
    today: NaiveDate,
) -> Result<Count, StorageError> {
    if listing.since.is_some() {
        let total = walked(provider, listing, today).count().get_result(connection)?;
        return Ok(Count { total, states: None });
    }
    let mut kept = trainee_counts::table
        .group_by(trainee_counts::state)
        .select((trainee_counts::state, sql::<BigInt>("CAST(sum(trainees) AS BIGINT)")))
        .into_boxed()
        .filter(trainee_counts::provider_id.eq(provider))
        .filter(trainee_counts::academic_cycle.eq(listing.cycle));
    if let Some(status) = listing.status {
        kept = kept.filter(trainee_counts::state.eq_any(status.states().iter().copied().map(State::name)));
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

#[derive(QueryableByName)]
struct Wrong {
    #[diesel(sql_type = BigInt)]
    counts: i64,
}

/// How many of the counts that the database keeps for lists are not what there is.
pub(crate) fn miscounted(connection: &mut DatabaseConnection) -> Result<i64, StorageError> {
    let no_day = connection.either("DATE '0001-01-01'", "'0001-01-01'");
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
         ) AS wrong"
    );
    Ok(diesel::sql_query(query).get_result::<Wrong>(connection)?.counts)
}

#[cfg(test)]
mod tests;
