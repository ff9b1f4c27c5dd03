//! The store: takes jobs from any thread and runs each in one transaction.
//!
//! Knows how jobs reach a connection, and nothing of what they do there. On SQLite all writes go through one thread that
//! commits many together; on PostgreSQL they run side by side on the pool. Callers see no difference.

#[cfg(test)]
mod dates;
#[cfg(test)]
mod durability;
mod look_ups;
pub(crate) mod migrations;
#[cfg(test)]
mod opening;
mod pool;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::clock::{Clock, WriteClock};
use crate::connection::{Access, Connections, DatabaseConnection, PageCaches};
use crate::copy;
use crate::environment::Unrecorded;
use crate::error::{JobError, StorageError};
use crate::job::job;
use crate::measures::Measures;
use crate::probe::Probe;
use crate::session::Session;
use crate::store::look_ups::LookUps;
use crate::store::migrations::Migrator;
pub use crate::store::migrations::{Conversion, Goal, Pending, Progress, SchemaChange, SetUp};
use crate::store::pool::JobPool;
use crate::tokens::Environment;
pub use crate::writer::WriterStats;
use crate::writer::{WriteCounters, Writer};

/// How long [`Store::settle`] waits before it looks again whether jobs wait for a date.
const POSTPONED_PAUSE: Duration = Duration::from_millis(5);

/// How a store is set up.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The most connections in the pool, at least one; they are made as they are needed. On SQLite they read; on
    /// PostgreSQL they read and write.
    pub readers: u32,
    /// The threads that look records up on SQLite over connections of their own; see [`Store::look_up`].
    pub look_up_threads: u32,
    /// Jobs that may wait for the pool; on SQLite as many again may wait for the writer. One more is refused at once.
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
        Self { readers: 8, look_up_threads, queue: 256, group: 64, clock: Clock::system() }
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
    /// Those that wait for the pool.
    pub pool_queue: Queue,
    /// Those that wait for the writer of SQLite.
    pub writer_queue: Option<Queue>,
    /// Connections of the pool, whether or not a job uses them.
    pub connections: u32,
    /// Those of them that no job uses.
    pub connections_idle: u32,
    /// The most connections of the pool.
    pub connections_limit: u32,
}

/// The register's database. Cheap to clone; all clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    connections: Connections,
    pool: Arc<JobPool>,
    /// Where records are looked up by key on SQLite; on PostgreSQL that is on the pool.
    look_ups: Option<Arc<LookUps>>,
    /// Where all writes go on SQLite; on PostgreSQL they run on the pool.
    writer: Option<Writer>,
    counters: Arc<WriteCounters>,
    clock: Clock,
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
        let connections = Connections::to(url)?;
        let for_pool = connections.sharing(PageCaches::POOL, options.readers);
        let for_look_ups = connections.sharing(PageCaches::LOOK_UPS, options.look_up_threads);
        let for_writer = connections.sharing(PageCaches::WRITER, 1);
        // The first connection is made by hand: it fails at once and with its cause, where the pool would try again and
        // again; and it brings a new SQLite file into WAL mode before others look at it.
        let first = for_writer.establish()?;
        let clock = Arc::new(WriteClock::new(options.clock.clone()));
        let counters = Arc::new(WriteCounters::default());
        let measures = Measures::new();
        let pool = JobPool::open(&for_pool, &options, Arc::clone(&clock), Arc::clone(&counters), measures.clone())?;
        let look_ups = connections.allow_one_writer().then(|| {
            let clock = options.clock.clone();
            Arc::new(LookUps::over(for_look_ups, options.look_up_threads, clock, measures.clone()))
        });
        let writer = if connections.allow_one_writer() {
            Some(Writer::start(for_writer, first, clock, Arc::clone(&counters), measures, &options)?)
        } else {
            None
        };
        Ok(Self { connections, pool: Arc::new(pool), look_ups, writer, counters, clock: options.clock })
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

    /// What [`Store::set_up`] to the newest schema, and what follows it, would do to a register that exists. Changes nothing,
    /// takes no lock but those of reading, and blocks.
    ///
    /// # Errors
    ///
    /// [`StorageError::Absent`], [`StorageError::NoRegister`], [`StorageError::SchemaNewer`],
    /// [`StorageError::RecordsNewer`], [`StorageError::OtherEnvironment`] or [`StorageError::UnfinishedCopy`]; otherwise when
    /// the database does not answer.
    pub fn pending(url: &str, requested: Option<Environment>, unrecorded: Unrecorded) -> Result<Pending, StorageError> {
        let connections = Connections::to(url)?;
        let mut connection = connections.establish_existing()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        migrations::require_register(&mut connection, &connections.display_name())?;
        Migrator::new(&mut connection).pending(requested, unrecorded)
    }

    /// Brings the schema up to date and returns how many migrations were applied. Blocks.
    ///
    /// Two servers that start together over one database are safe: one of them waits and then finds nothing to do. It waits
    /// for ten minutes at most, also for a transaction that holds what a migration needs, and says so in the log. Where nothing
    /// is to be done, nothing is locked.
    ///
    /// # Errors
    ///
    /// As [`Store::set_up`], but for the environment.
    pub fn migrate(&self) -> Result<usize, StorageError> {
        let mut connection = self.connection_to_set_up()?;
        Ok(Migrator::with_connections(&mut connection, &self.connections).bring_to(Goal::Newest)?.applied.len())
    }

    /// Brings the schema to the goal, forwards or back, and records the environment of a register that has none recorded:
    /// the requested one, otherwise sandbox. Blocks.
    ///
    /// # Errors
    ///
    /// [`StorageError::SchemaNewer`], [`StorageError::UnfinishedCopy`], [`StorageError::UnknownMigration`],
    /// [`StorageError::Migration`], [`StorageError::BrokenReferences`], [`StorageError::OtherEnvironment`] or
    /// [`StorageError::EnvironmentNotRecorded`], after which nothing was changed; [`StorageError::Connection`];
    /// [`StorageError::Busy`].
    pub fn set_up(
        &self,
        goal: Goal<'_>,
        requested: Option<Environment>,
        unrecorded: Unrecorded,
    ) -> Result<SetUp, StorageError> {
        let mut connection = self.connection_to_set_up()?;
        Migrator::with_connections(&mut connection, &self.connections).set_up(goal, requested, unrecorded)
    }

    /// Converts the trainees that are stored as an older program stored them, a batch in a transaction, and makes the views
    /// over the records anew. What was converted stays when this is interrupted. Blocks; no server may run.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn convert(&self, progress: impl FnMut(Progress)) -> Result<(), StorageError> {
        let mut connection = self.connection_to_set_up()?;
        migrations::convert(&mut connection, progress)?;
        Migrator::with_connections(&mut connection, &self.connections).remake_views()
    }

    /// Removes the tables in which an older program stored trainees. Blocks; no server may run.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotConverted`], or when the database does not answer.
    pub fn finish_conversion(&self) -> Result<(), StorageError> {
        let mut connection = self.connection_to_set_up()?;
        Migrator::with_connections(&mut connection, &self.connections).finish()
    }

    fn connection_to_set_up(&self) -> Result<DatabaseConnection, StorageError> {
        let mut connection = self.connections.establish()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        Ok(connection)
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
        Arc::clone(&self.pool).run(Access::Read, job).await
    }

    /// Runs a job that reads a few rows by their keys. It sees one snapshot, and may be run a second time.
    ///
    /// On SQLite it runs on this thread, which must be one that may be held up for some microseconds, such as that of an
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
        match self.look_ups.as_ref().and_then(|look_ups| look_ups.run(&mut job)) {
            Some(answer) => answer,
            None => self.read(job).await,
        }
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
        let Some(writer) = &self.writer else {
            return Arc::clone(&self.pool).run(Access::Write, job).await;
        };
        let (job, answer) = self::job(job);
        writer.enqueue(job)?;
        answer.await.unwrap_or_else(|_| Err(StorageError::Closed.into()))
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
        let Some(writer) = &self.writer else {
            return self.pool.run_here(Access::Write, job);
        };
        let (job, answer) = self::job(job);
        writer.enqueue(job)?;
        answer.blocking_recv().unwrap_or_else(|_| Err(StorageError::Closed.into()))
    }

    /// Waits until the jobs that were given before have ended, also those whose callers no longer wait for them. Later
    /// ones can be given all the same.
    ///
    /// # Errors
    ///
    /// When the last of them could not be kept. Must be called within a tokio runtime.
    pub async fn settle(&self) -> Result<(), StorageError> {
        self.pool.settle().await;
        let Some(writer) = &self.writer else { return Ok(()) };
        // The writer takes one job after the other, and this one is the last.
        let (last, answer) = job(|_| Ok::<_, StorageError>(()));
        let writer = writer.clone();
        // The queue may be full, and then this waits for a place.
        let placed = spawn_blocking(move || writer.enqueue_when_there_is_room(last)).await;
        placed.unwrap_or(Err(StorageError::Closed))?;
        answer.await.unwrap_or(Err(StorageError::Closed))?;
        while self.writer.as_ref().is_some_and(Writer::has_postponed) {
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
        let pool = self.pool.state();
        StoreStats {
            written: self.writer_stats(),
            pool_queue: self.pool.queue(),
            writer_queue: self.writer.as_ref().map(Writer::queue),
            connections: pool.connections,
            connections_idle: pool.idle_connections,
            connections_limit: self.pool.size(),
        }
    }

    /// Something that asks whether the database answers, beside all jobs.
    pub fn probe(&self) -> Probe {
        Probe::over(self.connections.clone())
    }
}

#[cfg(test)]
mod tests;
