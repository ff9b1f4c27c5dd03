//! The time of one job, and the dates of the changes that it makes.

use chrono::{DateTime, TimeDelta, Utc};

use super::MAX_LEAD;

/// The least difference between the dates of two changes of one record.
const MILLISECOND: TimeDelta = TimeDelta::milliseconds(1);

/// The time of a job by the clock, and the dates of its changes. Dates can be ahead of the clock,
/// so compare expiry times with the clock only.
///
/// A date that is more than [`MAX_LEAD`] ahead of the clock shows that the clock was set back.
/// Dates then follow the clock at once: waiting would block all writes for as long as the clock
/// jumped.
#[derive(Debug, Clone, Copy)]
pub struct JobTime {
    /// When the job was begun, by the clock.
    now: DateTime<Utc>,
    /// The date of the next change.
    change_date: DateTime<Utc>,
}

impl JobTime {
    /// The time of a job that began at `now`.
    pub fn new(now: DateTime<Utc>) -> Self {
        let change_date = now;
        Self { now, change_date }
    }

    /// When the job was begun, by the clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The date of the next change: not earlier than the clock.
    pub fn change_date(&self) -> DateTime<Utc> {
        self.change_date
    }

    /// Makes the next change not earlier than `last_change`, an earlier change of any record. Ignores
    /// a date of a clock that was set back.
    pub fn follow(&mut self, last_change: DateTime<Utc>) {
        if last_change - self.now <= MAX_LEAD {
            self.change_date = self.change_date.max(last_change);
        }
    }

    /// Makes the next change later than `last_change`, the last change of the record. Ignores a date
    /// of a clock that was set back.
    pub fn come_after(&mut self, last_change: DateTime<Utc>) {
        if last_change - self.now <= MAX_LEAD {
            self.change_date = self.change_date.max(last_change + MILLISECOND);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_date_follows_earlier_changes_up_to_one_second_ahead() {
        let now = DateTime::UNIX_EPOCH;
        let at = |milliseconds| now + TimeDelta::milliseconds(milliseconds);
        // The lead of an earlier change, and the lead of the next change of any record and of the
        // same record.
        let cases = [
            (-5_000, 0, 0),
            (-1, 0, 0),
            (0, 0, 1),
            (999, 999, 1_000),
            (1_000, 1_000, 1_001),
            (1_001, 0, 0),
            (86_400_000, 0, 0),
        ];
        for (earlier, of_any, of_same) in cases {
            let mut time = JobTime::new(now);
            time.follow(at(earlier));
            assert_eq!(time.change_date(), at(of_any), "{earlier}");
            let mut time = JobTime::new(now);
            time.come_after(at(earlier));
            assert_eq!(time.change_date(), at(of_same), "{earlier}");
            assert_eq!(time.now(), now);
        }
        let mut time = JobTime::new(now);
        time.come_after(at(10));
        time.follow(at(5));
        assert_eq!(time.change_date(), at(11));
    }
}
