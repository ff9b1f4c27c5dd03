//! Removes the history of past months.
//!
//! Entries are deleted in portions. Each transaction that removes entries also records the date, so
//! every gap in the history has a recorded reason. After an interruption, repeat the call to
//! continue.

use std::thread;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use database::connection::DatabaseConnection;
use diesel::dsl::{max, min};
use diesel::prelude::*;

use super::month::{Month, MonthNotOver};
use crate::base::register_setting;
use crate::error::StorageError;
use crate::schema::changes;
use crate::session::Session;
use crate::store::Store;

/// The name of the setting with the end of the removed history, a day such as `2026-01-01`.
const REMOVED_BEFORE: &str = "history_removed_before";

/// The time after the end of a month before its history may be removed: the clocks of servers
/// differ a little, and a server may delay a write.
const MARGIN: TimeDelta = TimeDelta::hours(1);
/// The number of keys of entries that one transaction covers.
const PORTION: i64 = 500;
/// The pause between two portions, for the writes of other connections.
const PORTION_PAUSE: Duration = Duration::from_millis(20);

/// All months before a given month. Each of them is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastMonths {
    end: Month,
}

impl PastMonths {
    /// The months before `end`.
    ///
    /// # Errors
    ///
    /// When the last of these months is not over, or ended less than an hour ago.
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

/// Removes the history of past months, and returns the number of deleted entries.
///
/// # Errors
///
/// When the database does not answer. Portions that were already removed stay removed.
#[expect(
    clippy::disallowed_methods,
    reason = "the removal pauses on its own thread"
)]
pub fn remove(store: &Store, months: PastMonths) -> Result<usize, StorageError> {
    let end = months.end;
    let last =
        store.read_blocking::<_, StorageError>(move |session| last_key(session.connection, end))?;
    let Some(last) = last else { return Ok(0) };
    let mut removed = 0;
    let mut first = Some(i64::MIN);
    while let Some(from) = first {
        let portion =
            store.write_blocking(move |session| session.remove_portion(from, last, end))?;
        removed += portion.entries;
        first = portion.next;
        thread::sleep(PORTION_PAUSE);
    }
    Ok(removed)
}

/// The greatest key of the entries from before a month; `None` when there are none.
fn last_key(connection: &mut DatabaseConnection, end: Month) -> Result<Option<i64>, StorageError> {
    let entries = changes::table.filter(changes::changed_at.lt(end.begin()));
    Ok(entries
        .select(max(changes::id))
        .first::<Option<i64>>(connection)?)
}

/// The result of deleting one portion.
struct Portion {
    entries: usize,
    /// The first key of the next portion; `None` after the last portion.
    next: Option<i64>,
}

/// The end of the removed history: entries from before this day were removed. `None` when none was
/// removed.
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
    /// The end of the removed history: entries from before this day were removed. `None` when none
    /// was removed.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or the setting is corrupt.
    pub fn history_removed_before(&mut self) -> Result<Option<NaiveDate>, StorageError> {
        removed_before(self.connection)
    }

    /// Deletes the entries from before a month among the first [`PORTION`] keys from `from` to
    /// `last`.
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

    /// Records that the history before a month was removed. Keeps a recorded later month.
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
