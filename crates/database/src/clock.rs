//! The clock of jobs.
//!
//! Times are UTC and truncated to milliseconds, because the API has milliseconds and the two
//! databases store different precisions.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

mod job;

pub use self::job::JobTime;

/// The most that the date of a change may be ahead of the clock.
pub const MAX_LEAD: TimeDelta = TimeDelta::seconds(1);
/// A date further ahead of the clock than this shows that the clock is or was wrong.
pub const WRONG_CLOCK: TimeDelta = TimeDelta::minutes(5);

/// A source of time. Cheap to clone; all clones are the same clock.
#[derive(Clone)]
pub struct Clock {
    tell: Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>,
    is_system: bool,
}

impl Clock {
    /// The clock of the machine.
    #[expect(clippy::disallowed_methods, reason = "the clock of changes")]
    pub fn system() -> Self {
        Self {
            is_system: true,
            ..Self::from_fn(Utc::now)
        }
    }

    /// A clock that calls `tell`, such as a stopped clock in a test.
    pub fn from_fn(tell: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self {
            tell: Arc::new(tell),
            is_system: false,
        }
    }

    /// The current time, truncated to milliseconds.
    pub fn now(&self) -> DateTime<Utc> {
        (self.tell)().trunc_subsecs(3)
    }

    /// How far the clock of the database is ahead of this clock; zero for a clock of a test, which
    /// then is the clock of the database too, and for an unknown time.
    pub(crate) fn offset_of(&self, database: Option<DateTime<Utc>>) -> TimeDelta {
        match database {
            Some(database) if self.is_system => database.trunc_subsecs(3) - self.now(),
            Some(_) | None => TimeDelta::zero(),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_truncated_to_milliseconds() {
        let clock = Clock::from_fn(|| DateTime::from_timestamp_nanos(1_999_999));
        assert_eq!(clock.now(), DateTime::from_timestamp_nanos(1_000_000));
    }
}
