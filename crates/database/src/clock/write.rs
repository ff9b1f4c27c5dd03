//! The dates of changes: increasing, and never more than a second ahead of the clock.
//!
//! A client that polls takes the date of the last record that it saw as its cursor. The client
//! misses nothing when no later commit has an earlier date, and it advances when the records of one
//! millisecond fit on its page. So dates do not go back with small corrections of the clock, and
//! few changes share one. A change whose date would be too far ahead has to wait.
//!
//! A date more than [`MAX_WAIT`] further ahead than that shows that the clock was wrong when the
//! date was given, or is wrong now. Dates then follow the clock again at once: waiting would stop
//! all writes for as long as the clock jumped. Each record's own dates still increase.
//!
//! Knows nothing of records or databases.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::values::iso_8601;

use super::{Clock, MAX_LEAD};

/// Up to this lead no two changes share a millisecond.
const SHARING_LEAD: TimeDelta = TimeDelta::milliseconds(250);
/// The changes that may share a millisecond. With four servers over one database there are 40 at
/// most.
const CHANGES_PER_MILLISECOND: u32 = 10;
/// How long a change waits because of a date that was given before. A date further ahead comes from
/// a clock that differs, or from the time before a jump of this one, and waiting does not help
/// against that.
const MAX_WAIT: TimeDelta = TimeDelta::seconds(1);

const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);
const NEVER: DateTime<Utc> = DateTime::<Utc>::MIN_UTC;

/// Gives the changes of one process their dates.
#[derive(Debug)]
pub(crate) struct WriteClock {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The latest date that a change took.
    latest: DateTime<Utc>,
    /// The changes that have it.
    changes: u32,
    /// Dates that no change has taken yet, with the number of jobs that may take each.
    reserved: BTreeMap<DateTime<Utc>, u32>,
    /// When a date of another clock was last followed, by this clock.
    taken_over: DateTime<Utc>,
}

impl WriteClock {
    pub(crate) fn new(clock: Clock) -> Self {
        let (latest, taken_over) = (NEVER, NEVER);
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

    /// The time by the clock alone.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Gives no date before this one any more, which another process gave to a change that is
    /// committed.
    ///
    /// Disregards a date of a wrong clock.
    pub(crate) fn come_after(&self, latest: DateTime<Utc>) {
        let now = self.clock.now();
        let mut state = self.state();
        if latest > state.latest && !is_of_wrong_clock(latest, now) {
            state.latest = latest;
            state.changes = 0;
        }
    }

    /// Reserves a date for a change, later than `earlier`: the date of the last change of the same
    /// record.
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
        if let Ok(wait) = (date - now - MAX_LEAD).to_std()
            && !wait.is_zero()
        {
            return reserved(date, Status::NotDue(wait));
        }
        *state.reserved.entry(date).or_default() += 1;
        reserved(date, Status::Reserved)
    }

    /// Lets one change in each millisecond follow a date of another clock, so that such dates get
    /// no further ahead.
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

    // A poisoned lock is no harm: no code that holds it can panic half-way.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets the dates of a wrong clock, so that later ones follow the clock as it is now.
    fn follow(&mut self, now: DateTime<Utc>) {
        self.reserved
            .retain(|date, _| !is_of_wrong_clock(*date, now));
        if is_of_wrong_clock(self.latest, now) {
            log::warn!(
                "the clock was set back: the last change is dated {}, and the clock says {}; later changes are dated by the \
                 clock, so a client that polls by date may miss some of them",
                iso_8601::timestamp(self.latest),
                iso_8601::timestamp(now)
            );
            self.latest = NEVER;
            self.changes = 0;
        }
    }

    /// The earliest date that another change may have.
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

    /// Removes a job from those that may take a date.
    fn release(&mut self, date: DateTime<Utc>) {
        if let Entry::Occupied(mut jobs) = self.reserved.entry(date) {
            *jobs.get_mut() -= 1;
            if *jobs.get() == 0 {
                jobs.remove();
            }
        }
    }

    /// Counts a change that has this date.
    fn count(&mut self, date: DateTime<Utc>) {
        match date.cmp(&self.latest) {
            Ordering::Greater => (self.latest, self.changes) = (date, 1),
            Ordering::Equal => self.changes += 1,
            Ordering::Less => {}
        }
    }
}

/// Whether a date is so far ahead that the clock was wrong when the date was given, or is wrong
/// now.
fn is_of_wrong_clock(date: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    date - now > MAX_LEAD + MAX_WAIT
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
    /// Follows a date of a clock that was far ahead, and does not restrict the dates of other
    /// records.
    OfOtherClock,
    /// Too far ahead; the change must wait for this time.
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
            self.clock.state().release(self.date);
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
