//! Shadow checks: a background thread tries accepted writes of older versions in the newest one and
//! counts the results.
//!
//! A configurable share of the writes is checked. The job of such a write keeps the state that it
//! found, including the trainee before the write, because the newest version must decide on the
//! same state ([`version_tools::shadow`]). The stored record already contains the write. After the
//! reply, the write enters a bounded queue, which one thread processes. A write is dropped if the
//! queue is full, or if the program is killed. Only counts are stored ([`crate::counts`]).
//!
//! Limits of the checks:
//!
//! - The client might send another body to the newest version.
//! - Rules that depend on the time of the write, such as duplicates, are not checked.
//! - Refused requests are not checked.

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

/// The capacity of the queue. Further writes are dropped.
const QUEUE: usize = 64;

/// The queue of shadow checks; off by default. Cheap to clone; all clones share the queue.
#[derive(Clone, Default)]
pub struct ShadowChecks(Option<Arc<Running>>);

struct Running {
    newest: &'static Served,
    /// The share of writes to check, in percent.
    share: u8,
    /// Hashes the number of a write, to select the writes to check.
    lot: RandomState,
    /// The number of writes that `lot` has hashed.
    drawn: AtomicU64,
    queue: mpsc::Sender<Message>,
    dropped: AtomicU64,
}

enum Message {
    Check(Box<Write>),
    /// Replies when all earlier messages are processed.
    Drain(oneshot::Sender<()>),
}

/// An accepted write to check.
pub struct Write {
    /// The version of the request.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The number of the token.
    pub token: i64,
    /// The time of the write.
    pub at: DateTime<Utc>,
    /// The identifier of the placement or the degree in the path.
    pub part_id: String,
    /// The state that the write has found.
    pub observed: ObservedWrite,
}

impl ShadowChecks {
    /// Starts checking the given percentage of writes, on a thread that ends with the last clone.
    ///
    /// # Errors
    ///
    /// When the operating system cannot start a thread.
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
                        // A failure is ignored: the waiting task may have been cancelled.
                        Message::Drain(drained) => drop(drained.send(())),
                    }
                }
            })?;
        let lot = RandomState::new();
        let drawn = AtomicU64::new(0);
        let dropped = AtomicU64::new(0);
        Ok(Self(Some(Arc::new(Running {
            newest,
            share,
            lot,
            drawn,
            queue,
            dropped,
        }))))
    }

    /// Whether checks are on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether to check the next write of the version. Selects the configured share at random;
    /// false for the newest version, and if checks are off.
    #[must_use]
    pub fn samples(&self, served: &Served) -> bool {
        let is_older =
            |running: &&Arc<Running>| served.version.label != running.newest.version.label;
        self.0
            .as_ref()
            .filter(is_older)
            .is_some_and(|running| running.draws())
    }

    /// Queues an accepted write, or drops it when the queue is full.
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

    /// Waits until all queued writes are checked. Returns the number of writes dropped since the
    /// last call.
    pub async fn drain(&self) -> u64 {
        let Some(running) = &self.0 else { return 0 };
        let (drained, answer) = oneshot::channel();
        if running.queue.send(Message::Drain(drained)).await.is_ok() {
            // The thread ends without a reply only when the program ends.
            let _ = answer.await;
        }
        running.dropped.swap(0, Ordering::Relaxed)
    }
}

impl Running {
    /// Whether the next write belongs to the share. The hash of its number decides, like a random
    /// number.
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

/// Checks one write. A panic is logged and does not stop the thread.
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
            let version = served.version.label;
            let against = newest.version.label;
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
            "shadow check against {} panicked; endpoint: {endpoint}",
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
    fn configured_share_of_writes_is_drawn() {
        assert_eq!((drawn(0, 1_000), drawn(100, 1_000)), (0, 1_000));
        let half = drawn(50, 10_000);
        // The tolerance is ten standard deviations.
        assert!((4_500..=5_500).contains(&half), "{half}");
    }

    #[actix_web::test]
    async fn writes_beyond_full_queue_are_dropped_and_counted() {
        let served = versions::all().iter().next().unwrap();
        let (queue, mut waiting) = mpsc::channel(1);
        let lot = RandomState::new();
        let drawn = AtomicU64::new(0);
        let dropped = AtomicU64::new(0);
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
