//! Runs jobs that read concurrently, each on a connection of the pool and in one transaction. A
//! second pool has the connections of the writers (`writer.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use r2d2::{Pool, State};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::clock::{Clock, JobTime};
use crate::connection::{Access, Connections, DatabaseConnection, LogPoolErrors};
use crate::error::{DatabaseError, JobError};
use crate::jobs::job_times::JobTimer;
use crate::jobs::runs::{JOB_TIME, RerunBudget, RerunDecision};
use crate::jobs::transaction::Transaction;
use crate::metrics::StoreMetrics;
use crate::options::StoreOptions;
use crate::stats::{Queue, WriteCounters};

/// How long a reading job may use one connection. After that it runs again on another connection.
const READ_TIME: Duration = Duration::from_secs(4);
/// How long a job waits for a connection on SQLite.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unused connection stays open. Other servers of the register may need it.
const IDLE_TIME: Duration = Duration::from_mins(1);

/// A pool of connections, with a queue of the jobs that wait for one.
#[derive(Debug)]
pub(crate) struct JobPool {
    connections: Pool<Connections>,
    /// Makes the connections.
    manager: Connections,
    /// How long a job without a deadline waits for a connection.
    connection_wait: Duration,
    /// The time limits of a job. `None` on SQLite, where jobs wait without a limit.
    limits: Option<Limits>,
    pub(crate) clock: Clock,
    pub(crate) counters: Arc<WriteCounters>,
    pub(crate) metrics: StoreMetrics,
    /// The most jobs that wait.
    queue: usize,
    /// One permit for each running job, so that no thread waits for a connection.
    permits: Arc<Semaphore>,
    /// One permit for each running or waiting job.
    admitted: Semaphore,
}

/// The time limits of a job.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The most that a job waits for a permit.
    permit: Duration,
    /// The most that a job takes, including all waits and runs.
    job: Duration,
}

impl JobPool {
    /// A pool of up to `size` connections, at least one. Connections are made on demand.
    pub(crate) fn open(
        connections: &Connections,
        size: u32,
        options: &StoreOptions,
        counters: Arc<WriteCounters>,
        metrics: StoreMetrics,
    ) -> Self {
        let size = size.max(1);
        let limits = (!connections.allow_one_writer()).then_some(Limits {
            permit: options.place_wait,
            job: JOB_TIME,
        });
        let pool = Pool::builder()
            .max_size(size)
            // By default the pool would make a new connection whenever one is taken.
            .min_idle(Some(0))
            .idle_timeout(Some(IDLE_TIME))
            .error_handler(Box::new(LogPoolErrors))
            .connection_timeout(limits.map_or(CONNECTION_TIMEOUT, |limits| limits.permit))
            .build_unchecked(connections.clone());
        let permits = usize::try_from(size).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            connections: pool,
            manager: connections.clone(),
            connection_wait: limits.map_or(CONNECTION_TIMEOUT, |limits| {
                limits.permit.max(options.connection_wait)
            }),
            limits,
            clock: options.clock.clone(),
            counters,
            metrics,
            queue: options.queue,
            permits: Arc::new(Semaphore::new(permits)),
            admitted: Semaphore::new(
                permits
                    .saturating_add(options.queue)
                    .min(Semaphore::MAX_PERMITS),
            ),
        }
    }

    /// The number of connections, and how many of them are idle.
    pub(crate) fn state(&self) -> State {
        self.connections.state()
    }

    /// The largest number of connections.
    pub(crate) fn size(&self) -> u32 {
        self.connections.max_size()
    }

    /// The jobs that wait for a permit.
    pub(crate) fn queue(&self) -> Queue {
        let permits = usize::try_from(self.size()).unwrap_or(Semaphore::MAX_PERMITS);
        // The number is approximate: a job may get its permit between the two reads.
        let running = permits.saturating_sub(self.permits.available_permits());
        let admitted = permits
            .saturating_add(self.queue)
            .saturating_sub(self.admitted.available_permits());
        Queue {
            length: admitted.saturating_sub(running),
            limit: self.queue,
        }
    }

    /// Waits for a permit and runs a job on a thread that may block.
    pub(crate) async fn run<T, E>(
        self: Arc<Self>,
        access: Access,
        mut job: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let deadline = self.deadline();
        let _admitted = self.admit()?;
        let mut timer = JobTimer::start();
        let mut runs = RerunBudget::new(deadline);
        loop {
            let permit = self.acquire(deadline).await.inspect_err(|_| {
                timer.end_run();
                timer.report();
            })?;
            let pool = Arc::clone(&self);
            let running = spawn_blocking(move || {
                // The thread owns the permit, because it keeps running when the caller stops
                // waiting.
                let _permit = permit;
                let (answer, pause) =
                    pool.run_once(access, deadline, &mut job, &mut runs, &mut timer);
                // Another run needs the job, its budget and its timer.
                (job, runs, timer, answer, pause)
            });
            let Ok(ended) = running.await else {
                return Err(DatabaseError::Closed.into());
            };
            let (answer, pause);
            (job, runs, timer, answer, pause) = ended;
            let Some(pause) = pause else {
                timer.report();
                return answer;
            };
            sleep(pause).await;
        }
    }

    /// The deadline of a job that begins now; `None` on SQLite.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.limits.map(|limits| Instant::now() + limits.job)
    }

    /// Admits a job to the queue.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::QueueFull`].
    pub(crate) fn admit(&self) -> Result<SemaphorePermit<'_>, DatabaseError> {
        self.admitted
            .try_acquire()
            .map_err(|_| DatabaseError::QueueFull)
    }

    /// Waits for a permit to run a job.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::PoolTimeout`] or [`DatabaseError::Closed`].
    pub(crate) async fn acquire(
        &self,
        deadline: Option<Instant>,
    ) -> Result<OwnedSemaphorePermit, DatabaseError> {
        let acquiring = Arc::clone(&self.permits).acquire_owned();
        let acquired = match self.limits {
            None => acquiring.await,
            Some(limits) => {
                let left = deadline.map_or(Duration::MAX, |deadline| {
                    deadline.saturating_duration_since(Instant::now())
                });
                let patience = limits.permit.min(left);
                timeout(patience, acquiring)
                    .await
                    .map_err(|_| DatabaseError::PoolTimeout(patience))?
            }
        };
        acquired.map_err(|_| DatabaseError::Closed)
    }

    /// Waits until all earlier jobs have ended.
    pub(crate) async fn drain(&self) {
        // Permits are granted in the order of requests. An error means that the pool is closed and
        // runs no job.
        let _all = self.permits.acquire_many(self.size()).await;
    }

    /// Runs a job on the calling thread, without a deadline, for callers without a waiting client.
    #[expect(
        clippy::disallowed_methods,
        reason = "a job waits on its own thread before it runs again"
    )]
    pub(crate) fn run_here<T, E>(
        &self,
        access: Access,
        mut job: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        let mut runs = RerunBudget::new(None);
        let mut timer = JobTimer::start();
        loop {
            let (answer, pause) = self.run_once(access, None, &mut job, &mut runs, &mut timer);
            let Some(pause) = pause else { return answer };
            thread::sleep(pause);
        }
    }

    /// Runs a job once. Returns its answer, and the pause before the next run; `None` if the job is
    /// not run again.
    fn run_once<T, E>(
        &self,
        access: Access,
        deadline: Option<Instant>,
        job: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
        runs: &mut RerunBudget,
        timer: &mut JobTimer,
    ) -> (Result<T, E>, Option<Duration>)
    where
        E: JobError,
    {
        let mut pooled = match self.connection(deadline) {
            Ok(pooled) => pooled,
            Err(error) => {
                timer.end_run();
                return (Err(error.into()), None);
            }
        };
        let connection = &mut pooled.connection;
        let begun = Instant::now();
        timer.begin_run();
        connection.set_deadline(deadline.map(|deadline| deadline.min(begun + READ_TIME)));
        let mut timed_job = timer.timed(&mut *job);
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let (time, depth) = self.begin_job(connection, access)?;
            let answer = timed_job(&mut Transaction::new(connection, access, time));
            self.end_job(connection, access, depth, answer)
        }));
        drop(timed_job);
        self.metrics.job_ended(access, begun);
        let answer = answer.unwrap_or_else(|_| {
            // A panic leaves the transaction in an unknown state, so the pool must drop the
            // connection.
            connection.close();
            Err(DatabaseError::JobPanicked.into())
        });
        timer.end_run();
        let failure = answer.as_ref().err().and_then(JobError::database_error);
        let decision = runs.decide(access, failure);
        if let RerunDecision::Reconnect { .. } = decision {
            connection.close();
        }
        (answer, self.pause(runs, decision, begun.elapsed()))
    }

    /// The pause before the next run of a job; `None` if the job is not run again.
    pub(crate) fn pause(
        &self,
        runs: &mut RerunBudget,
        decision: RerunDecision,
        last_run: Duration,
    ) -> Option<Duration> {
        match decision {
            RerunDecision::Done | RerunDecision::Fail => {}
            // On SQLite jobs do not collide, and the busy timeout has passed.
            _ if self.limits.is_none() => return None,
            RerunDecision::AfterCollision { .. } => self.counters.collided(),
            RerunDecision::Reconnect { .. } => self.manager.invalidate(),
        }
        runs.pause(decision, last_run)
    }

    /// Waits for a free connection.
    pub(crate) fn connection(
        &self,
        deadline: Option<Instant>,
    ) -> Result<r2d2::PooledConnection<Connections>, DatabaseError> {
        let patience = deadline.map_or(self.connection_wait, |deadline| {
            deadline
                .saturating_duration_since(Instant::now())
                .min(self.connections.connection_timeout())
        });
        self.connections
            .get_timeout(patience)
            .map_err(DatabaseError::Unavailable)
    }

    /// Begins the transaction of one job. Returns the time of the job and the depth of its
    /// transaction.
    pub(crate) fn begin_job(
        &self,
        connection: &mut DatabaseConnection,
        access: Access,
    ) -> Result<(JobTime, u32), DatabaseError> {
        connection.begin(access)?;
        Ok((JobTime::new(self.clock.now()), connection.depth_of(access)))
    }

    /// Ends the transaction of one job with this answer.
    pub(crate) fn end_job<T, E>(
        &self,
        connection: &mut DatabaseConnection,
        access: Access,
        depth: u32,
        answer: Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        if answer.is_ok() {
            self.end(connection, access, depth, 1)?;
        } else {
            // A failed rollback needs no handling: the pool drops the connection, so nothing is
            // committed.
            let _ = match access {
                Access::LookUp | Access::Read => connection.end_reading(true),
                Access::Write => connection.roll_back(),
            };
        }
        answer
    }

    /// Ends the transaction of `jobs` jobs. Fails unless `depth` transactions and savepoints are
    /// open.
    pub(crate) fn end(
        &self,
        connection: &mut DatabaseConnection,
        access: Access,
        depth: u32,
        jobs: u64,
    ) -> Result<(), DatabaseError> {
        connection.require_depth(depth)?;
        let ended = match access {
            Access::LookUp | Access::Read => connection.end_reading(false),
            Access::Write => connection.commit(),
        };
        ended.map_err(|error| {
            let error = DatabaseError::from(error);
            // The commit may report a unique violation of a deferred statement.
            if error.is_unique_violation() {
                error
            } else {
                error.at_end_of_transaction()
            }
        })?;
        connection.require_depth(0)?;
        if let Access::Write = access {
            self.counters.committed(jobs);
        }
        Ok(())
    }
}
