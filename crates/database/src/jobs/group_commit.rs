//! Group commit on PostgreSQL: concurrent writes share a transaction, its round trips and its
//! commit.
//!
//! A write starts a thread unless one is running. The thread runs the waiting writes one after the
//! other in one transaction, then the writes that arrived during that time, until none is left.
//!
//! A group does not wait for locks. A write that fails, or that would have to wait for a lock, is
//! run again alone, like any other job. If it has already changed something, or if COMMIT fails,
//! the whole group is rolled back and each write runs alone. Every caller gets its answer after the
//! commit, also a refusal, because the refusal may depend on uncommitted changes of another write
//! in the group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::result::Error as DieselError;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::clock::JobTime;
use crate::connection::{Access, DatabaseConnection};
use crate::error::{DatabaseError, JobError};
use crate::jobs::group_queue::GroupMember;
use crate::jobs::job::{self, JobOutcome, JobReply};
use crate::jobs::pool::JobPool;
use crate::jobs::transaction::Transaction;

/// How long a write waits for a group. After that it runs alone.
const MAX_WAIT: Duration = Duration::from_millis(250);

/// The end of a group that was not rolled back.
struct Ended {
    /// The outcome of each write.
    outcomes: Vec<JobOutcome>,
    /// `Ok` if the group was committed; the cause if the outcome is unknown.
    committed: Result<(), Arc<DieselError>>,
}

/// The thread's right to take waiting writes. An early drop returns each waiting write to its
/// caller, which runs it alone.
struct Lead {
    pool: Arc<JobPool>,
    is_over: bool,
}

impl Lead {
    /// Runs groups until no write waits. Each group waits for a permit behind earlier jobs. If no
    /// permit is free in time, dropping `self` returns the waiting writes to their callers.
    fn run_groups(mut self, runtime: &Handle) {
        while let Ok(_permit) = runtime.block_on(self.pool.acquire(self.pool.deadline())) {
            let group = self.pool.groups.next();
            if group.is_empty() {
                self.is_over = true;
                return;
            }
            self.pool.run_group(group);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        while !self.is_over {
            let left = self.pool.groups.next();
            self.is_over = left.is_empty();
            left.into_iter().for_each(|member| member.job.give_back());
        }
    }
}

impl JobPool {
    /// Like [`JobPool::run`], for a write that may share a transaction with others.
    pub(crate) async fn run_in_group<T, E, F>(self: Arc<Self>, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
        F: FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    {
        let deadline = self.deadline();
        let _admitted = self.admit()?;
        let (job, mut reply) = job::job(job);
        let (number, must_lead) = self.groups.add(job, deadline);
        if must_lead {
            let runtime = Handle::current();
            let lead = Lead {
                pool: Arc::clone(&self),
                is_over: false,
            };
            spawn_blocking(move || lead.run_groups(&runtime));
        }
        let replied = match timeout(MAX_WAIT, &mut reply).await {
            Ok(replied) => replied,
            Err(_) => {
                // If no group has taken the write, it runs alone.
                if let Some(job) = self.groups.remove(number) {
                    job.give_back();
                }
                reply.await
            }
        };
        match replied {
            Ok(JobReply::GivenBack(job, timer)) => {
                Arc::clone(&self)
                    .run_admitted(deadline, Access::Write, job, timer)
                    .await
            }
            answered => job::answer_of(answered),
        }
    }

    /// Runs a group and answers its callers, or returns their writes to be run alone.
    fn run_group(&self, mut group: Vec<GroupMember>) {
        let begun = Instant::now();
        let ended = self.run_and_commit(&mut group);
        self.metrics.group_ended(group.len(), begun);
        let Some(Ended {
            outcomes,
            committed,
        }) = ended
        else {
            self.counters.undone();
            return group.into_iter().for_each(|member| member.job.give_back());
        };
        for (GroupMember { job, .. }, outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                JobOutcome::Fail | JobOutcome::Wait(_) => job.give_back(),
                JobOutcome::Keep | JobOutcome::Refuse => {
                    job.answer(committed.clone().map_err(DatabaseError::OutcomeUnknown))
                }
            }
        }
    }

    /// Runs the writes of a group and commits them; `None` if the group was rolled back.
    fn run_and_commit(&self, group: &mut [GroupMember]) -> Option<Ended> {
        let deadline = group.iter().filter_map(|member| member.deadline).min();
        let mut pooled = self.connection(deadline).ok()?;
        let connection = &mut pooled.connection;
        connection.set_deadline(deadline);
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.run_members(connection, group)));
        let Ok(Some(outcomes)) = outcomes else {
            // A failed rollback needs no handling: the pool drops the connection, so nothing is
            // committed.
            match outcomes {
                Ok(_) => drop(connection.roll_back()),
                Err(_) => connection.close(),
            }
            return None;
        };
        let committed = match self.end(connection, Access::Write, 1, group.len() as u64) {
            Ok(()) => Ok(()),
            Err(DatabaseError::OutcomeUnknown(cause)) => Err(cause),
            Err(_) => return None,
        };
        Some(Ended {
            outcomes,
            committed,
        })
    }

    /// Runs the writes of a group in one transaction; `None` if it must not be committed.
    fn run_members(
        &self,
        connection: &mut DatabaseConnection,
        group: &mut [GroupMember],
    ) -> Option<Vec<JobOutcome>> {
        connection.begin(Access::Write).ok()?;
        let mut outcomes = Vec::with_capacity(group.len());
        for member in group.iter_mut() {
            let begun = Instant::now();
            let before = connection.executed();
            let time = JobTime::new_writing(&self.write_clock);
            let transaction = Transaction::new(connection, Access::Write, time);
            let outcome = member.job.run(&mut transaction.without_waiting());
            self.metrics.job_ended(Access::Write, begun);
            // The changes of one write can only be rolled back with those of the whole group.
            if outcome != JobOutcome::Keep && connection.executed() != before {
                return None;
            }
            outcomes.push(outcome);
        }
        Some(outcomes)
    }
}
