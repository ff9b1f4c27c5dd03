//! The one thread that writes to SQLite.
//!
//! SQLite admits one writer and pays for each commit with a wait for the disk. So the thread takes
//! the jobs that wait together into one transaction, a savepoint each, and one commit serves them
//! all. No caller gets an answer before that commit has returned, not even a refusal: it may rest
//! on what a neighbour had not yet committed.
//!
//! A job whose change cannot have a date yet is rolled back and stands aside, so that it does not
//! delay other jobs.
//!
//! Knows nothing of what jobs do. It trusts them with nothing: whatever a job does to the
//! transaction, its neighbours are either kept and confirmed, or lost and reported as lost.

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

/// Size of the write-ahead log, in pages, that makes a commit copy it into the database: 16 MiB.
/// Most changes are of the same pages, such as the ends of indexes, and a page is copied once
/// however often it stands in the log. With more pages, look-ups in the log take longer.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Returns the date of the last change in a database.
pub type LatestChange = fn(&mut DatabaseConnection) -> Result<Option<DateTime<Utc>>, DatabaseError>;

/// The way to the writer's thread. When the last clone is dropped, the thread finishes what waits
/// and ends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: SyncSender<Box<dyn Job>>,
    /// How many jobs the queue holds, which it does not report itself.
    length: Arc<AtomicUsize>,
    /// How many jobs stand aside until their changes can have a date.
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

    /// Puts a job into the queue, without waiting.
    pub(crate) fn enqueue(&self, job: Box<dyn Job>) -> Result<(), DatabaseError> {
        // Counted first: the thread may take the job out before this returns.
        self.length.fetch_add(1, Ordering::Relaxed);
        self.queue.try_send(job).map_err(|error| {
            self.length.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => DatabaseError::QueueFull,
                TrySendError::Disconnected(_) => DatabaseError::Closed,
            }
        })
    }

    /// Puts a job into the queue. Blocks until there is room.
    pub(crate) fn enqueue_when_there_is_room(
        &self,
        job: Box<dyn Job>,
    ) -> Result<(), DatabaseError> {
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
        // One that is being refused is counted briefly.
        Queue {
            length: length.min(self.limit),
            limit: self.limit,
        }
    }

    /// Whether jobs stand aside until their changes can have a date.
    pub(crate) fn has_postponed(&self) -> bool {
        self.postponed.load(Ordering::Relaxed) > 0
    }
}

/// The thread's end of the queue.
struct Waiting {
    jobs: Receiver<Box<dyn Job>>,
    length: Arc<AtomicUsize>,
    aside: Postponed,
    postponed: Arc<AtomicUsize>,
}

impl Waiting {
    /// The next job, as soon as there is one; `None` when there will be no more.
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
                // No job can arrive any more, and the jobs that stand aside are still to be run.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(pause),
            }
        }
    }

    /// The next job, if there is one now.
    fn next_at_once(&mut self) -> Option<Taken> {
        self.aside
            .take()
            .or_else(|| self.jobs.try_recv().ok().map(|job| self.taken(job)))
    }

    /// Lets a job stand aside until its change can have a date.
    fn postpone(&mut self, taken: Taken, wait: Duration, trainee: Option<i64>) {
        if let Err((job, cause)) = self.aside.add(taken, wait, trainee) {
            // It has done nothing, so its answer rests on no commit.
            answer(job, Err(cause));
        }
    }

    /// Counts the jobs that stand aside, when a group has ended: one that was run again has left
    /// only then.
    fn count_postponed(&self) {
        self.postponed.store(self.aside.len(), Ordering::Relaxed);
    }

    fn taken(&self, job: Box<dyn Job>) -> Taken {
        self.length.fetch_sub(1, Ordering::Relaxed);
        Taken::new(job)
    }
}

struct WriterThread {
    connections: Connections,
    /// The connection, unless a group was lost on it: then the next group makes a new one.
    connection: Option<Watched>,
    clock: Arc<WriteClock>,
    counters: Arc<WriteCounters>,
    metrics: StoreMetrics,
    group_limit: usize,
    latest_change: LatestChange,
}

/// A connection, and what is known of its transaction's end.
struct Watched {
    connection: DatabaseConnection,
    watch: Watch,
}

impl Watched {
    fn new(mut connection: DatabaseConnection) -> Result<Self, DatabaseError> {
        // What a savepoint needs to take a job back is as much as the job changes, which is little.
        connection.batch_execute("PRAGMA temp_store = MEMORY")?;
        connection.batch_execute(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"))?;
        let watch = Watch::new(&mut connection);
        Ok(Self { connection, watch })
    }
}

impl WriterThread {
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
                    let is_of_all_jobs = matches!(
                        cause,
                        DatabaseError::Busy
                            | DatabaseError::Connection(_)
                            | DatabaseError::DatabaseFileChanged(_)
                    );
                    if is_of_all_jobs {
                        // Those who wait have waited as long as this group; to try each in turn
                        // would hold the last of them up for many times the timeout.
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

    /// Runs the first job of the group, then what waits, as long as something waits; then commits.
    ///
    /// Takes the connection out of `self`, so that a failure or a panic drops it with its
    /// transaction.
    fn run_group(
        &mut self,
        group: &mut Vec<Taken>,
        waiting: &mut Waiting,
    ) -> Result<(), DatabaseError> {
        // What is committed to a file without a name is lost.
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

/// Reason why a change cannot have a date yet, so that its job waits.
struct DateWait {
    wait: Duration,
    /// The row of the trainee that was changed too often in the last second.
    trainee: Option<i64>,
}

/// Runs one job inside the group's transaction and takes back what it did when it is refused or
/// must wait.
///
/// The savepoint is diesel's by its name and in its count, so that a job which closes one
/// transaction too many closes that and not the group's, and the count tells. When the transaction
/// has ended, the savepoint is gone with it, and releasing it fails.
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

/// The error of each job of a lost group.
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

/// Answers one caller. What callers do when they convert or drop an answer must not reach the next
/// one.
fn answer(job: Box<dyn Job>, outcome: Result<(), DatabaseError>) {
    if catch_unwind(AssertUnwindSafe(|| job.answer(outcome))).is_err() {
        log::error!("a panic was met while a job was answered");
    }
}
