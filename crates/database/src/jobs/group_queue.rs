//! The writes that wait to share a transaction.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fmt, mem};

use crate::jobs::job::Job;

/// The most writes that share a transaction.
const MAX_GROUP: usize = 32;

/// The writes that wait for a group.
#[derive(Default)]
pub(crate) struct GroupQueue(Mutex<Waiting>);

/// The content of a [`GroupQueue`].
#[derive(Default)]
struct Waiting {
    /// Writes that no group has taken yet, in the order of their arrival.
    members: VecDeque<GroupMember>,
    /// The number of the last write that arrived.
    last: u64,
    /// Whether a thread is taking the writes.
    is_led: bool,
}

/// A write that waits for a group.
pub(crate) struct GroupMember {
    number: u64,
    /// The deadline of the write.
    pub(crate) deadline: Option<Instant>,
    pub(crate) job: Box<dyn Job>,
}

impl GroupQueue {
    /// Locks the queue. No code that holds the lock can panic, so a poisoned lock guards a complete
    /// value.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last write that arrived.
    pub(crate) fn last(&self) -> u64 {
        self.lock().last
    }

    /// Whether a write with this number or a lower one waits.
    pub(crate) fn hold_any_until(&self, number: u64) -> bool {
        self.lock()
            .members
            .front()
            .is_some_and(|first| first.number <= number)
    }

    /// Adds a write. Returns its number, and whether the caller must start a thread that takes
    /// writes.
    pub(crate) fn add(&self, job: Box<dyn Job>, deadline: Option<Instant>) -> (u64, bool) {
        let mut waiting = self.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.members.push_back(GroupMember {
            number,
            deadline,
            job,
        });
        let must_lead = !mem::replace(&mut waiting.is_led, true);
        (number, must_lead)
    }

    /// Removes a write and returns its job; `None` if a group has taken it.
    pub(crate) fn remove(&self, number: u64) -> Option<Box<dyn Job>> {
        let members = &mut self.lock().members;
        let at = members.iter().position(|other| other.number == number)?;
        members.remove(at).map(|member| member.job)
    }

    /// Takes the next group, up to [`MAX_GROUP`] writes. After an empty group the next write starts
    /// a thread again.
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
