//! Assigns dates to changes: increasing, and at most a second ahead of the clock.
//!
//! A polling client uses the date of the last record that it saw as its cursor. The client misses
//! no change if no later commit has an earlier date, and it advances if the records of one
//! millisecond fit on a page. Dates therefore never go back after small corrections of the clock,
//! and few changes share a date. A change whose date would be too far ahead has to wait.
//!
//! A date that is even [`MAX_WAIT`] further ahead shows that the clock is wrong now, or was wrong
//! when the date was given. New dates then follow the clock at once, because waiting would block
//! all writes for as long as the clock jumped. The dates of each single record still increase.
//!
//! Independent of records and databases.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::values::iso_8601;

use super::{Clock, MAX_LEAD};

/// Changes share a millisecond only if the latest date is further ahead than this.
const SHARING_LEAD: TimeDelta = TimeDelta::milliseconds(250);
/// The most changes of one process that share a millisecond. Four servers on one database reach 40.
const CHANGES_PER_MILLISECOND: u32 = 10;
/// The most that a change waits because of an earlier change's date. A date further ahead comes
/// from another clock or from before a jump of this clock, and waiting would not help.
const MAX_WAIT: TimeDelta = TimeDelta::seconds(1);

/// The difference of consecutive dates.
const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);
/// A time before all dates.
const NEVER: DateTime<Utc> = DateTime::<Utc>::MIN_UTC;

/// Assigns dates to the changes of one process.
#[derive(Debug)]
pub(crate) struct WriteClock {
    clock: Clock,
    state: Mutex<State>,
}

/// The dates that changes of the process have taken or reserved.
#[derive(Debug)]
struct State {
    /// The latest date that a change took.
    latest: DateTime<Utc>,
    /// The number of changes with that date.
    changes: u32,
    /// Reserved dates that no change has used yet, with the number of jobs that may use each.
    reserved: BTreeMap<DateTime<Utc>, u32>,
    /// When a change last followed a date of another clock.
    taken_over: DateTime<Utc>,
}

impl WriteClock {
    /// A clock that has assigned no date yet.
    pub(crate) fn new(clock: Clock) -> Self {
        let latest = NEVER;
        let taken_over = NEVER;
        Self {
            clock,
            state: Mutex::new(State {
                latest,
                changes: 0,
                reserved: BTreeMap::new(),
                taken_over,
            }),
        }
    }

    /// The current time of the clock.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Makes later dates follow `latest`, the date of a committed change of another process.
    ///
    /// Ignores a date of a wrong clock.
    pub(crate) fn come_after(&self, latest: DateTime<Utc>) {
        let now = self.clock.now();
        let mut state = self.state();
        if latest > state.latest && !is_of_wrong_clock(latest, now) {
            state.latest = latest;
            state.changes = 0;
        }
    }

    /// Reserves a date for a change. The date is later than `earlier`, the date of the record's
    /// last change.
    pub(crate) fn reserve(self: &Arc<Self>, earlier: Option<DateTime<Utc>>) -> ReservedDate {
        let now = self.clock.now();
        let mut state = self.state();
        state.follow(now);
        let reserved = |date, status| ReservedDate {
            clock: Arc::clone(self),
            date,
            status,
        };
        let following =
            earlier.map(|earlier| earlier.checked_add_signed(MILLISECOND).unwrap_or(earlier));
        if let Some(date) = following.filter(|date| is_of_wrong_clock(*date, now)) {
            return reserved(date, Status::OfOtherClock);
        }
        let date = now.max(state.next(now)).max(following.unwrap_or(now));
        // `to_std` fails for a negative difference: the date is then not too far ahead.
        if let Ok(wait) = (date - now - MAX_LEAD).to_std()
            && !wait.is_zero()
        {
            return reserved(date, Status::NotDue(wait));
        }
        *state.reserved.entry(date).or_default() += 1;
        reserved(date, Status::Reserved)
    }

    /// Uses a date of another clock for a change. Only one change in a millisecond may use such a
    /// date, so that these dates do not run further ahead. `Err` is how long another change must
    /// wait.
    fn take_over(&self) -> Result<(), Duration> {
        let now = self.clock.now();
        let mut state = self.state();
        let next = state
            .taken_over
            .checked_add_signed(MILLISECOND)
            .unwrap_or(now);
        match (next - now).to_std() {
            Ok(wait) if !wait.is_zero() => Err(wait),
            Ok(_) | Err(_) => {
                state.taken_over = now;
                Ok(())
            }
        }
    }

    /// Locks the state. No code that holds the lock can panic, so a poisoned lock guards a complete
    /// value.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drops the dates of a wrong clock, so that later dates follow the present clock.
    fn follow(&mut self, now: DateTime<Utc>) {
        self.reserved
            .retain(|date, _| !is_of_wrong_clock(*date, now));
        if is_of_wrong_clock(self.latest, now) {
            log::warn!(
                "clock was set back from {} (latest change) to {}; new changes use the new time; \
                 clients that poll by date may miss changes",
                iso_8601::timestamp(self.latest),
                iso_8601::timestamp(now)
            );
            self.latest = NEVER;
            self.changes = 0;
        }
    }

    /// The earliest possible date of another change.
    fn next(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let (latest, changes) = match self.reserved.last_key_value() {
            Some((date, reserved)) if *date > self.latest => (*date, *reserved),
            Some((date, reserved)) if *date == self.latest => {
                (self.latest, self.changes + reserved)
            }
            Some(_) | None => (self.latest, self.changes),
        };
        if changes == 0 {
            return latest;
        }
        let share = latest > now + SHARING_LEAD && changes < CHANGES_PER_MILLISECOND;
        if share {
            latest
        } else {
            latest.checked_add_signed(MILLISECOND).unwrap_or(latest)
        }
    }

    /// Removes one reservation of a date.
    fn release(&mut self, date: DateTime<Utc>) {
        if let Entry::Occupied(mut jobs) = self.reserved.entry(date) {
            *jobs.get_mut() -= 1;
            if *jobs.get() == 0 {
                jobs.remove();
            }
        }
    }

    /// Counts a change with this date.
    fn count(&mut self, date: DateTime<Utc>) {
        match date.cmp(&self.latest) {
            Ordering::Greater => (self.latest, self.changes) = (date, 1),
            Ordering::Equal => self.changes += 1,
            Ordering::Less => {}
        }
    }
}

/// Whether a date is so far ahead that the clock is wrong now, or was wrong when the date was
/// given.
fn is_of_wrong_clock(date: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    date - now > MAX_LEAD + MAX_WAIT
}

/// A date reserved for a change. An unused date becomes available to other changes.
#[derive(Debug)]
pub(crate) struct ReservedDate {
    clock: Arc<WriteClock>,
    date: DateTime<Utc>,
    status: Status,
}

/// The status of a reserved date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// A change may use the date.
    Reserved,
    /// Follows a date of a clock that was far ahead. Does not affect the dates of other records.
    OfOtherClock,
    /// Too far ahead: the change must wait this long.
    NotDue(Duration),
    Taken,
}

impl ReservedDate {
    pub(crate) fn date(&self) -> DateTime<Utc> {
        self.date
    }

    /// How long the change must wait for another date; `None` if this date can be used.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self.status {
            Status::NotDue(wait) => Some(wait),
            Status::Reserved | Status::OfOtherClock | Status::Taken => None,
        }
    }

    /// Whether a change uses the date.
    pub(crate) fn is_taken(&self) -> bool {
        self.status == Status::Taken
    }

    /// Makes the date available to other changes, unless a change uses it.
    pub(crate) fn give_back(&mut self) {
        if self.status == Status::Reserved {
            self.clock.state().release(self.date);
            self.status = Status::NotDue(Duration::from_millis(1));
        }
    }

    /// Uses the date for a change.
    ///
    /// # Errors
    ///
    /// How long the change must wait for another date.
    pub(crate) fn take(&mut self) -> Result<(), Duration> {
        match self.status {
            Status::Taken => {}
            Status::Reserved => {
                let mut state = self.clock.state();
                state.release(self.date);
                state.count(self.date);
            }
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
