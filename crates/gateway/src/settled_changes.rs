//! Determines the position of the last change on PostgreSQL that is final although a transaction is
//! open.
//!
//! Clients that follow changes see a change when no open transaction can still commit an earlier
//! one. A transaction that stays open would delay all later changes. But a transaction that changes
//! trainees must be committed within 15 seconds: after that, a trigger of the database refuses the
//! commit. So the server does not wait for older transactions, except for one that is being
//! committed, which may wait for a standby.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::rt;
use storage::error::StorageError;
use storage::records::change_position::{OpenTransactions, Settled};
use storage::store::Store;

use http_kit::error_chain::Causes;
use http_kit::metrics;

/// The interval between two checks of the open transactions. A change waits for the next check,
/// then for [`TIME_TO_COMMIT`], and then for one more check: less than 30 seconds.
const INTERVAL: Duration = Duration::from_secs(2);
/// The age of a transaction that can no longer change a trainee: 15 seconds and a margin.
const TIME_TO_COMMIT: Duration = Duration::from_secs(20);

/// The end of the changes that are final despite open transactions. Cheap to clone; all clones
/// share one value.
#[derive(Debug, Clone, Default)]
pub struct SettledChanges(Arc<Mutex<Settled>>);

impl SettledChanges {
    /// The present position.
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
    /// The time of each observation, and the number of the next transaction at that time.
    next: VecDeque<(Instant, i64)>,
    /// The oldest open transaction, and since when it is known to be the oldest.
    oldest: Option<(i64, Instant)>,
    /// The timeline of the PostgreSQL server.
    timeline: Option<i64>,
}

impl Observations {
    /// Adds an observation. Returns the first position whose changes are not final, `None` if it is
    /// not known yet, and how long the oldest open transaction has been observed.
    fn add(&mut self, now: Instant, seen: OpenTransactions) -> (Option<i64>, Duration) {
        if self.timeline != seen.timeline
            || self.next.back().is_some_and(|(_, next)| *next > seen.next)
        {
            // Another server answers now. A promoted standby may assign transaction numbers again
            // that were seen on the previous primary, so earlier observations do not apply.
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
        // The latest observation that is old enough: transactions before it can no longer commit.
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
