//! Removes the history of past months.
//!
//! On PostgreSQL the partitions that end before the date are dropped. Other entries, and all
//! entries on SQLite, are deleted in portions. Each transaction that removes entries also records
//! the date, so a gap in the history is never without its reason. After an interruption the same
//! call continues.

use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use database::connection::DatabaseConnection;
use diesel::dsl::{max, min};
use diesel::prelude::*;

use super::month::{Month, MonthNotOver};
use super::partitions::{drop_partition, partitions};
use crate::base::register_setting;
use crate::error::{DatabaseError, StorageError};
use crate::schema::changes;
use crate::session::Session;
use crate::store::Store;

/// The setting with the day before which history was removed, such as `2026-01-01`.
const REMOVED_BEFORE: &str = "history_removed_before";

/// How long ago a month must have ended: the clocks of servers differ a little, and a server may
/// wait before it writes.
const MARGIN: TimeDelta = TimeDelta::hours(1);
/// How many keys of entries one transaction covers.
const PORTION: i64 = 500;
/// The pause between two portions, in which others write.
const PORTION_PAUSE: Duration = Duration::from_millis(20);
/// How long to wait for connections that use a partition.
const PARTITION_WAIT: Duration = Duration::from_secs(60);
/// The pause between two attempts to drop a partition.
const PARTITION_PAUSE: Duration = Duration::from_secs(1);

/// All months before another one. Each of them is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastMonths {
    end: Month,
}

impl PastMonths {
    /// The months before `end`.
    ///
    /// # Errors
    ///
    /// When one of them is not over, or has been over for less than an hour.
    pub fn before(end: Month, now: DateTime<Utc>) -> Result<Self, MonthNotOver> {
        let present = Month::from_day((now - MARGIN).date_naive());
        if end > present {
            Err(MonthNotOver(present))
        } else {
            Ok(Self { end })
        }
    }

    /// The first day after these months.
    #[must_use]
    pub fn end(self) -> NaiveDate {
        self.end.first_day()
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many partitions were dropped; 0 on SQLite.
    pub partitions: usize,
    /// How many entries were deleted outside of these partitions.
    pub entries: usize,
}

/// Removes the history of past months.
///
/// # Errors
///
/// [`DatabaseError::Busy`] when other connections use a partition for a minute; otherwise when the database does not answer. What
/// was removed stays removed.
pub fn remove(store: &Store, months: PastMonths) -> Result<Removed, StorageError> {
    let end = months.end;
    let mut removed = Removed::default();
    let found = store.read_blocking::<_, StorageError>(|session| partitions(session.connection))?;
    for partition in found.iter().filter(|partition| partition.is_before(end)) {
        drop_when_free(store, &partition.name, end)?;
        removed.partitions += 1;
    }
    let last =
        store.read_blocking::<_, StorageError>(move |session| last_key(session.connection, end))?;
    let Some(last) = last else { return Ok(removed) };
    let mut first = Some(i64::MIN);
    while let Some(from) = first {
        let portion =
            store.write_blocking(move |session| session.remove_portion(from, last, end))?;
        removed.entries += portion.entries;
        first = portion.next;
        thread::sleep(PORTION_PAUSE);
    }
    Ok(removed)
}

/// Drops a partition, and tries again while other connections use it.
fn drop_when_free(store: &Store, name: &str, end: Month) -> Result<(), StorageError> {
    let deadline = Instant::now() + PARTITION_WAIT;
    loop {
        let name = name.to_owned();
        let outcome = store.write_blocking(move |session| {
            drop_partition(session.connection, &name)?;
            session.record_removal(end)
        });
        match outcome {
            Err(
                StorageError::Database(DatabaseError::Busy)
                | StorageError::Database(DatabaseError::Collided),
            ) if Instant::now() < deadline => {
                thread::sleep(PARTITION_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// The greatest key of the entries from before a month.
fn last_key(connection: &mut DatabaseConnection, end: Month) -> Result<Option<i64>, StorageError> {
    let entries = changes::table.filter(changes::changed_at.lt(end.begin()));
    Ok(entries
        .select(max(changes::id))
        .first::<Option<i64>>(connection)?)
}

/// What one transaction has deleted.
struct Portion {
    entries: usize,
    /// The key at which the next portion begins; `None` at the end.
    next: Option<i64>,
}

/// The day before which history was removed; `None` when none was removed.
pub(super) fn removed_before(
    connection: &mut DatabaseConnection,
) -> Result<Option<NaiveDate>, StorageError> {
    let Some(text) = register_setting::read(connection, REMOVED_BEFORE)? else {
        return Ok(None);
    };
    let day = text.parse().map_err(|_| StorageError::CorruptSetting {
        name: REMOVED_BEFORE,
    })?;
    Ok(Some(day))
}

impl Session<'_> {
    /// The day before which history was removed; `None` when none was removed.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or the setting holds no day.
    pub fn history_removed_before(&mut self) -> Result<Option<NaiveDate>, StorageError> {
        removed_before(self.connection)
    }

    /// Deletes entries from before a month, of the first keys from `from` to `last`.
    fn remove_portion(
        &mut self,
        from: i64,
        last: i64,
        end: Month,
    ) -> Result<Portion, StorageError> {
        let keys = changes::table.filter(changes::id.between(from, last));
        let Some(first) = keys
            .select(min(changes::id))
            .first::<Option<i64>>(self.connection)?
        else {
            return Ok(Portion {
                entries: 0,
                next: None,
            });
        };
        let next = first + PORTION;
        let portion = changes::id.ge(first).and(changes::id.lt(next));
        let old = changes::table.filter(portion.and(changes::changed_at.lt(end.begin())));
        let entries = diesel::delete(old).execute(self.connection)?;
        if entries > 0 {
            self.record_removal(end)?;
        }
        Ok(Portion {
            entries,
            next: Some(next).filter(|next| *next <= last),
        })
    }

    /// Records that the history before a month was removed, unless that of a later month was.
    fn record_removal(&mut self, end: Month) -> Result<(), StorageError> {
        let end = end.first_day();
        if removed_before(self.connection)?.is_some_and(|recorded| recorded >= end) {
            return Ok(());
        }
        register_setting::write(self.connection, REMOVED_BEFORE, &end.to_string())
    }
}

#[cfg(test)]
mod tests;
