//! The one thread that writes to SQLite.
//!
//! SQLite allows one writer, and each commit waits for the disk. The thread therefore runs waiting
//! jobs in one transaction, each in a savepoint, and commits them together. Every caller gets its
//! answer after that commit, also a refusal, because the refusal may depend on uncommitted changes
//! of an earlier job in the group.
//!
//! A job whose change cannot have a date yet is rolled back and postponed, so that it does not
//! delay other jobs.
//!
//! The thread does not trust jobs. Whatever a job does to the transaction, the other jobs of the
//! group are either committed and confirmed, or lost and reported as lost.

mod deferred;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use diesel::connection::SimpleConnection as _;

use crate::clock::{JobTime, WriteClock};
use crate::connection::{Access, Connections, DatabaseConnection};
use crate::error::DatabaseError;
use crate::jobs::job::{Job, JobOutcome};
use crate::jobs::transaction::Transaction;
use crate::metrics::StoreMetrics;
use crate::options::StoreOptions;
use crate::stats::{Queue, WriteCounters};
use crate::writer::deferred::{Postponed, Taken};
use crate::writer::watch::Watch;

/// A commit copies the write-ahead log into the database once the log has this size, in pages (16
/// MiB). Most changes affect the same pages, such as the ends of indexes, and a page is copied once
/// however often the log contains it. A larger log slows down look-ups in it.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Returns the date of the last change in a database.
pub type LatestChange = fn(&mut DatabaseConnection) -> Result<Option<DateTime<Utc>>, DatabaseError>;

/// A handle to the write thread. When the last clone is dropped, the thread runs the waiting jobs
/// and ends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: SyncSender<Box<dyn Job>>,
    /// The number of jobs in the queue, which the channel does not report.
    length: Arc<AtomicUsize>,
    /// The number of jobs that wait until their changes can have a date.
    postponed: Arc<AtomicUsize>,
    limit: usize,
}

impl Writer {
    /// Starts the thread over `connection`.
    pub(crate) fn start(
        connections: Connections,
        connection: DatabaseConnection,
        clock: Arc<WriteClock>,
        counters: Arc<WriteCounters>,
        metrics: StoreMetrics,
        options: &StoreOptions,
        latest_change: LatestChange,
    ) -> Result<Self, DatabaseError> {
        let (queue, jobs) = sync_channel(options.queue);
        let length = Arc::new(AtomicUsize::new(0));
        let postponed = Arc::new(AtomicUsize::new(0));
        let mut waiting = Waiting {
            jobs,
            length: Arc::clone(&length),
            aside: Postponed::new(options.queue),
            postponed: Arc::clone(&postponed),
        };
        let connection = Some(Watched::new(connection)?);
        let mut thread = WriterThread {
            connections,
            connection,
            clock,
            counters,
            metrics,
            group_limit: options.group,
            latest_change,
        };
        thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || thread.serve(&mut waiting))
            .map_err(DatabaseError::Thread)?;
        Ok(Self {
            queue,
            length,
            postponed,
            limit: options.queue,
        })
    }

    /// Adds a job to the queue without waiting.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::QueueFull`] or [`DatabaseError::Closed`].
    pub(crate) fn enqueue(&self, job: Box<dyn Job>) -> Result<(), DatabaseError> {
        // Counted first, because the thread may take the job before `try_send` returns.
        self.length.fetch_add(1, Ordering::Relaxed);
        self.queue.try_send(job).map_err(|error| {
            self.length.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => DatabaseError::QueueFull,
                TrySendError::Disconnected(_) => DatabaseError::Closed,
            }
        })
    }

    /// Adds a job to the queue. Blocks until the queue has room.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Closed`].
    pub(crate) fn enqueue_blocking(&self, job: Box<dyn Job>) -> Result<(), DatabaseError> {
        self.length.fetch_add(1, Ordering::Relaxed);
        self.queue.send(job).map_err(|_| {
            self.length.fetch_sub(1, Ordering::Relaxed);
            DatabaseError::Closed
        })
    }

    /// The jobs that wait for the thread.
    pub(crate) fn queue(&self) -> Queue {
        let length = self
            .length
            .load(Ordering::Relaxed)
            .saturating_add(self.postponed.load(Ordering::Relaxed));
        // A job that `enqueue` rejects is counted for a moment.
        Queue {
            length: length.min(self.limit),
            limit: self.limit,
        }
    }

    /// Whether jobs wait until their changes can have a date.
    pub(crate) fn has_postponed(&self) -> bool {
        self.postponed.load(Ordering::Relaxed) > 0
    }
}

/// The thread's end of the queue.
struct Waiting {
    jobs: Receiver<Box<dyn Job>>,
    /// Like [`Writer::length`].
    length: Arc<AtomicUsize>,
    /// The jobs that wait until their changes can have a date.
    aside: Postponed,
    /// Like [`Writer::postponed`].
    postponed: Arc<AtomicUsize>,
}

impl Waiting {
    /// Waits for the next job; `None` when the queue is closed and empty.
    fn next(&mut self) -> Option<Taken> {
        loop {
            if let Some(due) = self.aside.take() {
                return Some(due);
            }
            let Some(due) = self.aside.due() else {
                return self.jobs.recv().ok().map(|job| self.taken(job));
            };
            let pause = due.saturating_duration_since(Instant::now());
            match self.jobs.recv_timeout(pause) {
                Ok(job) => return Some(self.taken(job)),
                Err(RecvTimeoutError::Timeout) => {}
                // The queue is closed, but postponed jobs must still run.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(pause),
            }
        }
    }

    /// The next job; `None` if none is due or queued now.
    fn next_at_once(&mut self) -> Option<Taken> {
        self.aside
            .take()
            .or_else(|| self.jobs.try_recv().ok().map(|job| self.taken(job)))
    }

    /// Postpones a job until its change can have a date.
    fn postpone(&mut self, taken: Taken, wait: Duration, trainee: Option<i64>) {
        if let Err((job, cause)) = self.aside.add(taken, wait, trainee) {
            // The job has changed nothing, so its answer depends on no commit.
            answer(job, Err(cause));
        }
    }

    /// Updates the number of postponed jobs. Called when a group has ended: a postponed job that
    /// ran again counts until then.
    fn count_postponed(&self) {
        self.postponed.store(self.aside.len(), Ordering::Relaxed);
    }

    /// Counts a job that was taken from the queue.
    fn taken(&self, job: Box<dyn Job>) -> Taken {
        self.length.fetch_sub(1, Ordering::Relaxed);
        Taken::new(job)
    }
}

/// The state of the write thread.
struct WriterThread {
    connections: Connections,
    /// `None` after a lost group: the next group makes a new connection.
    connection: Option<Watched>,
    clock: Arc<WriteClock>,
    counters: Arc<WriteCounters>,
    metrics: StoreMetrics,
    group_limit: usize,
    latest_change: LatestChange,
}

/// A connection, and a watch that notices when SQLite ends its transaction.
struct Watched {
    connection: DatabaseConnection,
    watch: Watch,
}

impl Watched {
    /// Prepares a connection for the write thread, and watches it.
    fn new(mut connection: DatabaseConnection) -> Result<Self, DatabaseError> {
        // The rollback journal of a savepoint fits into memory: a job changes little.
        connection.batch_execute("PRAGMA temp_store = MEMORY")?;
        connection.batch_execute(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"))?;
        let watch = Watch::new(&mut connection);
        Ok(Self { connection, watch })
    }
}

impl WriterThread {
    /// Runs groups of jobs and answers their callers, until the queue is closed and empty.
    fn serve(&mut self, waiting: &mut Waiting) {
        while let Some(first) = waiting.next() {
            let begun = Instant::now();
            let mut group = vec![first];
            let outcome = catch_unwind(AssertUnwindSafe(|| self.run_group(&mut group, waiting)))
                .unwrap_or(Err(DatabaseError::JobPanicked));
            self.metrics.group_ended(group.len(), begun);
            waiting.count_postponed();
            match outcome {
                Ok(()) => {
                    self.counters.committed(group.len() as u64);
                    for taken in group {
                        answer(taken.job, Ok(()));
                    }
                }
                Err(cause) => {
                    self.counters.lost();
                    let affects_waiting_jobs = matches!(
                        cause,
                        DatabaseError::Busy
                            | DatabaseError::Connection(_)
                            | DatabaseError::DatabaseFileChanged(_)
                    );
                    if affects_waiting_jobs {
                        // The waiting jobs would fail too. Running them one after the other would
                        // delay the last one by many timeouts.
                        group.extend(std::iter::from_fn(|| waiting.next_at_once()));
                    }
                    let cause = Arc::new(cause);
                    for taken in group {
                        answer(taken.job, Err(loss(&cause)));
                    }
                }
            }
        }
    }

    /// Runs the first job of the group and the jobs that wait behind it, up to the limit of a
    /// group. Then commits.
    ///
    /// Takes the connection out of `self`, so that a failure or a panic drops it with its
    /// transaction.
    fn run_group(
        &mut self,
        group: &mut Vec<Taken>,
        waiting: &mut Waiting,
    ) -> Result<(), DatabaseError> {
        // Commits to a deleted or replaced file would be lost.
        self.connections.require_unchanged_files()?;
        let mut watched = match self.connection.take() {
            Some(watched) => watched,
            None => Watched::new(self.connections.establish()?)?,
        };
        let connection = &mut watched.connection;
        connection.begin(Access::Write)?;
        // Another process may have written since the last group, and clients may have seen its
        // dates.
        if let Some(latest) = (self.latest_change)(connection)? {
            self.clock.come_after(latest);
        }
        let mut run = 0;
        loop {
            if let Some(taken) = group.last_mut() {
                let begun = Instant::now();
                let ended =
                    run_in_savepoint(connection, &watched.watch, &self.clock, &mut *taken.job);
                self.metrics.job_ended(Access::Write, begun);
                run += 1;
                if let Some(wait) = ended?
                    && let Some(taken) = group.pop()
                {
                    waiting.postpone(taken, wait.wait, wait.trainee);
                }
            }
            if run >= self.group_limit {
                break;
            }
            match waiting.next_at_once() {
                Some(taken) => group.push(taken),
                None => break,
            }
        }
        connection
            .commit()
            .map_err(DatabaseError::from_lost_transaction)?;
        connection.require_depth(0)?;
        self.connection = Some(watched);
        Ok(())
    }
}

/// A job whose change cannot have a date yet.
struct DateWait {
    wait: Duration,
    /// The row of the trainee that was changed too often in the last second; `None` if the wait has
    /// another reason.
    trainee: Option<i64>,
}

/// Runs one job in the group's transaction, and rolls its changes back if it is refused or must
/// wait. Returns how long it must wait; `None` if it has its answer.
///
/// The savepoint has diesel's name and counts in diesel's depth. A job that closes one transaction
/// too many therefore closes the savepoint and not the group's transaction, and the depth reveals
/// it. If SQLite has ended the transaction, the savepoint has gone with it and its release fails.
fn run_in_savepoint(
    connection: &mut DatabaseConnection,
    watch: &Watch,
    clock: &Arc<WriteClock>,
    job: &mut dyn Job,
) -> Result<Option<DateWait>, DatabaseError> {
    connection.open_savepoint()?;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut transaction =
            Transaction::new(connection, Access::Write, JobTime::new_writing(clock));
        (job.run(&mut transaction), transaction.time.waits_for())
    }));
    watch.require_open()?;
    let (outcome, trainee) = outcome.map_err(|_| DatabaseError::JobPanicked)?;
    // The group's transaction and the savepoint.
    connection.require_depth(2)?;
    let wait = match outcome {
        JobOutcome::Keep => None,
        JobOutcome::Refuse | JobOutcome::Fail | JobOutcome::Wait(_) => {
            connection
                .roll_back_to_savepoint()
                .map_err(DatabaseError::from_lost_transaction)?;
            if let JobOutcome::Wait(wait) = outcome {
                Some(DateWait { wait, trainee })
            } else {
                None
            }
        }
    };
    connection
        .release_savepoint()
        .map_err(DatabaseError::from_lost_transaction)?;
    connection.require_depth(1)?;
    Ok(wait)
}

/// The error of each job of a lost group. A lock timeout and a replaced file are reported as such.
fn loss(cause: &Arc<DatabaseError>) -> DatabaseError {
    if let DatabaseError::DatabaseFileChanged(path) = &**cause {
        return DatabaseError::DatabaseFileChanged(path.clone());
    }
    if matches!(**cause, DatabaseError::Busy) {
        DatabaseError::Busy
    } else {
        DatabaseError::GroupLost(Arc::clone(cause))
    }
}

/// Answers one caller. A panic in the conversion of the answer must not affect the next caller.
fn answer(job: Box<dyn Job>, outcome: Result<(), DatabaseError>) {
    if catch_unwind(AssertUnwindSafe(|| job.answer(outcome))).is_err() {
        log::error!("database writer panicked while returning a job's result; other jobs continue");
    }
}
