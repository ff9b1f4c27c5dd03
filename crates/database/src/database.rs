//! Takes jobs from any thread and runs each in one transaction.
//!
//! On SQLite all writes go through one thread that commits many together; on PostgreSQL they run
//! concurrently on the pool. Callers see no difference. The module is independent of what the jobs
//! do.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::clock::{Clock, WriteClock};
use crate::connection::{Access, Connections, DatabaseConnection, KeptOpen, PageCaches};
use crate::error::{DatabaseError, JobError};
use crate::jobs::job::{answer_of, job};
use crate::jobs::look_ups::LookUps;
use crate::jobs::pool::JobPool;
use crate::jobs::transaction::Transaction;
use crate::last_fault::LastFault;
use crate::metrics::StoreMetrics;
use crate::options::StoreOptions;
use crate::stats::{StoreStats, WriteCounters, WriterStats};
use crate::writer::{LatestChange, Writer};

/// The pause of [`Database::drain`] between two checks whether jobs wait for a date.
const POSTPONED_PAUSE: Duration = Duration::from_millis(5);

/// A database that runs jobs. Cheap to clone; all clones are the same database.
#[derive(Debug, Clone)]
pub struct Database {
    connections: Connections,
    /// The pool of jobs that read.
    pool: Arc<JobPool>,
    /// The connections for look-ups by key on SQLite; on PostgreSQL these use the pool.
    look_ups: Option<Arc<LookUps>>,
    writes: Writes,
    counters: Arc<WriteCounters>,
    clock: Clock,
    last_fault: LastFault,
    /// Keeps the files of a SQLite database in use, so that SQLite does not replace them.
    _kept_open: Option<Arc<KeptOpen>>,
}

/// How jobs write.
#[derive(Debug, Clone)]
enum Writes {
    /// Sequentially, on SQLite.
    Thread(Writer),
    /// Concurrently, on PostgreSQL.
    Pool(Arc<JobPool>),
}

impl Database {
    /// Opens a database. Creates a missing SQLite file and its folder, but no tables.
    ///
    /// `latest_change` returns the date of the last change in the database. Later changes get a
    /// later date, also if another process made the last change.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Folder`], [`DatabaseError::Connection`] or [`DatabaseError::Unavailable`].
    pub fn open(
        connections: &Connections,
        options: StoreOptions,
        latest_change: LatestChange,
    ) -> Result<Self, DatabaseError> {
        let connections = connections.waiting(options.connection_wait);
        let for_pool = connections.sharing(PageCaches::POOL, options.readers);
        let for_look_ups = connections.sharing(PageCaches::LOOK_UPS, options.look_up_threads);
        let for_writer = connections.sharing(PageCaches::WRITER, 1);
        // Made without the pool, which would retry: a failure is returned at once with its cause.
        // This connection also enables WAL mode in a new SQLite file before others open it.
        let first = for_writer.establish()?;
        let kept_open = connections.keep_open()?.map(Arc::new);
        let clock = Arc::new(WriteClock::new(options.clock.clone()));
        let counters = Arc::new(WriteCounters::default());
        let metrics = StoreMetrics::new();
        let pool = |connections: &Connections, size| {
            let clock = Arc::clone(&clock);
            let counters = Arc::clone(&counters);
            Arc::new(JobPool::open(
                connections,
                size,
                &options,
                clock,
                counters,
                metrics.clone(),
            ))
        };
        let reads = pool(&for_pool, options.readers);
        let look_ups = connections.allow_one_writer().then(|| {
            let clock = options.clock.clone();
            Arc::new(LookUps::new(
                for_look_ups,
                options.look_up_threads,
                clock,
                metrics.clone(),
            ))
        });
        let writes = if connections.allow_one_writer() {
            let clock = Arc::clone(&clock);
            let counters = Arc::clone(&counters);
            Writes::Thread(Writer::start(
                for_writer,
                first,
                clock,
                counters,
                metrics,
                &options,
                latest_change,
            )?)
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

    /// The settings for connections outside jobs.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The last fault of the database that a job encountered.
    pub fn last_fault(&self) -> &LastFault {
        &self.last_fault
    }

    /// The current time of the clock. Do not use it for the dates of records: jobs have their
    /// own time.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Runs a job that only reads. All its queries see the same snapshot.
    ///
    /// # Errors
    ///
    /// The error of the job, or why the job could not run. Must be called within a tokio runtime.
    pub async fn read<T, E>(
        &self,
        job: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        self.last_fault
            .note(Arc::clone(&self.pool).run(Access::Read, job).await)
    }

    /// Runs a job that reads a few rows by their keys. On SQLite the job sees one snapshot; on
    /// PostgreSQL each of its queries sees what is committed when it runs. The job may run twice.
    ///
    /// On SQLite the job runs on the calling thread, which it blocks for some microseconds. A job
    /// that would have to wait, and every job on PostgreSQL, runs like [`Database::read`].
    ///
    /// # Errors
    ///
    /// Like [`Database::read`].
    pub async fn look_up<T, E>(
        &self,
        mut job: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let answer = match self
            .look_ups
            .as_ref()
            .and_then(|look_ups| look_ups.run(&mut job))
        {
            Some(answer) => answer,
            None => Arc::clone(&self.pool).run(Access::LookUp, job).await,
        };
        self.last_fault.note(answer)
    }

    /// Runs a job that may write. If the job returns `Ok`, its changes are committed before this
    /// function returns.
    ///
    /// A job whose change cannot have a date yet is rolled back, waits, and runs again. On
    /// PostgreSQL, so does a job that collided with another one (`runs.rs`). If the caller stops
    /// waiting for the answer, the job may still be committed.
    ///
    /// # Errors
    ///
    /// The error of the job, or why the job could not run or be committed. Must be called within a
    /// tokio runtime.
    pub async fn write<T, E>(
        &self,
        job: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let writer = match &self.writes {
            Writes::Thread(writer) => writer,
            Writes::Pool(pool) => {
                return self
                    .last_fault
                    .note(Arc::clone(pool).run(Access::Write, job).await);
            }
        };
        let (job, answer) = self::job(job);
        writer.enqueue(job)?;
        self.last_fault.note(answer_of(answer.await))
    }

    /// Like [`Database::write`], but may batch concurrent jobs into one transaction on PostgreSQL;
    /// on SQLite all jobs are batched. In a batch, a job that would wait for a lock fails with
    /// [`DatabaseError::Busy`] and runs again alone.
    ///
    /// # Errors
    ///
    /// Like [`Database::write`].
    pub async fn write_in_group<T, E>(
        &self,
        job: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        match &self.writes {
            Writes::Thread(_) => self.write(job).await,
            Writes::Pool(pool) => self
                .last_fault
                .note(Arc::clone(pool).run_in_group(job).await),
        }
    }

    /// Like [`Database::read`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Database::read`].
    pub fn read_blocking<T, E>(
        &self,
        job: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        self.pool.run_here(Access::Read, job)
    }

    /// Like [`Database::write`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Database::write`].
    pub fn write_blocking<T, E>(
        &self,
        job: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
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

    /// Waits until all earlier jobs have ended, including jobs whose callers stopped waiting.
    /// Accepts later jobs during that time.
    ///
    /// # Errors
    ///
    /// The error of the last commit. Must be called within a tokio runtime.
    pub async fn drain(&self) -> Result<(), DatabaseError> {
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
        // The writer runs jobs in order, and this job is the last one.
        let (last, answer) = job(|_| Ok::<_, DatabaseError>(()));
        let to_enqueue = writer.clone();
        // If the queue is full, this waits until it has room.
        let enqueued = spawn_blocking(move || to_enqueue.enqueue_blocking(last)).await;
        enqueued.unwrap_or(Err(DatabaseError::Closed))?;
        answer_of(answer.await)?;
        while writer.has_postponed() {
            sleep(POSTPONED_PAUSE).await;
        }
        Ok(())
    }

    /// The totals of writes since the database was opened.
    pub fn writer_stats(&self) -> WriterStats {
        self.counters.read()
    }

    /// The state of the database, and its totals.
    pub fn stats(&self) -> StoreStats {
        let pools = [
            Some(&self.pool),
            if let Writes::Pool(pool) = &self.writes {
                Some(pool)
            } else {
                None
            },
        ];
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

    /// Records the state and the totals as metrics.
    pub fn publish_metrics(&self) {
        crate::metrics::publish(&self.stats());
    }

    /// The number of the last write that was queued for a group, and whether any write waits for a
    /// group. For tests.
    #[doc(hidden)]
    pub fn group_queue(&self) -> (u64, bool) {
        match &self.writes {
            Writes::Thread(_) => (0, false),
            Writes::Pool(pool) => (pool.groups.last(), pool.groups.hold_any_until(u64::MAX)),
        }
    }

    /// Calls a function with a pooled connection that writes on PostgreSQL, without a transaction.
    /// For tests.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Closed`] on SQLite; otherwise when no connection is free.
    #[doc(hidden)]
    pub fn with_writing_connection<T>(
        &self,
        call: impl FnOnce(&mut DatabaseConnection) -> T,
    ) -> Result<T, DatabaseError> {
        let Writes::Pool(pool) = &self.writes else {
            return Err(DatabaseError::Closed);
        };
        Ok(call(&mut pool.connection(None)?.connection))
    }

    /// Runs a job on a connection of the caller. For tests.
    ///
    /// # Errors
    ///
    /// The error of the job, or why the job could not run or be committed.
    #[doc(hidden)]
    pub fn run_on<T, E: JobError>(
        &self,
        connection: &mut DatabaseConnection,
        access: Access,
        mut job: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let pool = match (&self.writes, access) {
            (Writes::Pool(pool), Access::Write) => pool,
            (Writes::Pool(_) | Writes::Thread(_), _) => &self.pool,
        };
        pool.run_job(connection, access, &mut job)
    }
}
