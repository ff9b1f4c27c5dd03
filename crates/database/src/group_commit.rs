//! Group commit on PostgreSQL: writes that come at the same time share a transaction, its round trips and its commit.
//!
//! A write that finds nobody leading takes the lead: a thread runs it and those that wait with it, one after the other in one
//! transaction, and then those that arrived during that, until none is left.
//!
//! A group does not wait for locks. A write that would have to wait, or that fails, is run again alone, like any other job. If it
//! has already changed something, or the COMMIT is refused, the whole group is rolled back, and each of its writes is run alone.
//! No caller gets an answer before the commit has returned, not even a refusal: it may rest on what a neighbour had not yet
//! committed.

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
use crate::group_queue::GroupMember;
use crate::job::{self, JobOutcome, JobReply};
use crate::pool::JobPool;
use crate::transaction::Transaction;

/// How long a write waits for a group before it is run by itself.
const MAX_WAIT: Duration = Duration::from_millis(250);

/// How a group ended that was not undone.
struct Ended {
    /// What each of its writes did.
    outcomes: Vec<JobOutcome>,
    /// Whether it was committed, or why that is not known.
    committed: Result<(), Arc<DieselError>>,
}

/// The lead: whoever has it takes the writes that wait. Where it is given up before none do, they are run each by itself.
struct Lead {
    pool: Arc<JobPool>,
    is_over: bool,
}

impl Lead {
    /// Runs the groups of writes that wait, as long as some do. Each group waits for a place behind those who came before it.
    fn run_groups(mut self, runtime: &Handle) {
        while let Ok(_place) = runtime.block_on(self.pool.place(self.pool.deadline())) {
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
    /// As [`JobPool::run`], for a write that may share a transaction with others.
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
            let (lead, runtime) = (Lead { pool: Arc::clone(&self), is_over: false }, Handle::current());
            spawn_blocking(move || lead.run_groups(&runtime));
        }
        let replied = match timeout(MAX_WAIT, &mut reply).await {
            Ok(replied) => replied,
            Err(_) => {
                if let Some(job) = self.groups.remove(number) {
                    job.give_back();
                }
                reply.await
            }
        };
        match replied {
            Ok(JobReply::GivenBack(job, timer)) => {
                Arc::clone(&self).run_admitted(deadline, Access::Write, job, timer).await
            }
            answered => job::answer_of(answered),
        }
    }

    /// Runs a group and answers its callers, or has them run their writes by themselves.
    fn run_group(&self, mut group: Vec<GroupMember>) {
        let begun = Instant::now();
        let ended = self.run_and_commit(&mut group);
        self.metrics.group_ended(group.len(), begun);
        let Some(Ended { outcomes, committed }) = ended else {
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

    /// Runs the writes of a group and commits them; nothing when nothing was kept.
    fn run_and_commit(&self, group: &mut [GroupMember]) -> Option<Ended> {
        let deadline = group.iter().filter_map(|member| member.deadline).min();
        let mut pooled = self.connection(deadline).ok()?;
        let connection = &mut pooled.connection;
        connection.set_deadline(deadline);
        let outcomes = catch_unwind(AssertUnwindSafe(|| self.run_members(connection, group)));
        let Ok(Some(outcomes)) = outcomes else {
            // What cannot be rolled back is never committed either: the pool drops the connection.
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
        Some(Ended { outcomes, committed })
    }

    /// Runs the writes of a group in one transaction; nothing when it must not be committed.
    fn run_members(&self, connection: &mut DatabaseConnection, group: &mut [GroupMember]) -> Option<Vec<JobOutcome>> {
        connection.begin(Access::Write).ok()?;
        let mut outcomes = Vec::with_capacity(group.len());
        for member in group.iter_mut() {
            let begun = Instant::now();
            let before = connection.executed();
            let time = JobTime::of_writing(&self.write_clock);
            let transaction = Transaction::new(connection, Access::Write, time);
            let outcome = member.job.run(&mut transaction.without_waiting());
            self.metrics.job_ended(Access::Write, begun);
            // What one that is not kept has written can only be undone with what the others have.
            if outcome != JobOutcome::Keep && connection.executed() != before {
                return None;
            }
            outcomes.push(outcome);
        }
        Some(outcomes)
    }
}
