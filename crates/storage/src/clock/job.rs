//! The time of one job, and the dates of the changes that it makes.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::write::{ReservedDate, WriteClock};
use crate::error::StorageError;

/// How long a change waits for its date, at most.
pub(crate) const MAX_DATE_WAIT: Duration = Duration::from_secs(5);

/// What a job takes for now. In a job that writes it is the date of its next change.
pub(crate) struct JobTime {
    now: DateTime<Utc>,
    dates: Option<Dates>,
}

/// The dates of a job that writes.
struct Dates {
    clock: Arc<WriteClock>,
    next: ReservedDate,
    /// Whether a change of this job has a date. Such a job is not run again for the sake of a later date.
    has_changed: bool,
    /// The row of the record whose last change the next date follows.
    record: Option<i64>,
}

impl JobTime {
    /// The time of a job that only reads.
    pub(crate) fn of_reading(now: DateTime<Utc>) -> Self {
        Self { now, dates: None }
    }

    /// The time of a job that writes.
    pub(crate) fn of_writing(clock: &Arc<WriteClock>) -> Self {
        let next = clock.reserve(None);
        let dates = Dates { clock: Arc::clone(clock), next, has_changed: false, record: None };
        Self { now: dates.next.date(), dates: Some(dates) }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Moves `now` behind the last change of the record of that row, which the job is about to change.
    pub(crate) fn come_after(&mut self, record: i64, last_change: Option<DateTime<Utc>>) {
        let Some(dates) = self.dates.as_mut() else { return };
        if dates.next.is_taken() || last_change.is_some_and(|last_change| last_change >= self.now) {
            dates.reserve(last_change);
            dates.record = Some(record);
            self.now = dates.next.date();
        }
    }

    /// Gives `now` to a change.
    ///
    /// # Errors
    ///
    /// [`StorageError::DateNotDue`].
    pub(crate) fn take(&mut self) -> Result<(), StorageError> {
        let Some(dates) = self.dates.as_mut() else { return Ok(()) };
        dates.next.take().map_err(|wait| StorageError::DateNotDue { wait })?;
        dates.has_changed = true;
        Ok(())
    }

    /// The row of the record that was changed too often lately for the job to change it now.
    pub(crate) fn waits_for(&self) -> Option<i64> {
        self.dates.as_ref()?.record
    }
}

impl Dates {
    /// Reserves the date of the next change. A job that has changed something waits here until it is due: whatever it did
    /// would otherwise be done again.
    fn reserve(&mut self, last_change: Option<DateTime<Utc>>) {
        let begun = Instant::now();
        loop {
            // The one before, if nothing took it, is free for this one.
            self.next.give_back();
            self.next = self.clock.reserve(last_change);
            match self.next.wait() {
                Some(wait) if self.has_changed && begun.elapsed() + wait < MAX_DATE_WAIT => thread::sleep(wait),
                Some(_) | None => return,
            }
        }
    }
}
