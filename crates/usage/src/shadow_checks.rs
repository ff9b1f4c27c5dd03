//! Tries accepted writes of older versions in the newest one, off the way of requests, and counts
//! how they fare.
//!
//! A share of the writes is tried. The job of such a write keeps what it met, the trainee as it was
//! before among it, since only on that the newest version would have decided as it would then
//! ([`version_tools::shadow`]); a later look at the record would find the write done. After the
//! reply the write goes into a bounded queue, from which one thread takes one at a time. What finds
//! the queue full is dropped, and so is a write that waits when the program is killed. Of a write
//! nothing is kept but counts ([`crate::counts`]).
//!
//! What a check does not know: whether the client would send the same body to the newest version,
//! what depends on the time of the write, such as a duplicate, and anything about requests that
//! were refused.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io, thread};

use adapter_kit::{Endpoint, Served, Versions};
use chrono::{DateTime, Utc};
use domain::Lists;
use tokio::sync::{mpsc, oneshot};
use version_tools::shadow::{AcceptedWrite, check};

use crate::counts::{Checked, Usage};
use crate::observation::ObservedWrite;

/// Writes that may wait. One more is dropped.
const QUEUE: usize = 64;

/// The check of accepted writes; none by default. Cheap to clone; all clones are the same.
#[derive(Clone, Default)]
pub struct ShadowChecks(Option<Arc<Running>>);

struct Running {
    newest: &'static Served,
    /// In percent.
    share: u8,
    /// Picks the share.
    lot: RandomState,
    drawn: AtomicU64,
    queue: mpsc::Sender<Message>,
    dropped: AtomicU64,
}

enum Message {
    Check(Box<Write>),
    /// Everything before it is done.
    Drain(oneshot::Sender<()>),
}

/// A write that was accepted.
pub struct Write {
    /// The version that it was sent to.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The number of its token.
    pub token: i64,
    /// When it was.
    pub at: DateTime<Utc>,
    /// The identifier of the placement or the degree in its path.
    pub part_id: String,
    /// What it met.
    pub observed: ObservedWrite,
}

impl ShadowChecks {
    /// Begins to try so many percent of the writes, on a thread that ends with the last clone.
    ///
    /// # Errors
    ///
    /// When the operating system gives no thread.
    pub fn start(
        share: u8,
        versions: &'static Versions,
        lists: &'static Lists,
        usage: Usage,
    ) -> io::Result<Self> {
        let Some(newest) = versions.newest().filter(|_| share > 0) else {
            return Ok(Self::default());
        };
        let (queue, mut waiting) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name("shadow".to_owned())
            .spawn(move || {
                while let Some(message) = waiting.blocking_recv() {
                    match message {
                        Message::Check(write) => perform(*write, newest, lists, &usage),
                        // Whoever waits may have gone away.
                        Message::Drain(drained) => drop(drained.send(())),
                    }
                }
            })?;
        let (lot, drawn, dropped) = (RandomState::new(), AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self(Some(Arc::new(Running {
            newest,
            share,
            lot,
            drawn,
            queue,
            dropped,
        }))))
    }

    /// Whether any writes are tried.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the next write of the version is to be checked.
    #[must_use]
    pub fn samples(&self, served: &Served) -> bool {
        let is_older =
            |running: &&Arc<Running>| served.version.label != running.newest.version.label;
        self.0
            .as_ref()
            .filter(is_older)
            .is_some_and(|running| running.draws())
    }

    /// Takes a write that was accepted; drops it when too many wait already.
    pub fn offer(&self, write: Write) {
        let Some(running) = &self.0 else { return };
        if running
            .queue
            .try_send(Message::Check(Box::new(write)))
            .is_err()
        {
            running.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all writes are tried that were taken so far, and says how many were dropped
    /// since it was drained last.
    pub async fn drain(&self) -> u64 {
        let Some(running) = &self.0 else { return 0 };
        let (drained, answer) = oneshot::channel();
        if running.queue.send(Message::Drain(drained)).await.is_ok() {
            // The thread ends without an answer only when the program does.
            let _ = answer.await;
        }
        running.dropped.swap(0, Ordering::Relaxed)
    }
}

impl Running {
    /// Whether the next write is among the share.
    fn draws(&self) -> bool {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        self.lot.hash_one(number) % 100 < u64::from(self.share)
    }
}

impl fmt::Debug for ShadowChecks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.0.as_ref().map_or(0, |running| running.share);
        formatter
            .debug_struct("ShadowChecks")
            .field("share", &share)
            .finish_non_exhaustive()
    }
}

/// Tries one write. A panic is ours, and no reason to stop.
fn perform(write: Write, newest: &'static Served, lists: &'static Lists, usage: &Usage) {
    let Write {
        served,
        endpoint,
        token,
        at,
        part_id,
        observed,
    } = write;
    let organisations = observed.organisations.unwrap_or_default();
    let occasion = AcceptedWrite {
        endpoint,
        trainee: observed.trainee.as_deref(),
        part_id: &part_id,
        organisations: &organisations,
        now: at,
        lists,
    };
    let found = catch_unwind(AssertUnwindSafe(|| {
        check(&observed.body, served, newest, &occasion)
    }));
    match found {
        Ok(Some(found)) => {
            let (version, against) = (served.version.label, newest.version.label);
            usage.count_check(
                Checked {
                    day: at.date_naive(),
                    token,
                    version,
                    against,
                },
                found,
            );
        }
        Ok(None) => {}
        Err(_) => log::error!(
            "a write to {endpoint} could not be tried in {}",
            newest.version.label
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(share: u8, writes: usize) -> usize {
        let shadow =
            ShadowChecks::start(share, versions::all(), Lists::embedded(), Usage::default())
                .unwrap();
        let running = shadow.0.as_ref();
        (0..writes)
            .filter(|_| running.is_some_and(|running| running.draws()))
            .count()
    }

    #[test]
    fn the_share_that_was_requested_is_drawn() {
        assert_eq!((drawn(0, 1_000), drawn(100, 1_000)), (0, 1_000));
        let half = drawn(50, 10_000);
        // Ten standard deviations.
        assert!((4_500..=5_500).contains(&half), "{half}");
    }

    #[actix_web::test]
    async fn what_finds_the_queue_full_is_dropped_and_reported() {
        let served = versions::all().iter().next().unwrap();
        let (queue, mut waiting) = mpsc::channel(1);
        let (lot, drawn, dropped) = (RandomState::new(), AtomicU64::new(0), AtomicU64::new(0));
        let shadow = ShadowChecks(Some(Arc::new(Running {
            newest: served,
            share: 100,
            lot,
            drawn,
            queue,
            dropped,
        })));
        let write = || Write {
            served,
            endpoint: Endpoint::Defer,
            token: 1,
            at: DateTime::UNIX_EPOCH,
            part_id: String::new(),
            observed: ObservedWrite::default(),
        };
        for _ in 0..3 {
            shadow.offer(write());
        }
        assert!(matches!(waiting.recv().await, Some(Message::Check(_))));
        assert!(waiting.try_recv().is_err());
        drop(waiting);
        assert_eq!((shadow.drain().await, shadow.drain().await), (2, 0));
    }
}
