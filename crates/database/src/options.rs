//! How a store is set up.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::clock::Clock;

/// How a store is set up.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The most connections that read, at least one. Connections are made on demand.
    pub readers: u32,
    /// The most connections that write on PostgreSQL, at least one. They are separate from the
    /// reading ones, so that neither kind of job delays the other.
    pub writers: u32,
    /// How long a job waits to begin: on PostgreSQL for a connection, and a write on both databases
    /// for earlier writes of its writer.
    pub place_wait: Duration,
    /// How long to wait for a PostgreSQL server without a free connection, when the store is opened
    /// and in jobs without a waiting client. Other servers of the register close their unused
    /// connections.
    pub connection_wait: Duration,
    /// The number of connections for look-ups on SQLite, one for each thread; see
    /// [`Database::look_up`](crate::database::Database::look_up).
    pub look_up_threads: u32,
    /// The most jobs that wait to read, and the most that wait to write. Further jobs are rejected
    /// at once.
    pub queue: usize,
    /// The most writes that share a commit, at least one. Limits how long the first of them waits
    /// for the last.
    pub group: usize,
    /// The clock of the jobs.
    pub clock: Clock,
}

impl Default for StoreOptions {
    fn default() -> Self {
        // A server runs one thread for each processor.
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
