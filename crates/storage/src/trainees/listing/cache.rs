//! What is kept in memory of the days that are over, on which trainees of long lists last changed: how many there are on each, and
//! a sparse index of those days that have very many.
//!
//! A page in the middle of a long list begins on the day that the counts by day name, and a walk passes the trainees of that day by
//! until it comes to the page. From one in [`INTERVAL`] of them, which the sparse index names, it is not far.
//!
//! All of it is used until the next midnight as long as it is right, which counts tell: a change is dated when it is made, so no
//! trainee is added to a day that is over. Such a day loses trainees, when they change again. While it has as many as
//! before it has the same ones, in the same order; and while all of them together have as many as before, each of them has.
//! (Only `sandbox seed` dates trainees in the past: what is kept is not noticed to be wrong where exactly as many were
//! removed before.)

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{NaiveDate, NaiveDateTime};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Timestamp};
use domain::listing::{Listing, Order, Status};

use super::counting::{self, Days, Start};
use super::finding::{Trainees, WalkOrder};
use crate::change_generation::Generation;
use crate::connection::{Backend, DatabaseConnection};
use crate::error::StorageError;
use crate::schema::trainees;

/// One trainee in so many is named.
const INTERVAL: u16 = 32;
/// A day with fewer trainees is walked along without an index.
const MANY: i64 = 16 * INTERVAL as i64;
/// The most places of trainees, and counts of days, that are kept, of 16 bytes each. When there are more, all are forgotten.
const MAX_SIZE: usize = 500_000;
/// What the key of a list or a day takes, in such places.
const KEY_SIZE: usize = 16;

/// A trainee by its place in a list.
pub(super) type Place = (NaiveDateTime, i64);

/// A list, whatever its order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct List {
    /// Another register may have other trainees on the same days.
    generation: Generation,
    provider: i64,
    cycle: i32,
    status: Option<Status>,
    has_trn: Option<bool>,
}

/// The first day that is not over yet. It is the one before the present one: a transaction may still be open that began on it.
pub(super) fn first_open_day(today: NaiveDate) -> NaiveDate {
    today.pred_opt().unwrap_or(today)
}

/// A day of a list that is over, in one of the directions in which the list is walked along.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Day {
    list: List,
    order: Order,
    forwards: bool,
    changed_on: NaiveDate,
}

/// What a process keeps of lists.
#[derive(Default)]
pub(crate) struct ListCache(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    /// The first day that was not over when all of it was made.
    open_from: NaiveDate,
    counts: Kept<List, Arc<CountsByDay>>,
    indexes: Kept<Day, SparseIndex>,
}

/// The trainees of a list by the day of their last change, on all days that are over.
struct CountsByDay {
    trainees: i64,
    days: Days,
}

/// What is kept of a day.
struct SparseIndex {
    /// The trainees of the day when it was made.
    trainees: i64,
    /// Each [`INTERVAL`]th trainee, in order; nothing as long as the day was walked along only once with so many trainees.
    places: Option<Arc<[Place]>>,
}

impl ListCache {
    /// Whether anything is kept of a list: not where it begins at a timestamp, since the counts of that day include trainees who
    /// changed before, nor where it is not counted by day.
    pub(super) fn is_cacheable(listing: &Listing) -> bool {
        listing.since.is_none() && listing.status.and_then(Status::started).is_none()
    }

    /// What is kept of a list; `None` where nothing is.
    pub(super) fn of<'a>(
        &'a self,
        listing: &'a Listing,
        provider: i64,
        generation: &'a Generation,
        today: NaiveDate,
    ) -> Option<CachedList<'a>> {
        let open_from = first_open_day(today);
        Self::is_cacheable(listing).then_some(CachedList { cache: self, listing, provider, generation, open_from })
    }

    /// How many lists and days are kept that can be used.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        let contents = lock(&self.0);
        let indexes = contents.indexes.values().filter(|(_, index)| index.places.is_some()).count();
        (contents.counts.values().count(), indexes)
    }
}

/// What is kept of one list.
pub(super) struct CachedList<'a> {
    cache: &'a ListCache,
    listing: &'a Listing,
    provider: i64,
    generation: &'a Generation,
    /// The first day that is not over.
    open_from: NaiveDate,
}

impl CachedList<'_> {
    /// What is kept. On another day than before, which may be an earlier one if the clock was set back, it is nothing.
    fn contents(&self) -> MutexGuard<'_, Contents> {
        let mut contents = lock(&self.cache.0);
        if contents.open_from != self.open_from {
            *contents = Contents { open_from: self.open_from, ..Contents::default() };
        }
        contents
    }

    fn list(&self) -> List {
        let Listing { cycle, status, has_trn, .. } = *self.listing;
        List { generation: self.generation.clone(), provider: self.provider, cycle, status, has_trn }
    }

    /// The first day that is not over: from there on counts are not kept.
    pub(super) fn first_open_day(&self) -> NaiveDate {
        self.open_from
    }

    /// The trainees of the list by the day of their last change. How many the list has in all is given, and those of the days
    /// that are not over.
    pub(super) fn days(
        &self,
        connection: &mut DatabaseConnection,
        (total, open): (i64, Days),
    ) -> Result<Days, StorageError> {
        let trainees = total - open.iter().map(|(_, trainees)| trainees).sum::<i64>();
        let list = self.list();
        let kept = self.contents().counts.find(&list).cloned();
        if let Some(kept) = kept.filter(|kept| kept.trainees == trainees) {
            return Ok([&kept.days[..], &open[..]].concat());
        }
        let all = counting::days(connection, self.provider, self.listing, None)?;
        let days: Days = all.iter().copied().filter(|(day, _)| *day < self.open_from).collect();
        let trainees = days.iter().map(|(_, trainees)| trainees).sum();
        let size = days.len();
        self.contents().counts.insert(list, size, Arc::new(CountsByDay { trainees, days }));
        Ok(all)
    }

    /// The last trainee before one that is behind so many others of the day with which a walk begins, with the number of those
    /// that end with it; nothing where the day is not over, no index is worth its price yet, or none of them is before it.
    pub(super) fn nearest(
        &self,
        connection: &mut DatabaseConnection,
        (start, forwards): (&Start, bool),
        trainees_of_day: impl FnOnce() -> Trainees,
        skipped: i64,
    ) -> Result<Option<(i64, Place)>, StorageError> {
        let Start { day: changed_on, trainees, .. } = *start;
        if trainees < MANY || changed_on >= self.open_from {
            return Ok(None);
        }
        let order = self.listing.order;
        let day = Day { list: self.list(), order, forwards, changed_on };
        let places = match self.find(&day, trainees) {
            Some(Some(places)) => places,
            Some(None) => {
                let of_day = trainees_of_day().select((trainees::updated_at.assume_not_null(), trainees::id));
                let one_in = OneIn { interval: INTERVAL.into(), order: WalkOrder { order, forwards }, of_day };
                let places: Arc<[Place]> = one_in.load(connection)?.into();
                let index = SparseIndex { trainees, places: Some(Arc::clone(&places)) };
                self.contents().indexes.insert(day, places.len(), index);
                places
            }
            None => {
                self.contents().indexes.insert(day, 0, SparseIndex { trainees, places: None });
                return Ok(None);
            }
        };
        let before = skipped / i64::from(INTERVAL);
        let last = usize::try_from(before).ok().and_then(|before| before.checked_sub(1));
        Ok(last.and_then(|last| places.get(last)).map(|place| (before * i64::from(INTERVAL), *place)))
    }

    /// What is kept of a day that has so many trainees.
    fn find(&self, day: &Day, trainees: i64) -> Option<Option<Arc<[Place]>>> {
        self.contents().indexes.find(day).filter(|index| index.trainees == trainees).map(|index| index.places.clone())
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock is no harm: no code that holds it can panic half-way.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Values with their sizes, together within [`MAX_SIZE`].
struct Kept<K, V> {
    values: HashMap<K, (usize, V)>,
    size: usize,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), size: 0 }
    }
}

impl<K: Hash + Eq, V> Kept<K, V> {
    fn find(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(_, value)| value)
    }

    fn insert(&mut self, key: K, size: usize, value: V) {
        let size = size + KEY_SIZE;
        if self.size + size > MAX_SIZE {
            *self = Self::default();
        }
        self.size += size;
        if let Some((replaced, _)) = self.values.insert(key, (size, value)) {
            self.size -= replaced;
        }
    }

    #[cfg(test)]
    fn values(&self) -> impl Iterator<Item = &(usize, V)> {
        self.values.values()
    }
}

impl fmt::Debug for ListCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ListCache")
    }
}

/// One in so many of the trainees of a day, in this order.
struct OneIn {
    interval: i64,
    order: WalkOrder,
    of_day: trainees::BoxedQuery<'static, Backend, (Timestamp, BigInt)>,
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
        out.push_sql("SELECT updated_at, id FROM (SELECT *, row_number() OVER (ORDER BY ");
        QueryFragment::<Backend>::walk_ast(&self.order, out.reborrow())?;
        out.push_sql(") AS place FROM (");
        QueryFragment::<Backend>::walk_ast(&self.of_day, out.reborrow())?;
        out.push_sql(") AS of_day) AS numbered WHERE place % ");
        out.push_bind_param::<BigInt, _>(&self.interval)?;
        out.push_sql(" = 0 ORDER BY place");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_stays_within_its_size() {
        let mut kept = Kept::default();
        for round in 0..3 {
            kept.insert("one", 100, round);
            assert_eq!((kept.size, kept.find(&"one")), (100 + KEY_SIZE, Some(&round)));
        }
        kept.insert("two", MAX_SIZE - 200, 7);
        assert!(kept.find(&"one").is_some() && kept.size <= MAX_SIZE);
        kept.insert("three", 100, 8);
        assert_eq!((kept.find(&"one"), kept.find(&"two"), kept.find(&"three")), (None, None, Some(&8)));
        assert_eq!(kept.size, 100 + KEY_SIZE);
    }
}
