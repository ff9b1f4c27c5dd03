//! Finds out up to where the changes on PostgreSQL are final although a transaction is open.
//!
//! A change is shown to those who follow changes when no transaction that is still open can be
//! committed before it. One that stays open would hold up all of them, whatever it does. But a
//! transaction that changes trainees can be committed for 15 seconds only (a trigger of the
//! database refuses it later), so an older one need not be waited for; unless it is being committed
//! at this time, which may wait for a standby.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::rt;
use storage::error::StorageError;
use storage::records::change_position::{OpenTransactions, Settled};
use storage::store::Store;

use http_kit::error_chain::Causes;
use http_kit::metrics;

/// How often a server looks at the open transactions. A change waits for the next time, then
/// [`TIME_TO_COMMIT`], and then for the next time again: less than 30 seconds.
const INTERVAL: Duration = Duration::from_secs(2);
/// A transaction that began so long ago can no longer change a trainee.
const TIME_TO_COMMIT: Duration = Duration::from_secs(20);

/// Up to where changes are final, whatever is open. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct SettledChanges(Arc<Mutex<Settled>>);

impl SettledChanges {
    /// Up to where they are.
    #[must_use]
    pub fn get(&self) -> Settled {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, settled: Settled) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = settled;
    }
}

/// The recent observations.
#[derive(Debug, Default)]
struct Observations {
    /// When, and the number of the next transaction then.
    next: VecDeque<(Instant, i64)>,
    /// The oldest open transaction, and since when it is known to be the oldest.
    oldest: Option<(i64, Instant)>,
    /// The timeline of the PostgreSQL server.
    timeline: Option<i64>,
}

impl Observations {
    /// Adds what is seen now; returns the first position whose changes are not final, if any, and
    /// how long the oldest open transaction has been delaying it.
    fn add(&mut self, now: Instant, seen: OpenTransactions) -> (Option<i64>, Duration) {
        if self.timeline != seen.timeline
            || self.next.back().is_some_and(|(_, next)| *next > seen.next)
        {
            // It is another server. One that was promoted may give out numbers that were seen on
            // the one before it.
            *self = Self {
                timeline: seen.timeline,
                ..Self::default()
            };
        }
        let is_open = seen.oldest < seen.next;
        let same = self
            .oldest
            .filter(|(oldest, _)| is_open && *oldest == seen.oldest);
        let (_, since) = *self.oldest.insert(same.unwrap_or((seen.oldest, now)));
        self.next.push_back((now, seen.next));
        let mut settled = None;
        while let Some((_, next)) = self
            .next
            .front()
            .filter(|(at, _)| now.duration_since(*at) >= TIME_TO_COMMIT)
        {
            settled = Some(*next);
            self.next.pop_front();
        }
        let settled = settled.map(|settled| {
            seen.oldest_to_be_kept
                .map_or(settled, |kept| kept.min(settled))
        });
        (settled, now.duration_since(since))
    }
}

/// Updates the position while the server runs; does nothing on SQLite. Must be called on the
/// runtime of the server.
pub fn start(store: Store, settled_changes: SettledChanges) {
    rt::spawn(async move {
        let mut observations = Observations::default();
        let mut time = rt::time::interval(INTERVAL);
        loop {
            time.tick().await;
            let seen: Result<_, StorageError> =
                store.read(|session| session.open_transactions()).await;
            match seen {
                Ok(Some(seen)) => {
                    // A standby does not see the transactions of its primary.
                    let Some(timeline) = seen.timeline else {
                        continue;
                    };
                    let (position, delay) = observations.add(Instant::now(), seen);
                    if let Some(position) = position {
                        settled_changes.set(Settled { position, timeline });
                    }
                    metrics::changes_delay(delay);
                }
                Ok(None) => return,
                Err(error) => {
                    log::warn!(
                        "open transactions not checked; new changes may appear late: {}",
                        Causes(&error)
                    )
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(next: i64) -> OpenTransactions {
        OpenTransactions {
            oldest: 10,
            next,
            timeline: Some(1),
            oldest_to_be_kept: None,
        }
    }

    #[test]
    fn open_transaction_blocks_changes_until_it_cannot_commit() {
        let (begin, mut observations) = (Instant::now(), Observations::default());
        let mut at = |seconds: u64, next, kept| {
            let seen = OpenTransactions {
                oldest_to_be_kept: kept,
                ..open(next)
            };
            observations.add(begin + Duration::from_secs(seconds), seen)
        };
        assert_eq!(at(0, 11, None), (None, Duration::ZERO));
        assert_eq!(at(5, 20, None), (None, Duration::from_secs(5)));
        assert_eq!(at(15, 40, None).0, None);
        assert_eq!(
            at(20, 50, None).0,
            Some(11),
            "the transaction is 20 seconds old"
        );
        let (settled, delay) = at(25, 60, Some(10));
        assert_eq!(
            (settled, delay),
            (Some(10), Duration::from_secs(25)),
            "it is being committed"
        );
    }

    #[test]
    fn observations_on_another_timeline_are_ignored_despite_rising_numbers() {
        let (begin, mut observations) = (Instant::now(), Observations::default());
        let mut at = |seconds: u64, next, timeline| {
            let seen = OpenTransactions {
                timeline: Some(timeline),
                ..open(next)
            };
            observations
                .add(begin + Duration::from_secs(seconds), seen)
                .0
        };
        assert_eq!((at(0, 1_010, 1), at(10, 1_050, 1)), (None, None));
        // The promoted server began again at 990, and was faster than the next look.
        assert_eq!(
            (at(12, 1_060, 2), at(22, 1_070, 2), at(31, 1_080, 2)),
            (None, None, None)
        );
        assert_eq!(at(32, 1_090, 2), Some(1_060));
    }

    #[test]
    fn change_is_shown_within_30_seconds_despite_early_ticks() {
        let (begin, mut observations) = (Instant::now(), Observations::default());
        // The change is made right after the first time.
        let (change, interval) = (20, INTERVAL - Duration::from_millis(1));
        let shown = (0..).map(|tick| interval * tick).find(|at| {
            let next = if at.is_zero() { change } else { change + 1 };
            observations
                .add(begin + *at, open(next))
                .0
                .is_some_and(|settled| settled > change)
        });
        assert!(shown.unwrap() < Duration::from_secs(29), "{shown:?}");
    }
}
