//! How a store is set up.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::clock::Clock;

/// How a store is set up.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The most connections that read, at least one; they are made as they are needed.
    pub readers: u32,
    /// The most connections that write on PostgreSQL, at least one. They are apart from those that
    /// read, so that neither keep the others waiting.
    pub writers: u32,
    /// How long a job waits on PostgreSQL for one of its connections to become free.
    pub place_wait: Duration,
    /// How long opening the store, and a job that no client waits for, wait for a server of
    /// PostgreSQL that has no connection left. Other servers give theirs back when they do not use
    /// them.
    pub connection_wait: Duration,
    /// The threads that look records up on SQLite over connections of their own; see
    /// [`Database::look_up`](crate::database::Database::look_up).
    pub look_up_threads: u32,
    /// Jobs that may wait to read; as many again may wait to write. One more is refused at once.
    pub queue: usize,
    /// The most writes that share a commit on SQLite, at least one. It bounds how long the first of
    /// them waits for the last.
    pub group: usize,
    /// Where jobs get their time.
    pub clock: Clock,
}

impl Default for StoreOptions {
    fn default() -> Self {
        // The threads of a server that answers on all processors.
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let look_up_threads = u32::try_from(processors).unwrap_or(u32::MAX);
        Self {
            readers: 8,
            writers: 8,
            place_wait: Duration::from_secs(2),
            connection_wait: Duration::ZERO,
            look_up_threads,
            queue: 256,
            group: 64,
            clock: Clock::system(),
        }
    }
}
