//! Sparse indexes of the days on which very many trainees of a list last changed, kept in memory.
//!
//! The counts by day say on which day a page begins, and a walk passes the trainees of that day by until it comes to the page. A
//! sparse index names one in [`INTERVAL`] of them, so that the walk can begin close to it.
//!
//! It is used as long as it is right, which the count of the day tells: a change is dated when it is made, so no trainee is added
//! to a day that is over. Such a day loses trainees, when they change again. While it has as many as before it has the same
//! ones, in the same order.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{Days, NaiveDate, NaiveDateTime};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Timestamp};
use domain::listing::{Listing, Order, Status};

use super::finding::{Trainees, in_order};
use crate::change_generation::Generation;
use crate::connection::{Backend, DatabaseConnection};
use crate::error::StorageError;
use crate::schema::trainees;

/// One trainee in so many is named.
const INTERVAL: u16 = 128;
/// A day with fewer trainees is walked along without an index.
const MANY: i64 = 4 * INTERVAL as i64;
/// The most days that are remembered. When there are more, all are forgotten.
const MAX_DAYS: usize = 4_096;

/// A trainee by its place in a list.
pub(super) type Place = (NaiveDateTime, i64);

/// A day of a list, in one of the directions in which it is walked along.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Day {
    generation: Generation,
    provider: i64,
    cycle: i32,
    status: Option<Status>,
    has_trn: Option<bool>,
    order: Order,
    forwards: bool,
    changed_on: NaiveDate,
}

impl Day {
    /// The day, if an index of it can be relied on: it has been over for a day at least, so that no transaction is still open that
    /// dates a change so.
    pub(super) fn of(
        listing: &Listing,
        provider: i64,
        forwards: bool,
        changed_on: NaiveDate,
        (generation, today): (&Generation, NaiveDate),
    ) -> Option<Self> {
        let is_over = changed_on.checked_add_days(Days::new(2)).is_some_and(|day| day <= today);
        // The counts of a day include trainees who changed before a timestamp on it.
        (is_over && listing.since.is_none()).then(|| Self {
            generation: generation.clone(),
            provider,
            cycle: listing.cycle,
            status: listing.status,
            has_trn: listing.has_trn,
            order: listing.order,
            forwards,
            changed_on,
        })
    }
}

/// The sparse indexes of a process. Cheap to share: an index is read under the lock by its address alone.
#[derive(Default)]
pub(crate) struct SparseIndexes(Mutex<HashMap<Day, SparseIndex>>);

/// What is remembered of a day.
struct SparseIndex {
    /// The trainees of the day when it was made.
    trainees: i64,
    /// Each [`INTERVAL`]th trainee, in order; nothing as long as the day was walked along only once with so many trainees.
    places: Option<Arc<[Place]>>,
}

impl SparseIndexes {
    /// The last trainee before one that is behind so many others of a day, with the number of those that end with it; nothing
    /// where no index is worth its price yet, or none of them is before it.
    pub(super) fn nearest(
        &self,
        connection: &mut DatabaseConnection,
        day: Day,
        trainees_of_day: impl FnOnce() -> Trainees,
        (trainees, skipped): (i64, i64),
    ) -> Result<Option<(i64, Place)>, StorageError> {
        if trainees < MANY {
            return Ok(None);
        }
        let remembered = self.find(&day, trainees);
        let places = match remembered {
            Some(Some(places)) => places,
            Some(None) => {
                let walk = in_order(trainees_of_day(), day.order, day.forwards)
                    .select((trainees::updated_at.assume_not_null(), trainees::id));
                let places: Arc<[Place]> = OneIn { interval: INTERVAL.into(), walk }.load(connection)?.into();
                self.remember(day, SparseIndex { trainees, places: Some(Arc::clone(&places)) });
                places
            }
            None => {
                self.remember(day, SparseIndex { trainees, places: None });
                return Ok(None);
            }
        };
        let before = skipped / i64::from(INTERVAL);
        let last = usize::try_from(before).ok().and_then(|before| before.checked_sub(1));
        Ok(last.and_then(|last| places.get(last)).map(|place| (before * i64::from(INTERVAL), *place)))
    }

    /// What is remembered of a day that has so many trainees.
    fn find(&self, day: &Day, trainees: i64) -> Option<Option<Arc<[Place]>>> {
        let days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        days.get(day).filter(|index| index.trainees == trainees).map(|index| index.places.clone())
    }

    /// How many days have an index.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().filter(|index| index.places.is_some()).count()
    }

    fn remember(&self, day: Day, index: SparseIndex) {
        let mut days = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if days.len() >= MAX_DAYS && !days.contains_key(&day) {
            days.clear();
        }
        days.insert(day, index);
    }
}

impl fmt::Debug for SparseIndexes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SparseIndexes")
    }
}

/// One in so many of the rows of a walk, in its order.
struct OneIn {
    interval: i64,
    walk: trainees::BoxedQuery<'static, Backend, (Timestamp, BigInt)>,
}

impl Query for OneIn {
    type SqlType = (Timestamp, BigInt);
}

impl RunQueryDsl<DatabaseConnection> for OneIn {}

impl QueryId for OneIn {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Backend> for OneIn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        out.push_sql("SELECT updated_at, id FROM (SELECT *, row_number() OVER () AS place FROM (");
        QueryFragment::<Backend>::walk_ast(&self.walk, out.reborrow())?;
        out.push_sql(") AS walk) AS numbered WHERE place % ");
        out.push_bind_param::<BigInt, _>(&self.interval)?;
        out.push_sql(" = 0 ORDER BY place");
        Ok(())
    }
}
