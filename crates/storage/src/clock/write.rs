//! The dates of changes: never before a date that was given earlier, and never more than a second ahead of the clock.
//!
//! A client that polls takes the date of the last record that it saw as its cursor. It misses nothing when no later commit
//! has an earlier date, and it gets on when the records of one millisecond fit on its page. So dates never go back, also
//! when the clock does, and few changes share one. A change whose date would be too far ahead has to wait.
//!
//! Knows nothing of records or databases.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Clock, MAX_LEAD, WRONG_CLOCK};

/// Up to this lead each change has a millisecond of its own; beyond it changes share one.
const SHARING_LEAD: TimeDelta = TimeDelta::milliseconds(250);
/// The changes that may share a millisecond. With four servers over one database there are 40 at most.
const CHANGES_PER_MILLISECOND: u32 = 10;
/// How long a change waits because of a date that another server gave. A date further ahead comes from a clock that
/// differs, and waiting does not help against that.
const MAX_WAIT_FOR_OTHERS: TimeDelta = TimeDelta::seconds(1);

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

/// Gives the changes of one process their dates.
#[derive(Debug)]
pub(crate) struct WriteClock {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The latest date that was given.
    latest: DateTime<Utc>,
    /// The changes that have it.
    changes: u32,
    /// When a date of another clock was last followed, by this clock.
    taken_over: DateTime<Utc>,
}

impl WriteClock {
    pub(crate) fn new(clock: Clock) -> Self {
        let never = DateTime::<Utc>::MIN_UTC;
        Self { clock, state: Mutex::new(State { latest: never, changes: 0, taken_over: never }) }
    }

    /// Gives no date before this one any more, which another process gave to a change that is committed.
    ///
    /// One that is so far ahead that the clock must have been wrong is disregarded: nobody can wait for it.
    pub(crate) fn come_after(&self, latest: DateTime<Utc>) {
        let now = self.clock.now();
        let mut state = self.state();
        if latest > state.latest && latest - now <= WRONG_CLOCK {
            state.latest = latest;
            state.changes = 0;
        }
    }

    /// Reserves a date for a change, later than `earlier`: the date of the last change of the same record.
    pub(crate) fn reserve(self: &Arc<Self>, earlier: Option<DateTime<Utc>>) -> ReservedDate {
        let now = self.clock.now();
        let mut state = self.state();
        let reserved = |date, status| ReservedDate { clock: Arc::clone(self), date, status };
        let following = earlier.map(|earlier| earlier.checked_add_signed(MILLISECOND).unwrap_or(earlier));
        if let Some(date) = following
            && earlier.is_some_and(|earlier| earlier > state.latest)
            && date - now > MAX_LEAD + MAX_WAIT_FOR_OTHERS
        {
            return reserved(date, Status::OfOtherClock);
        }
        let date = now.max(state.next(now)).max(following.unwrap_or(now));
        if let Ok(wait) = (date - now - MAX_LEAD).to_std()
            && !wait.is_zero()
        {
            return reserved(date, Status::NotDue(wait));
        }
        if date > state.latest {
            state.latest = date;
            state.changes = 0;
        }
        state.changes += 1;
        reserved(date, Status::Reserved)
    }

    /// Lets one change in each millisecond follow a date of another clock, so that such dates get no further ahead.
    fn take_over(&self) -> Result<(), Duration> {
        let now = self.clock.now();
        let mut state = self.state();
        let next = state.taken_over.checked_add_signed(MILLISECOND).unwrap_or(now);
        match (next - now).to_std() {
            Ok(wait) if !wait.is_zero() => Err(wait),
            Ok(_) | Err(_) => {
                state.taken_over = now;
                Ok(())
            }
        }
    }

    // A poisoned lock is no harm: no code that holds it can panic half-way.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The earliest date that another change may have.
    fn next(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        if self.changes == 0 {
            return self.latest;
        }
        let share = self.latest > now + SHARING_LEAD && self.changes < CHANGES_PER_MILLISECOND;
        if share { self.latest } else { self.latest.checked_add_signed(MILLISECOND).unwrap_or(self.latest) }
    }
}

/// A date that a change may take. One that is not taken is given to another change.
#[derive(Debug)]
pub(crate) struct ReservedDate {
    clock: Arc<WriteClock>,
    date: DateTime<Utc>,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Reserved,
    /// It follows a date that a clock far ahead of this one gave, and says nothing of the changes of other records.
    OfOtherClock,
    /// It is too far ahead for so long.
    NotDue(Duration),
    Taken,
}

impl ReservedDate {
    pub(crate) fn date(&self) -> DateTime<Utc> {
        self.date
    }

    /// How long the change must wait for another date, when this one is too far ahead.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self.status {
            Status::NotDue(wait) => Some(wait),
            Status::Reserved | Status::OfOtherClock | Status::Taken => None,
        }
    }

    /// Whether a change has the date.
    pub(crate) fn is_taken(&self) -> bool {
        self.status == Status::Taken
    }

    /// Leaves the date to another change, unless a change has it.
    pub(crate) fn give_back(&mut self) {
        if self.status == Status::Reserved {
            let mut state = self.clock.state();
            if state.latest == self.date {
                state.changes = state.changes.saturating_sub(1);
            }
            self.status = Status::NotDue(Duration::from_millis(1));
        }
    }

    /// Gives the date to a change.
    ///
    /// # Errors
    ///
    /// How long the change must wait for another date.
    pub(crate) fn take(&mut self) -> Result<(), Duration> {
        match self.status {
            Status::Taken | Status::Reserved => {}
            Status::NotDue(wait) => return Err(wait),
            Status::OfOtherClock => self.clock.take_over()?,
        }
        self.status = Status::Taken;
        Ok(())
    }
}

impl Drop for ReservedDate {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests;
