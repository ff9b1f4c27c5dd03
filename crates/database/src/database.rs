//! Takes jobs from any thread and runs each in one transaction.
//!
//! Jobs that read run concurrently on a pool. Jobs that write run one after the other for each
//! writer: one on SQLite, one for each provider on PostgreSQL. The module is independent of what the
//! jobs do.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::time::{sleep, timeout};

use crate::clock::Clock;
use crate::connection::{Access, Connections, DatabaseConnection, KeptOpen, PageCaches};
use crate::error::{DatabaseError, JobError};
use crate::jobs::job::{answer_of, job};
use crate::jobs::look_ups::LookUps;
use crate::jobs::pool::JobPool;
use crate::jobs::runs::{JOB_TIME, RerunBudget};
use crate::jobs::transaction::Transaction;
use crate::last_fault::LastFault;
use crate::metrics::StoreMetrics;
use crate::options::StoreOptions;
use crate::positions::{LockedProviders, PositionTable};
use crate::stats::{StoreStats, WriteCounters, WriterStats};
use crate::writer::{WriteScope, Writers};

/// The pause of [`Database::drain`] between two checks whether jobs wait.
const DRAIN_PAUSE: Duration = Duration::from_millis(5);
/// How long a write of a command waits to begin.
const COMMAND_PATIENCE: Duration = Duration::from_secs(10);

/// The session that the jobs of a database get.
pub trait SessionKind: Send + Sync + 'static {
    /// The session.
    type Session<'a>;

    /// The session in an open transaction.
    fn open<'a>(transaction: &'a mut Transaction<'_>) -> Self::Session<'a>;
}

/// A database that runs jobs. Cheap to clone; all clones are the same database.
#[derive(Debug, Clone)]
pub struct Database<S> {
    connections: Connections,
    /// The pool of jobs that read.
    pool: Arc<JobPool>,
    /// The connections for look-ups by key on SQLite; on PostgreSQL these use the pool.
    look_ups: Option<Arc<LookUps>>,
    /// The connections of jobs that write.
    writing_pool: Arc<JobPool>,
    writers: Arc<Writers>,
    /// How long a write of a request waits to begin.
    patience: Duration,
    counters: Arc<WriteCounters>,
    clock: Clock,
    positions: PositionTable,
    last_fault: LastFault,
    /// Keeps the files of a SQLite database in use, so that SQLite does not replace them.
    _kept_open: Option<Arc<KeptOpen>>,
    session: PhantomData<S>,
}

impl<S: SessionKind> Database<S> {
    /// Opens a database. Creates a missing SQLite file and its folder, but no tables.
    ///
    /// `positions` locks the providers whose records a transaction changes.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Folder`], [`DatabaseError::Connection`] or [`DatabaseError::Unavailable`].
    pub fn open(
        connections: &Connections,
        options: StoreOptions,
        positions: PositionTable,
    ) -> Result<Self, DatabaseError> {
        let connections = connections.waiting(options.connection_wait);
        let for_pool = connections.sharing(PageCaches::POOL, options.readers);
        let for_look_ups = connections.sharing(PageCaches::LOOK_UPS, options.look_up_threads);
        let for_writer = connections.sharing(PageCaches::WRITER, 1).for_writing();
        // Made without a pool, which would retry: a failure is returned at once with its cause.
        // This connection also enables WAL mode in a new SQLite file before others open it.
        drop(for_writer.establish()?);
        let kept_open = connections.keep_open()?.map(Arc::new);
        let counters = Arc::new(WriteCounters::default());
        let metrics = StoreMetrics::new();
        let pool = |connections: &Connections, size| {
            let counters = Arc::clone(&counters);
            Arc::new(JobPool::open(
                connections,
                size,
                &options,
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
        let size = match connections.allow_one_writer() {
            true => 1,
            false => options.writers,
        };
        let writing_pool = pool(&for_writer, size);
        let writers = Writers::start(&connections, &writing_pool, &options, positions)?;
        Ok(Self {
            connections,
            pool: reads,
            look_ups,
            writing_pool,
            writers: Arc::new(writers),
            patience: options.place_wait,
            counters,
            clock: options.clock,
            positions,
            last_fault: LastFault::default(),
            _kept_open: kept_open,
            session: PhantomData,
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
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let pool = Arc::clone(&self.pool);
        self.last_fault
            .note(pool.run(Access::Read, in_session::<S, _, _>(job)).await)
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
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let mut job = in_session::<S, _, _>(job);
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

    /// Runs a job that may write, and changes no records. See [`Database::write_in`].
    ///
    /// # Errors
    ///
    /// Like [`Database::write_in`].
    pub async fn write<T, E>(
        &self,
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        self.write_in(WriteScope::NoProvider, job).await
    }

    /// Runs a job that may write. If the job returns `Ok`, its changes are committed before this
    /// function returns. `scope` names the provider whose records the job may change.
    ///
    /// A job that collided with another one, or whose transaction was lost before its commit, is
    /// rolled back and runs again (`runs.rs`). If the caller stops waiting for the answer, the job
    /// may still be committed.
    ///
    /// # Errors
    ///
    /// The error of the job, or why the job could not run or be committed. [`DatabaseError::Busy`]
    /// if the job had to wait for too long. Must be called within a tokio runtime.
    pub async fn write_in<T, E>(
        &self,
        scope: WriteScope,
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let (job, mut reply) = self::job(in_session::<S, _, _>(job));
        let runs = RerunBudget::new(Some(Instant::now() + JOB_TIME));
        let (writer, number) = self.writers.add(scope, job, self.patience, runs)?;
        let replied = match timeout(self.patience, &mut reply).await {
            Ok(replied) => replied,
            Err(_) => {
                if let Some(overdue) = self.writers.queue.remove(writer, number) {
                    overdue.job.answer(Err(DatabaseError::Busy));
                }
                reply.await
            }
        };
        self.last_fault.note(answer_of(replied))
    }

    /// Like [`Database::read`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Database::read`].
    pub fn read_blocking<T, E>(
        &self,
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        self.pool.run_here(Access::Read, in_session::<S, _, _>(job))
    }

    /// Like [`Database::write`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Database::write`].
    pub fn write_blocking<T, E>(
        &self,
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        self.write_blocking_in(WriteScope::NoProvider, job)
    }

    /// Like [`Database::write_in`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Database::write_in`].
    pub fn write_blocking_in<T, E>(
        &self,
        scope: WriteScope,
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let (job, reply) = self::job(in_session::<S, _, _>(job));
        let runs = RerunBudget::new(None);
        self.writers.add(scope, job, COMMAND_PATIENCE, runs)?;
        answer_of(reply.blocking_recv())
    }

    /// Waits until no job runs or waits, including jobs whose callers stopped waiting. Must be
    /// called within a tokio runtime.
    pub async fn drain(&self) {
        self.pool.drain().await;
        while !self.writers.queue.is_idle() {
            sleep(DRAIN_PAUSE).await;
        }
    }

    /// The totals of writes since the database was opened.
    pub fn writer_stats(&self) -> WriterStats {
        self.counters.read()
    }

    /// The state of the database, and its totals.
    pub fn stats(&self) -> StoreStats {
        let pools = [&self.pool, &self.writing_pool];
        let states = pools.map(|pool| pool.state());
        StoreStats {
            written: self.writer_stats(),
            pool_queue: self.pool.queue(),
            writer_queue: self.writers.queue.state(),
            connections: states.iter().map(|state| state.connections).sum(),
            connections_idle: states.iter().map(|state| state.idle_connections).sum(),
            connections_limit: pools.iter().map(|pool| pool.size()).sum(),
        }
    }

    /// Records the state and the totals as metrics.
    pub fn publish_metrics(&self) {
        crate::metrics::publish(&self.stats());
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
        job: impl FnMut(&mut S::Session<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut job = in_session::<S, _, _>(job);
        let mut locked = LockedProviders::new(self.positions, self.clock.clone());
        let (time, depth) = self.pool.begin_job(connection, access)?;
        let mut transaction = Transaction::new(connection, access, time);
        if access == Access::Write {
            transaction = transaction.with_locked(&mut locked);
        }
        let answer = job(&mut transaction).and_then(|answer| {
            locked.store(connection)?;
            Ok(answer)
        });
        self.pool.end_job(connection, access, depth, answer)
    }
}

/// A job over a session as a job over its transaction.
fn in_session<S: SessionKind, T, E>(
    mut job: impl FnMut(&mut S::Session<'_>) -> Result<T, E>,
) -> impl FnMut(&mut Transaction<'_>) -> Result<T, E> {
    move |transaction| job(&mut S::open(transaction))
}
