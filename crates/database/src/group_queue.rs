//! The writes that wait to share a transaction.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::job::Job;

/// The most writes that share a transaction.
const MAX_GROUP: usize = 32;

/// The writes that wait for a group.
#[derive(Default)]
pub(crate) struct GroupQueue(Mutex<Waiting>);

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
pub(crate) struct GroupMember {
    number: u64,
    /// Until when it must have ended.
    pub(crate) deadline: Option<Instant>,
    pub(crate) job: Box<dyn Job>,
}

impl GroupQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A poisoned lock is no harm: no code that holds it can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the write that came last.
    pub(crate) fn last(&self) -> u64 {
        self.lock().last
    }

    /// Whether a write waits that came no later than the one with the number.
    pub(crate) fn hold_any_until(&self, number: u64) -> bool {
        self.lock().members.front().is_some_and(|first| first.number <= number)
    }

    /// Lets a write wait. Returns its number, and whether its caller must lead.
    pub(crate) fn add(&self, job: Box<dyn Job>, deadline: Option<Instant>) -> (u64, bool) {
        let mut waiting = self.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.members.push_back(GroupMember { number, deadline, job });
        (number, !mem::replace(&mut waiting.is_led, true))
    }

    /// Takes a write out, unless a group has it.
    pub(crate) fn remove(&self, number: u64) -> Option<Box<dyn Job>> {
        let members = &mut self.lock().members;
        let at = members.iter().position(|other| other.number == number)?;
        members.remove(at).map(|member| member.job)
    }

    /// The next group. When there is none, nobody leads any more.
    pub(crate) fn next(&self) -> Vec<GroupMember> {
        let mut waiting = self.lock();
        let size = waiting.members.len().min(MAX_GROUP);
        waiting.is_led = size > 0;
        waiting.members.drain(..size).collect()
    }
}

impl fmt::Debug for GroupQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GroupQueue")
    }
}
