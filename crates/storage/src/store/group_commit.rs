//! Group commit on PostgreSQL: writes that come at the same time share a transaction, its round trips and its commit.
//!
//! A write that finds nobody leading takes the lead: a thread runs it and those that wait with it, one after the other in one
//! transaction, and then those that arrived during that, until none is left.
//!
//! A group does not wait for locks. A write that would have to wait, or that fails, is run again alone, like any other job. If it
//! has already changed something, or the COMMIT is refused, the whole group is rolled back, and each of its writes is run alone.
//! No caller gets an answer before the commit has returned, not even a refusal: it may rest on what a neighbour had not yet
//! committed.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use diesel::result::Error as DieselError;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::pool::JobPool;
use crate::clock::JobTime;
use crate::connection::{Access, DatabaseConnection};
use crate::error::{JobError, StorageError};
use crate::job::{self, Job, JobOutcome, JobReply};
use crate::session::Session;

/// The most writes that share a transaction.
const MAX_GROUP: usize = 32;
/// How long a write waits for a group before it is run by itself.
const MAX_WAIT: Duration = Duration::from_millis(250);

/// The writes that wait for a group.
#[derive(Default)]
pub(super) struct Groups(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// Those that no group has taken yet, in the order in which they came.
    members: VecDeque<GroupMember>,
    /// The number of the one that came last.
    last: u64,
    /// Whether somebody takes them.
    is_led: bool,
}

/// A write that waits for a group.
struct GroupMember {
    number: u64,
    /// Until when it must have ended.
    deadline: Option<Instant>,
    job: Box<dyn Job>,
}

/// How a group ended that was not undone.
struct Ended {
    /// What each of its writes did.
    outcomes: Vec<JobOutcome>,
    /// Whether it was committed, or why that is not known.
    committed: Result<(), Arc<DieselError>>,
}

impl Groups {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A poisoned lock is no harm: no code that holds it can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the write that came last.
    pub(super) fn last(&self) -> u64 {
        self.lock().last
    }

    /// Whether a write waits that came no later than the one with the number.
    pub(super) fn hold_any_until(&self, number: u64) -> bool {
        self.lock().members.front().is_some_and(|first| first.number <= number)
    }

    /// Lets a write wait. Returns its number, and whether its caller must lead.
    fn add(&self, job: Box<dyn Job>, deadline: Option<Instant>) -> (u64, bool) {
        let mut waiting = self.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.members.push_back(GroupMember { number, deadline, job });
        (number, !mem::replace(&mut waiting.is_led, true))
    }

    /// Takes a write out, unless a group has it.
    fn remove(&self, number: u64) -> Option<Box<dyn Job>> {
        let members = &mut self.lock().members;
        let at = members.iter().position(|other| other.number == number)?;
        members.remove(at).map(|member| member.job)
    }

    /// The next group. When there is none, nobody leads any more.
    fn next(&self) -> Vec<GroupMember> {
        let mut waiting = self.lock();
        let size = waiting.members.len().min(MAX_GROUP);
        waiting.is_led = size > 0;
        waiting.members.drain(..size).collect()
    }
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
    pub(super) async fn run_in_group<T, E, F>(self: Arc<Self>, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
        F: FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
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
                    job.answer(committed.clone().map_err(StorageError::OutcomeUnknown))
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
            Err(StorageError::OutcomeUnknown(cause)) => Err(cause),
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
            let session = Session::new(connection, Access::Write, JobTime::of_writing(&self.write_clock));
            let outcome = member.job.run(&mut session.without_waiting());
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

impl fmt::Debug for Groups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Groups")
    }
}

#[cfg(test)]
mod tests;
