//! The time of one job, and the dates of the changes that it makes.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::write::{ReservedDate, WriteClock};
use crate::error::DatabaseError;

/// The most that a change waits for its date.
pub(crate) const MAX_DATE_WAIT: Duration = Duration::from_secs(5);

/// The time of a job by the clock, and the dates of its changes. Dates can be ahead of the clock,
/// so compare expiry times with the clock only.
pub struct JobTime {
    /// When the job was begun, by the clock.
    now: DateTime<Utc>,
    /// Absent in a job that only reads.
    dates: Option<Dates>,
}

/// The dates of a job that writes.
struct Dates {
    clock: Arc<WriteClock>,
    next: ReservedDate,
    /// Whether a change of this job has a date. Such a job waits for later dates instead of being
    /// run again.
    has_changed: bool,
}

impl JobTime {
    /// The time of a job that only reads.
    pub fn new_reading(now: DateTime<Utc>) -> Self {
        Self { now, dates: None }
    }

    /// The time of a job that writes.
    pub(crate) fn new_writing(clock: &Arc<WriteClock>) -> Self {
        let now = clock.now();
        let next = clock.reserve(None);
        let dates = Dates {
            clock: Arc::clone(clock),
            next,
            has_changed: false,
        };
        Self {
            now,
            dates: Some(dates),
        }
    }

    /// When the job was begun, by the clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The date of the next change; the time of the job if it only reads.
    pub fn change_date(&self) -> DateTime<Utc> {
        self.dates
            .as_ref()
            .map_or(self.now, |dates| dates.next.date())
    }

    /// Makes the date of the next change later than `last_change`, the last change of the record.
    /// Call this before the job changes the record.
    pub fn come_after(&mut self, last_change: Option<DateTime<Utc>>) {
        let Some(dates) = self.dates.as_mut() else {
            // A job that only reads has no dates.
            return;
        };
        if dates.next.is_taken()
            || last_change.is_some_and(|last_change| last_change >= dates.next.date())
        {
            dates.reserve(last_change);
        }
    }

    /// Uses the date of the next change for a change.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DateNotDue`] if the date is too far ahead of the clock.
    pub fn take(&mut self) -> Result<(), DatabaseError> {
        let Some(dates) = self.dates.as_mut() else {
            // A job that only reads has no dates.
            return Ok(());
        };
        dates
            .next
            .take()
            .map_err(|wait| DatabaseError::DateNotDue { wait })?;
        dates.has_changed = true;
        Ok(())
    }
}

impl Dates {
    /// Reserves the date of the next change. A job that has changed something waits here until the
    /// date is due, because running it again would repeat those changes.
    fn reserve(&mut self, last_change: Option<DateTime<Utc>>) {
        let begun = Instant::now();
        loop {
            // Makes an unused date available to this reservation.
            self.next.give_back();
            self.next = self.clock.reserve(last_change);
            match self.next.wait() {
                Some(wait) if self.has_changed && begun.elapsed() + wait < MAX_DATE_WAIT => {
                    thread::sleep(wait)
                }
                Some(_) | None => return,
            }
        }
    }
}
