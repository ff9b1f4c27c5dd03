//! Where the time of a job comes from.
//!
//! Times are UTC and cut to the millisecond: the wire has milliseconds, and the two databases keep different precision.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

/// Tells the time. Cheap to clone; all clones are the same clock.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Self {
        Self::from_fn(Utc::now)
    }

    /// A clock that asks `tell`, for instance one that stands still in a test.
    pub fn from_fn(tell: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time now, cut to the millisecond.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)().trunc_subsecs(3)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// Gives every write its own millisecond, so that the order of `now` is the order in which the writes began, also when
/// the machine's clock stands still or is set back.
#[derive(Debug)]
pub(crate) struct WriteClock {
    clock: Clock,
    last: Mutex<Option<DateTime<Utc>>>,
}

impl WriteClock {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, last: Mutex::new(None) }
    }

    /// The time now, at least one millisecond after the last answer.
    pub(crate) fn next(&self) -> DateTime<Utc> {
        let now = self.clock.now();
        // A poisoned lock is no harm: the value under it is written in one step.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let next = last.map_or(now, |last| now.max(last + TimeDelta::milliseconds(1)));
        *last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_cut_to_the_millisecond() {
        let clock = Clock::from_fn(|| DateTime::from_timestamp_nanos(1_999_999));
        assert_eq!(clock.now(), DateTime::from_timestamp_nanos(1_000_000));
    }

    #[test]
    fn a_write_clock_moves_on_when_the_machine_stands_still_or_goes_back() {
        let seconds = Arc::new(Mutex::new(vec![5, 9, 7, 7]));
        let clock =
            Clock::from_fn(move || DateTime::from_timestamp(seconds.lock().unwrap().pop().unwrap(), 0).unwrap());
        let writes = WriteClock::new(clock);

        let told: Vec<i64> = (0..4).map(|_| writes.next().timestamp_millis()).collect();
        assert_eq!(told, [7_000, 7_001, 9_000, 9_001]);
    }
}
