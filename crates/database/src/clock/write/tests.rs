//! Tests how far dates run ahead, how many changes share a date, and when changes wait.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;

/// 2 March 2026, noon, in microseconds.
const BEGINNING: i64 = 1_772_452_800_000_000;

/// A clock set by the test, and the dates that follow it.
struct Machine {
    micros: Arc<AtomicI64>,
    dates: Arc<WriteClock>,
    given: Vec<DateTime<Utc>>,
}

impl Machine {
    fn new() -> Self {
        let micros = Arc::new(AtomicI64::new(BEGINNING));
        let current = Arc::clone(&micros);
        let clock = Clock::from_fn(move || {
            DateTime::from_timestamp_micros(current.load(Ordering::SeqCst)).unwrap()
        });
        Self {
            micros,
            dates: Arc::new(WriteClock::new(clock)),
            given: Vec::new(),
        }
    }

    fn now(&self) -> DateTime<Utc> {
        self.dates.clock.now()
    }

    fn advance(&self, by: TimeDelta) {
        self.micros
            .fetch_add(by.num_microseconds().unwrap(), Ordering::SeqCst);
    }

    /// Makes a change. Returns its date, or how long it has to wait.
    fn change(&mut self, earlier: Option<DateTime<Utc>>) -> Result<DateTime<Utc>, Duration> {
        let mut reserved = self.dates.reserve(earlier);
        reserved.take()?;
        self.given.push(reserved.date());
        assert!(
            reserved.date() - self.now() <= TimeDelta::seconds(1),
            "{} at {}",
            reserved.date(),
            self.now()
        );
        Ok(reserved.date())
    }

    /// Like [`Machine::change`], but waits as long as required.
    fn change_in_time(&mut self, earlier: Option<DateTime<Utc>>) -> DateTime<Utc> {
        loop {
            match self.change(earlier) {
                Ok(date) => return date,
                Err(wait) => self.advance(TimeDelta::from_std(wait).unwrap()),
            }
        }
    }

    /// Checks that no date went back, and that few changes share a date.
    fn require_order(&self) {
        assert!(self.given.is_sorted());
        let mut changes = HashMap::new();
        self.given
            .iter()
            .for_each(|date| *changes.entry(date).or_insert(0) += 1);
        assert!(
            changes
                .values()
                .all(|changes| *changes <= CHANGES_PER_MILLISECOND),
            "{:?}",
            changes.values().max()
        );
    }

    /// How far the last date is ahead of the clock.
    fn lead(&self) -> TimeDelta {
        *self.given.last().unwrap() - self.now()
    }
}

#[test]
fn changes_have_different_milliseconds_with_stopped_clock() {
    let mut machine = Machine::new();
    let dates: Vec<_> = (0..250).map(|_| machine.change(None).unwrap()).collect();
    assert!(dates.is_sorted_by(|earlier, later| earlier < later));
    assert_eq!(dates[0], machine.now());
}

#[test]
fn refused_job_takes_no_date() {
    let mut machine = Machine::new();
    for _ in 0..5_000 {
        assert_eq!(machine.dates.reserve(None).date(), machine.now());
    }
    assert_eq!(machine.change(None), Ok(machine.now()));
}

#[test]
fn five_thousand_changes_per_second_stay_near_clock() {
    let mut machine = Machine::new();
    let mut widest = TimeDelta::zero();
    for _ in 0..100_000 {
        machine.change(None).unwrap();
        widest = widest.max(machine.lead());
        machine.advance(TimeDelta::microseconds(200));
    }
    machine.require_order();
    assert!(widest <= SHARING_LEAD + MILLISECOND, "{widest}");
}

#[test]
fn fifty_thousand_changes_wait_at_maximum_lead() {
    let mut machine = Machine::new();
    let begun = machine.now();
    for _ in 0..50_000 {
        machine.change_in_time(None);
        machine.advance(TimeDelta::microseconds(10));
    }
    machine.require_order();
    // Ten in a millisecond take five seconds, and the last second of them lies ahead.
    assert!(
        machine.now() - begun < TimeDelta::seconds(5),
        "{}",
        machine.now() - begun
    );
}

#[test]
fn record_changed_too_often_waits_without_delaying_others() {
    let mut machine = Machine::new();
    let mut last = machine.now();
    let mut changed = 0;
    let mut waited = 0;
    for _ in 0..10_000 {
        match machine.change(Some(last)) {
            Ok(date) => {
                assert!(date > last);
                (last, changed) = (date, changed + 1);
            }
            Err(wait) => {
                assert!(wait <= Duration::from_millis(1));
                waited += 1;
            }
        }
        machine.change(None).unwrap();
        machine.advance(TimeDelta::microseconds(250));
    }
    machine.require_order();
    // 2.5 seconds, and the second ahead.
    assert!(
        (3_000..=3_500).contains(&changed),
        "{changed} changes, {waited} attempts too early"
    );
}

#[test]
fn changes_wait_after_clock_was_set_back_slightly() {
    let mut machine = Machine::new();
    let before = machine.change(None).unwrap();
    machine.advance(-TimeDelta::milliseconds(900));
    let next = machine.change(None).unwrap();
    assert_eq!(next, before);
    machine.advance(-TimeDelta::milliseconds(1_099));
    let wait = machine.change(None).unwrap_err();
    assert_eq!(wait, Duration::from_millis(999));
    machine.advance(TimeDelta::from_std(wait).unwrap() - MILLISECOND);
    assert_eq!(machine.change(None), Err(Duration::from_millis(1)));
    machine.advance(MILLISECOND);
    assert!(machine.change(None).unwrap() >= next);
    machine.require_order();
}

#[test]
fn dates_follow_clock_that_was_set_back_far() {
    for jump in [
        TimeDelta::milliseconds(2_001),
        TimeDelta::hours(2),
        TimeDelta::days(365),
    ] {
        let machine = Machine::new();
        let change = |earlier| {
            let mut reserved = machine.dates.reserve(earlier);
            reserved.take().map(|()| reserved.date())
        };
        machine.advance(jump);
        let ahead = change(None).unwrap();
        machine.advance(-jump);
        assert_eq!(change(None), Ok(machine.now()));
        assert_eq!(change(None), Ok(machine.now() + MILLISECOND));
        // The dates of a record that was changed before the end of the jump still increase.
        assert_eq!(change(Some(ahead)), Ok(ahead + MILLISECOND));
        assert_eq!(change(None), Ok(machine.now() + MILLISECOND * 2));
    }
}

#[test]
fn unused_date_becomes_available_after_clock_jump() {
    for jump in [TimeDelta::milliseconds(1_500), TimeDelta::hours(2)] {
        let mut machine = Machine::new();
        machine.advance(jump);
        let held = machine.dates.reserve(None);
        drop(machine.dates.reserve(None));
        machine.advance(-jump);
        drop(held);
        assert_eq!(machine.change(None), Ok(machine.now()));
    }
}

#[test]
fn reserved_dates_of_clock_jump_do_not_delay_others() {
    let mut machine = Machine::new();
    machine.advance(TimeDelta::hours(2));
    let mut held = machine.dates.reserve(None);
    machine.advance(-TimeDelta::hours(2));
    assert_eq!(machine.change(None), Ok(machine.now()));
    held.take().unwrap();
    assert_eq!(machine.change(None), Ok(machine.now()));
}

#[test]
fn dates_follow_commits_of_other_process() {
    let mut machine = Machine::new();
    let committed = machine.now() + TimeDelta::milliseconds(600);
    machine.dates.come_after(committed);
    machine.dates.come_after(machine.now());
    assert_eq!(machine.change(None), Ok(committed));
    machine.require_order();
    // After a start with a clock that was set back a little, changes wait up to a second. If it was
    // set back further, they follow the clock.
    machine
        .dates
        .come_after(machine.now() + TimeDelta::seconds(2));
    assert_eq!(machine.change(None), Err(Duration::from_secs(1)));
    let mut other = Machine::new();
    other
        .dates
        .come_after(other.now() + TimeDelta::milliseconds(2_001));
    assert_eq!(other.change(None), Ok(other.now()));
}

#[test]
fn date_of_fast_clock_affects_only_its_record() {
    let mut machine = Machine::new();
    let ahead = machine.now() + TimeDelta::hours(1);
    let mut reserved = machine.dates.reserve(Some(ahead));
    assert_eq!(
        (reserved.date(), reserved.take()),
        (ahead + MILLISECOND, Ok(()))
    );
    assert_eq!(machine.change(None), Ok(machine.now()));
    // The dates get no further ahead.
    let mut next = machine.dates.reserve(Some(reserved.date()));
    assert_eq!(next.take(), Err(Duration::from_millis(1)));
    machine.advance(MILLISECOND);
    assert_eq!(next.take(), Ok(()));
    // A date that is less far ahead may come from fast changes.
    let near = machine.now() + TimeDelta::milliseconds(1_500);
    assert_eq!(
        machine.dates.reserve(Some(near)).take(),
        Err(Duration::from_millis(501))
    );
}
