//! The store: takes jobs from any thread and runs each in one transaction.
//!
//! Knows how jobs reach a connection, and nothing of what they do there. On SQLite all writes go through one thread that
//! commits many together; on PostgreSQL they run side by side on the pool. Callers see no difference.

#[cfg(test)]
mod dates;
#[cfg(test)]
mod durability;
mod group_commit;
mod last_fault;
mod look_ups;
pub(crate) mod migrations;
#[cfg(test)]
mod opening;
mod pool;
mod reclaim;
#[cfg(test)]
mod round_trips;
mod runs;
mod set_up;
mod statistics;
mod writable;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::clock::{Clock, WriteClock};
use crate::connection::{Access, Connections, KeptOpen, PageCaches};
use crate::copy;
use crate::error::{JobError, StorageError};
use crate::job::{answer_of, job};
use crate::metrics::StoreMetrics;
use crate::probe::Probe;
use crate::session::Session;
use crate::store::last_fault::LastFault;
use crate::store::look_ups::LookUps;
pub use crate::store::migrations::{Goal, Pending, SchemaChange, SetUp};
use crate::store::pool::JobPool;
pub use crate::store::reclaim::Reclaim;
pub use crate::writer::WriterStats;
use crate::writer::{WriteCounters, Writer};

/// How long [`Store::drain`] waits before it looks again whether jobs wait for a date.
const POSTPONED_PAUSE: Duration = Duration::from_millis(5);

/// How a store is set up.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The most connections that read, at least one; they are made as they are needed.
    pub readers: u32,
    /// The most connections that write on PostgreSQL, at least one. They are apart from those that read, so that neither
    /// keep the others waiting.
    pub writers: u32,
    /// How long a job waits on PostgreSQL for one of its connections to become free.
    pub place_wait: Duration,
    /// How long opening the store, and a job that no client waits for, wait for a server of PostgreSQL that has no connection left.
    /// Other servers give theirs back when they do not use them.
    pub connection_wait: Duration,
    /// The threads that look records up on SQLite over connections of their own; see [`Store::look_up`].
    pub look_up_threads: u32,
    /// Jobs that may wait to read; as many again may wait to write. One more is refused at once.
    pub queue: usize,
    /// The most writes that share a commit on SQLite, at least one. It bounds how long the first of them waits for the
    /// last.
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

/// Jobs that wait to be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// How many there are.
    pub length: usize,
    /// How many there may be.
    pub limit: usize,
}

/// What a store is doing, and has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStats {
    /// What was written.
    pub written: WriterStats,
    /// Those that wait to read.
    pub pool_queue: Queue,
    /// Those that wait to write.
    pub writer_queue: Queue,
    /// Connections of the pools, whether or not a job uses them.
    pub connections: u32,
    /// Those of them that no job uses.
    pub connections_idle: u32,
    /// The most connections of the pools.
    pub connections_limit: u32,
}

/// The register's database. Cheap to clone; all clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    connections: Connections,
    /// Where jobs read.
    pool: Arc<JobPool>,
    /// Where records are looked up by key on SQLite; on PostgreSQL that is on the pool.
    look_ups: Option<Arc<LookUps>>,
    writes: Writes,
    counters: Arc<WriteCounters>,
    clock: Clock,
    pub(crate) last_fault: LastFault,
    /// Keeps the files of a SQLite database in use, so that they stay the same ones.
    _kept_open: Option<Arc<KeptOpen>>,
}

/// Where jobs write.
#[derive(Debug, Clone)]
enum Writes {
    /// One after the other, on SQLite.
    Thread(Writer),
    /// Side by side, on PostgreSQL.
    Pool(Arc<JobPool>),
}

impl Store {
    /// Opens the database that `url` names: `sqlite://PATH`, `postgres://...` or `postgresql://...`.
    ///
    /// A SQLite file and its folders are made when they are absent. The schema is not touched: see [`Store::set_up`].
    ///
    /// # Errors
    ///
    /// [`StorageError::UnknownAddress`], [`StorageError::Folder`], [`StorageError::Connection`] or
    /// [`StorageError::Unavailable`].
    pub fn open(url: &str, options: StoreOptions) -> Result<Self, StorageError> {
        let connections = Connections::to(url)?.waiting(options.connection_wait);
        let for_pool = connections.sharing(PageCaches::POOL, options.readers);
        let for_look_ups = connections.sharing(PageCaches::LOOK_UPS, options.look_up_threads);
        let for_writer = connections.sharing(PageCaches::WRITER, 1);
        // The first connection is made by hand: it fails at once and with its cause, where the pool would try again and
        // again; and it brings a new SQLite file into WAL mode before others look at it.
        let first = for_writer.establish()?;
        let kept_open = connections.keep_open()?.map(Arc::new);
        let clock = Arc::new(WriteClock::new(options.clock.clone()));
        let counters = Arc::new(WriteCounters::default());
        let metrics = StoreMetrics::new();
        let pool = |connections: &Connections, size| {
            let (clock, counters) = (Arc::clone(&clock), Arc::clone(&counters));
            Arc::new(JobPool::open(connections, size, &options, clock, counters, metrics.clone()))
        };
        let reads = pool(&for_pool, options.readers);
        let look_ups = connections.allow_one_writer().then(|| {
            let clock = options.clock.clone();
            Arc::new(LookUps::over(for_look_ups, options.look_up_threads, clock, metrics.clone()))
        });
        let writes = if connections.allow_one_writer() {
            let clock = Arc::clone(&clock);
            Writes::Thread(Writer::start(for_writer, first, clock, Arc::clone(&counters), metrics, &options)?)
        } else {
            Writes::Pool(pool(&connections.for_writing(), options.writers))
        };
        Ok(Self {
            connections,
            pool: reads,
            look_ups,
            writes,
            counters,
            clock: options.clock,
            last_fault: LastFault::default(),
            _kept_open: kept_open,
        })
    }

    /// Opens a register that exists and has the schema of this program. Otherwise the database is left as it is.
    ///
    /// # Errors
    ///
    /// [`StorageError::Absent`], [`StorageError::NoRegister`], [`StorageError::SchemaOlder`],
    /// [`StorageError::SchemaNewer`] or [`StorageError::UnfinishedCopy`]; otherwise as [`Store::open`].
    pub fn open_existing(url: &str, options: StoreOptions) -> Result<Self, StorageError> {
        let connections = Connections::to(url)?;
        let mut connection = connections.establish_existing()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        migrations::require_current(&mut connection, &connections.display_name())?;
        drop(connection);
        Self::open(url, options)
    }

    /// A connection apart from those of jobs.
    #[cfg(test)]
    pub(crate) fn own_connection(&self) -> Result<crate::connection::DatabaseConnection, StorageError> {
        self.connections.establish()
    }

    /// The time where no record is concerned; jobs have a time of their own.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Runs a job that only reads. All its queries see the same snapshot.
    ///
    /// # Errors
    ///
    /// What the job returns, or why it could not run. Must be called within a tokio runtime.
    pub async fn read<T, E>(&self, job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        self.last_fault.note(Arc::clone(&self.pool).run(Access::Read, job).await)
    }

    /// Runs a job that reads a few rows by their keys. On SQLite it sees one snapshot; on PostgreSQL each of its
    /// queries sees what is committed when it runs. It may be run a second time.
    ///
    /// On SQLite it runs on this thread, which must be one that may be blocked for some microseconds, such as that of an
    /// event loop. Where it would have to wait, and on PostgreSQL, it runs as [`Store::read`] does.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    pub async fn look_up<T, E>(
        &self,
        mut job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let answer = match self.look_ups.as_ref().and_then(|look_ups| look_ups.run(&mut job)) {
            Some(answer) => answer,
            None => Arc::clone(&self.pool).run(Access::LookUp, job).await,
        };
        self.last_fault.note(answer)
    }

    /// Runs a job that may write. It is kept when it returns `Ok`, and then before this returns.
    ///
    /// A job whose change cannot have a date yet is undone, waits, and is run again from its beginning; so is, on
    /// PostgreSQL and a few times at most, a job that collided with another one. When the caller stops waiting for the
    /// answer, the job may yet be done.
    ///
    /// # Errors
    ///
    /// What the job returns, or why it could not run or be kept. Must be called within a tokio runtime.
    pub async fn write<T, E>(&self, job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let writer = match &self.writes {
            Writes::Thread(writer) => writer,
            Writes::Pool(pool) => return self.last_fault.note(Arc::clone(pool).run(Access::Write, job).await),
        };
        let (job, answer) = self::job(job);
        writer.enqueue(job)?;
        self.last_fault.note(answer_of(answer.await))
    }

    /// As [`Store::write`], for a job that needs nothing another one may have locked, but for what it can do without when it is run
    /// a second time. On PostgreSQL such jobs share a transaction when several come at the same time; on SQLite all do.
    ///
    /// # Errors
    ///
    /// As [`Store::write`].
    pub async fn write_in_group<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        match &self.writes {
            Writes::Thread(_) => self.write(job).await,
            Writes::Pool(pool) => self.last_fault.note(Arc::clone(pool).run_in_group(job).await),
        }
    }

    /// As [`Store::read`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    pub fn read_blocking<T, E>(&self, job: impl FnMut(&mut Session<'_>) -> Result<T, E>) -> Result<T, E>
    where
        E: JobError,
    {
        self.pool.run_here(Access::Read, job)
    }

    /// As [`Store::write`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Store::write`].
    pub fn write_blocking<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let writer = match &self.writes {
            Writes::Thread(writer) => writer,
            Writes::Pool(pool) => return pool.run_here(Access::Write, job),
        };
        let (job, answer) = self::job(job);
        writer.enqueue(job)?;
        answer_of(answer.blocking_recv())
    }

    /// Waits until the jobs that were given before have ended, also those whose callers no longer wait for them. Later
    /// ones can be given all the same.
    ///
    /// # Errors
    ///
    /// When the last of them could not be kept. Must be called within a tokio runtime.
    pub async fn drain(&self) -> Result<(), StorageError> {
        self.pool.drain().await;
        let writer = match &self.writes {
            Writes::Thread(writer) => writer,
            Writes::Pool(pool) => {
                let last = pool.groups.last();
                while pool.groups.hold_any_until(last) {
                    sleep(POSTPONED_PAUSE).await;
                }
                pool.drain().await;
                return Ok(());
            }
        };
        // The writer takes one job after the other, and this one is the last.
        let (last, answer) = job(|_| Ok::<_, StorageError>(()));
        let to_enqueue = writer.clone();
        // The queue may be full, and then this waits for a place.
        let placed = spawn_blocking(move || to_enqueue.enqueue_when_there_is_room(last)).await;
        placed.unwrap_or(Err(StorageError::Closed))?;
        answer_of(answer.await)?;
        while writer.has_postponed() {
            sleep(POSTPONED_PAUSE).await;
        }
        Ok(())
    }

    /// What was written since the store was opened.
    pub fn writer_stats(&self) -> WriterStats {
        self.counters.read()
    }

    /// What the store is doing, and has done.
    pub fn stats(&self) -> StoreStats {
        let pools = [Some(&self.pool), if let Writes::Pool(pool) = &self.writes { Some(pool) } else { None }];
        let pools = || pools.iter().copied().flatten();
        StoreStats {
            written: self.writer_stats(),
            pool_queue: self.pool.queue(),
            writer_queue: match &self.writes {
                Writes::Thread(writer) => writer.queue(),
                Writes::Pool(pool) => pool.queue(),
            },
            connections: pools().map(|pool| pool.state().connections).sum(),
            connections_idle: pools().map(|pool| pool.state().idle_connections).sum(),
            connections_limit: pools().map(|pool| pool.size()).sum(),
        }
    }

    /// Something that checks whether the database answers, independently of all jobs.
    pub fn probe(&self) -> Probe {
        Probe::over(self.clone(), self.connections.clone())
    }
}

#[cfg(test)]
mod tests;
