//! Group commit on PostgreSQL: writes that come at the same time share a transaction, its round trips and its commit.
//!
//! A write that finds nobody leading takes the lead: a thread runs it and those that wait with it, one after the other in one
//! transaction, and then those that came meanwhile, as long as some come. None of them waits for what it assumes, so a group
//! takes as many round trips as one write.
//!
//! A group waits for no lock. Where an assumption of one of its writes fails, or anything else does, all that it did is undone,
//! and each of its writes is run by itself, as any other job. No caller gets an answer before the commit has returned, not even a
//! refusal: it may rest on what a neighbour had not yet committed.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use diesel::result::Error as DieselError;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::pool::JobPool;
use crate::clock::JobTime;
use crate::connection::{Access, DatabaseConnection};
use crate::error::{JobError, StorageError};
use crate::job_times::JobTimer;
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
    members: VecDeque<(u64, Box<dyn Member>)>,
    /// The number of the one that came last.
    last: u64,
    /// Whether somebody takes them.
    is_led: bool,
}

/// A write of a group, whatever its types are.
trait Member: Send {
    /// Runs the write, and holds its answer back.
    fn run(&mut self, session: &mut Session<'_>) -> Outcome;

    /// Until when it must have ended.
    fn deadline(&self) -> Option<Instant>;

    /// Gives the caller the answer that was held back, or the error if there is one.
    fn answer(self: Box<Self>, outcome: Result<(), StorageError>);

    /// Has the caller run the write by itself, without any assumption where it is known that one does not hold.
    fn give_back(self: Box<Self>, may_assume: bool);
}

/// What a write of a group did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// What is to be kept.
    Done,
    /// Nothing that is to be kept, and it is answered so.
    Refused,
    /// The store has failed it: it is to be run by itself.
    Failed,
}

/// How a group ended that was not undone.
struct Ended {
    /// What each of its writes did.
    outcomes: Vec<Outcome>,
    /// Whether it was committed, or why that is not known.
    committed: Result<(), Arc<DieselError>>,
}

struct Pending<T, E, F> {
    job: F,
    answer: Option<Result<T, E>>,
    deadline: Option<Instant>,
    timer: JobTimer,
    caller: oneshot::Sender<Reply<T, E, F>>,
}

/// What the caller of a write gets.
enum Reply<T, E, F> {
    Answer(Result<T, E>, JobTimer),
    /// The write, to be run by itself, and whether it may assume anything.
    Unanswered(F, JobTimer, bool),
}

impl<T, E, F> Member for Pending<T, E, F>
where
    T: Send,
    E: JobError,
    F: FnMut(&mut Session<'_>) -> Result<T, E> + Send,
{
    fn run(&mut self, session: &mut Session<'_>) -> Outcome {
        self.timer.begin_run();
        let answer = self.timer.run(session, &mut self.job);
        let outcome = match &answer {
            Ok(_) => Outcome::Done,
            Err(error) if error.of_the_store().is_some() => Outcome::Failed,
            Err(_) => Outcome::Refused,
        };
        self.answer = Some(answer);
        outcome
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn answer(mut self: Box<Self>, outcome: Result<(), StorageError>) {
        self.timer.end_run();
        let answer = match (self.answer, outcome) {
            (Some(answer), Ok(())) => answer,
            (None, Ok(())) => Err(StorageError::Closed.into()),
            (_, Err(error)) => Err(error.into()),
        };
        // A caller that has gone away has no use for the answer; the work is done all the same.
        let _ = self.caller.send(Reply::Answer(answer, self.timer));
    }

    fn give_back(mut self: Box<Self>, may_assume: bool) {
        self.timer.end_run();
        // A caller that has gone away has done nothing.
        let _ = self.caller.send(Reply::Unanswered(self.job, self.timer, may_assume));
    }
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
        self.lock().members.front().is_some_and(|(first, _)| *first <= number)
    }

    /// Lets a write wait. Returns its number, and whether its caller must lead.
    fn add(&self, member: Box<dyn Member>) -> (u64, bool) {
        let mut waiting = self.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.members.push_back((number, member));
        (number, !mem::replace(&mut waiting.is_led, true))
    }

    /// Takes a write out, unless a group has it.
    fn remove(&self, number: u64) -> Option<Box<dyn Member>> {
        let members = &mut self.lock().members;
        let at = members.iter().position(|(other, _)| *other == number)?;
        members.remove(at).map(|(_, member)| member)
    }

    /// The next group. When there is none, nobody leads any more.
    fn next(&self) -> Vec<Box<dyn Member>> {
        let mut waiting = self.lock();
        let size = waiting.members.len().min(MAX_GROUP);
        waiting.is_led = size > 0;
        waiting.members.drain(..size).map(|(_, member)| member).collect()
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
            left.into_iter().for_each(|member| member.give_back(true));
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
        let (caller, mut reply) = oneshot::channel();
        let _admitted = self.admit()?;
        let member = Pending { job, answer: None, deadline, timer: JobTimer::start(), caller };
        let (number, must_lead) = self.groups.add(Box::new(member));
        if must_lead {
            let (lead, runtime) = (Lead { pool: Arc::clone(&self), is_over: false }, Handle::current());
            spawn_blocking(move || lead.run_groups(&runtime));
        }
        let replied = match timeout(MAX_WAIT, &mut reply).await {
            Ok(replied) => replied,
            Err(_) => {
                if let Some(member) = self.groups.remove(number) {
                    member.give_back(true);
                }
                reply.await
            }
        };
        match replied {
            Ok(Reply::Answer(answer, timer)) => {
                timer.report();
                answer
            }
            Ok(Reply::Unanswered(job, timer, may_assume)) => {
                Arc::clone(&self).run_admitted(|_| Ok(()), deadline, Access::Write, job, timer, may_assume).await
            }
            Err(_) => Err(StorageError::Closed.into()),
        }
    }

    /// Runs a group and answers its callers, or has them run their writes by themselves.
    fn run_group(&self, mut group: Vec<Box<dyn Member>>) {
        let begun = Instant::now();
        let ended = self.run_and_commit(&mut group);
        self.metrics.group_ended(group.len(), begun);
        let Some(Ended { outcomes, committed }) = ended else {
            self.counters.undone();
            // Of several it is not known whose assumption failed.
            let may_assume = group.len() > 1;
            return group.into_iter().for_each(|member| member.give_back(may_assume));
        };
        for (member, outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Failed => member.give_back(true),
                Outcome::Done | Outcome::Refused => {
                    member.answer(committed.clone().map_err(StorageError::OutcomeUnknown));
                }
            }
        }
    }

    /// Runs the writes of a group and commits them; nothing when nothing was kept.
    fn run_and_commit(&self, group: &mut [Box<dyn Member>]) -> Option<Ended> {
        let deadline = group.iter().filter_map(|member| member.deadline()).min();
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
    fn run_members(&self, connection: &mut DatabaseConnection, group: &mut [Box<dyn Member>]) -> Option<Vec<Outcome>> {
        connection.allow_assumptions(true);
        connection.begin(Access::Write).ok()?;
        let mut outcomes = Vec::with_capacity(group.len());
        for member in group.iter_mut() {
            let begun = Instant::now();
            let before = connection.unassumed_statements();
            let session = Session::new(connection, Access::Write, JobTime::of_writing(&self.write_clock));
            let outcome = member.run(&mut session.with_recent_rows(&self.recent).with_list_cache(&self.list_cache));
            self.metrics.job_ended(Access::Write, begun);
            // What one that is not kept has written can only be undone with what the others have.
            if outcome != Outcome::Done && connection.unassumed_statements() != before {
                return None;
            }
            outcomes.push(outcome);
        }
        matches!(connection.assumptions_hold(), Ok(true)).then_some(outcomes)
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Groups")
    }
}

#[cfg(test)]
mod tests;
