//! Runs the jobs that write: one after the other for each writer, and many with one commit.
//!
//! A SQLite database has one writer, because SQLite allows one at a time. On PostgreSQL each
//! provider has one, and a job that changes no provider's records has its own writer. The
//! threads, one for each connection that writes, take turns to serve the writers that have jobs.
//!
//! In a turn, a thread runs the waiting jobs in one transaction, each in a savepoint, and commits
//! them together. Every caller gets its answer after that commit, also a refusal, because the
//! refusal may depend on uncommitted changes of an earlier job. A first job without another one
//! behind it needs no savepoint.
//!
//! The threads do not trust jobs. If a transaction is lost before its commit, each of its jobs runs
//! again, alone in a transaction. A job that panicked fails. If the outcome of the commit is
//! unknown, each job of the transaction gets that error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::watch::Watch;
use crate::connection::{Access, Connections, DatabaseConnection, PooledConnection};
use crate::error::DatabaseError;
use crate::jobs::job::{Job, JobOutcome};
use crate::jobs::pool::JobPool;
use crate::jobs::runs::{RerunBudget, RerunDecision};
use crate::jobs::transaction::Transaction;
use crate::jobs::write_queue::{QueuedJob, WriteQueue, WriterKey};
use crate::options::StoreOptions;
use crate::positions::{LockedProviders, PositionTable};

/// Whose records a job changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteScope {
    /// The records of the provider with this key. On PostgreSQL the job runs after earlier jobs of
    /// the provider.
    Provider(i64),
    /// No records of any provider.
    NoProvider,
}

/// The queue of the jobs, and the threads that run them. When the value is dropped, the threads run
/// the waiting jobs and end.
#[derive(Debug)]
pub(crate) struct Writers {
    pub(crate) queue: Arc<WriteQueue>,
    has_one_writer: bool,
}

impl Writers {
    /// Starts one thread for each connection of the pool.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Thread`].
    pub(crate) fn start(
        connections: &Connections,
        pool: &Arc<JobPool>,
        options: &StoreOptions,
        table: PositionTable,
    ) -> Result<Self, DatabaseError> {
        let queue = Arc::new(WriteQueue::new(options.queue));
        let has_one_writer = connections.allow_one_writer();
        // Dropped on failure, which ends the threads.
        let writers = Self {
            queue: Arc::clone(&queue),
            has_one_writer,
        };
        for _ in 0..pool.size() {
            let thread = WriterThread {
                connections: connections.clone(),
                pool: Arc::clone(pool),
                queue: Arc::clone(&queue),
                group_limit: options.group,
                table,
            };
            thread::Builder::new()
                .name("database-writer".to_owned())
                .spawn(move || thread.serve())
                .map_err(DatabaseError::Thread)?;
        }
        Ok(writers)
    }

    /// Adds a job that fails if it has not begun after `patience`. Returns its writer and number.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::QueueFull`].
    pub(crate) fn add(
        &self,
        scope: WriteScope,
        job: Box<dyn Job>,
        patience: Duration,
        runs: RerunBudget,
    ) -> Result<(WriterKey, u64), DatabaseError> {
        let provider = match scope {
            WriteScope::Provider(provider) => Some(provider),
            WriteScope::NoProvider => None,
        };
        let writer = match self.has_one_writer {
            true => Some(WriterKey::Database),
            false => provider.map(WriterKey::Provider),
        };
        self.queue
            .add(writer, provider, job, Instant::now() + patience, runs)
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// The state of one thread.
struct WriterThread {
    connections: Connections,
    pool: Arc<JobPool>,
    queue: Arc<WriteQueue>,
    group_limit: usize,
    table: PositionTable,
}

/// A job that has begun, and the outcome of its run; `None` if it has not ended.
struct BegunJob {
    queued: QueuedJob,
    outcome: Option<JobOutcome>,
}

/// The open transaction of a turn.
struct OpenTransaction<'a> {
    connection: &'a mut DatabaseConnection,
    watch: Option<&'a Watch>,
    locked: LockedProviders,
}

impl WriterThread {
    /// Serves writers until the queue is closed and empty.
    fn serve(&self) {
        while let Some(writer) = self.queue.next_writer() {
            self.serve_turn(writer);
            self.queue.end_turn(writer);
        }
    }

    /// Runs waiting jobs of a writer in one transaction. Answers their callers, or puts them back.
    fn serve_turn(&self, writer: WriterKey) {
        let begun = Instant::now();
        let mut group = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| self.run_group(writer, &mut group)))
            .unwrap_or(Err(DatabaseError::JobPanicked));
        if !group.is_empty() {
            self.pool.metrics.group_ended(group.len(), begun);
        }
        match ended {
            Ok(()) => self.end_jobs(writer, group, begun.elapsed()),
            Err(DatabaseError::OutcomeUnknown(cause)) => {
                for BegunJob { queued, .. } in group {
                    let unknown = DatabaseError::OutcomeUnknown(Arc::clone(&cause));
                    answer(queued.job, Err(unknown));
                }
            }
            Err(cause) => self.end_lost_transaction(writer, group, cause, begun.elapsed()),
        }
    }

    /// Answers the callers of a transaction that was committed. A job that failed is rolled back and
    /// may run again.
    fn end_jobs(&self, writer: WriterKey, group: Vec<BegunJob>, last_run: Duration) {
        for BegunJob { queued, outcome } in group {
            match (outcome, queued.job.failure()) {
                (Some(JobOutcome::Fail), Some(failure)) => {
                    let decision = queued.runs.decide(Access::Write, Some(failure));
                    self.run_again_or(writer, queued, decision, last_run, Ok(()));
                }
                (_, _) => answer(queued.job, Ok(())),
            }
        }
    }

    /// Ends a turn whose transaction was lost before its commit.
    fn end_lost_transaction(
        &self,
        writer: WriterKey,
        mut group: Vec<BegunJob>,
        cause: DatabaseError,
        last_run: Duration,
    ) {
        if group.is_empty() && matches!(cause, DatabaseError::Busy) {
            // Another process holds the lock. Jobs with time left go on waiting.
            for overdue in self.queue.remove_overdue(writer) {
                answer(overdue.job, Err(DatabaseError::Busy));
            }
        } else if group.len() > 1 {
            self.pool.counters.undone();
            let mut again = Vec::new();
            for BegunJob { mut queued, .. } in group {
                if queued.job.has_panicked() {
                    answer(queued.job, Err(DatabaseError::JobPanicked));
                } else {
                    queued.job.wait_again();
                    queued.runs_alone = true;
                    again.push(queued);
                }
            }
            self.queue.put_back(writer, again);
        } else {
            // The first job waits for the connection or the lock on behalf of the others.
            let first = group.pop().map(|begun| begun.queued);
            let first = first.or_else(|| self.queue.take(writer, true).map(|(next, _)| next));
            if let Some(queued) = first {
                // The depth is also off after a lost connection, which the job has reported.
                let is_depth = matches!(cause, DatabaseError::TransactionDepth);
                let failure = queued.job.failure().filter(|_| is_depth);
                let decision = queued.runs.decide(Access::Write, failure.or(Some(&cause)));
                let outcome = failure.map_or(Err(cause), |_| Ok(()));
                self.run_again_or(writer, queued, decision, last_run, outcome);
            }
        }
    }

    /// Puts a job back after a pause if it may run again; otherwise answers its caller.
    #[expect(
        clippy::disallowed_methods,
        reason = "the writer waits on its own thread"
    )]
    fn run_again_or(
        &self,
        writer: WriterKey,
        mut queued: QueuedJob,
        decision: RerunDecision,
        last_run: Duration,
        outcome: Result<(), DatabaseError>,
    ) {
        let Some(pause) = self.pool.pause(&mut queued.runs, decision, last_run) else {
            return answer(queued.job, outcome);
        };
        queued.job.wait_again();
        queued.runs_alone = true;
        thread::sleep(pause);
        self.queue.put_back(writer, vec![queued]);
    }

    /// Runs the jobs that wait for a writer, up to the limit of a group, and commits. Jobs in
    /// `group` have begun. If it is empty, the transaction could not begin or no job waits any more.
    fn run_group(&self, writer: WriterKey, group: &mut Vec<BegunJob>) -> Result<(), DatabaseError> {
        let deadline = self.pool.deadline();
        let mut pooled = self.pool.connection(deadline)?;
        let PooledConnection {
            connection, watch, ..
        } = &mut *pooled;
        connection.set_deadline(deadline);
        connection.begin(Access::Write)?;
        let locked = LockedProviders::new(self.table, self.pool.clock.clone());
        let mut open = OpenTransaction {
            connection,
            watch: watch.as_ref(),
            locked,
        };
        if let Some(provider) = writer.provider() {
            // Before the first savepoint: a rollback to a savepoint releases the locks behind it.
            open.locked.lock(open.connection, provider)?;
        }
        while group.len() < self.group_limit
            && let Some((queued, has_more)) = self.queue.take(writer, group.is_empty())
        {
            self.pool.metrics.job_begun(queued.arrived);
            let runs_alone = queued.runs_alone;
            // A job of a lost transaction is not trusted to leave a new one open.
            let is_single = matches!(writer, WriterKey::Job(_));
            let has_savepoint = !is_single && (runs_alone || !group.is_empty() || has_more);
            let number = group.len();
            let outcome = None;
            let begun = group.push_mut(BegunJob { queued, outcome });
            let outcome = if has_savepoint {
                self.run_in_savepoint(&mut open, begun, number)?
            } else {
                self.run_job(&mut open, begun, 1)?
            };
            if !has_savepoint && outcome != JobOutcome::Keep {
                // The job has its answer. If this fails, the pool drops the connection, so nothing
                // is committed.
                let _ = open.connection.roll_back();
                return Ok(());
            }
            if runs_alone {
                break;
            }
        }
        if group.is_empty() {
            let _ = open.connection.roll_back();
            return Ok(());
        }
        open.locked.store(open.connection)?;
        // A commit to a deleted or replaced file would be lost. The file may have gone since the
        // transaction began, so this is checked last.
        self.connections.require_unchanged_files()?;
        self.pool
            .end(open.connection, Access::Write, 1, group.len() as u64)
    }

    /// Runs a job in a savepoint, and rolls its changes back unless they must be kept.
    ///
    /// The savepoint counts in diesel's depth. A job that closes one transaction too many therefore
    /// does not close the group's transaction, and the depth reveals it. If the database has ended
    /// the transaction, the savepoint has gone with it and its release fails.
    fn run_in_savepoint(
        &self,
        open: &mut OpenTransaction<'_>,
        begun: &mut BegunJob,
        number: usize,
    ) -> Result<JobOutcome, DatabaseError> {
        open.connection.open_savepoint(number)?;
        let before = open.locked.clone();
        let outcome = self.run_job(open, begun, 2)?;
        if outcome != JobOutcome::Keep {
            open.connection
                .roll_back_to_savepoint(number)
                .map_err(DatabaseError::from_lost_transaction)?;
            open.locked = before;
        }
        open.connection
            .release_savepoint(number)
            .map_err(DatabaseError::from_lost_transaction)?;
        open.connection.require_depth(1)?;
        Ok(outcome)
    }

    /// Runs a job. Fails unless `depth` transactions and savepoints are open after it.
    fn run_job(
        &self,
        open: &mut OpenTransaction<'_>,
        begun: &mut BegunJob,
        depth: u32,
    ) -> Result<JobOutcome, DatabaseError> {
        let started = Instant::now();
        let provider = begun.queued.provider;
        if let Some(provider) = provider {
            open.locked.lock(open.connection, provider)?;
        }
        let time = open.locked.job_time(provider);
        let mut transaction =
            Transaction::new(open.connection, Access::Write, time).with_locked(&mut open.locked);
        let job = &mut begun.queued.job;
        let ended = catch_unwind(AssertUnwindSafe(|| job.run(&mut transaction)));
        self.pool.metrics.job_ended(Access::Write, started);
        if let Some(watch) = open.watch {
            watch.require_open()?;
        }
        let outcome = ended.map_err(|_| {
            // A panic leaves the transaction in an unknown state.
            open.connection.close();
            DatabaseError::JobPanicked
        })?;
        open.connection.require_depth(depth)?;
        begun.outcome = Some(outcome);
        Ok(outcome)
    }
}

/// Answers one caller. A panic in the conversion of the answer must not affect the next caller.
fn answer(job: Box<dyn Job>, outcome: Result<(), DatabaseError>) {
    if catch_unwind(AssertUnwindSafe(|| job.answer(outcome))).is_err() {
        log::error!("database writer panicked while returning a job's result; other jobs continue");
    }
}
