//! The jobs that wait to write, in the order of their arrival for each writer.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::DatabaseError;
use crate::jobs::job::Job;
use crate::jobs::runs::RerunBudget;
use crate::stats::Queue;

/// A writer: its jobs run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WriterKey {
    /// The one writer of a SQLite database.
    Database,
    /// The writer of the provider with this key.
    Provider(i64),
    /// The writer of the one job with this number, which waits for no other job.
    Job(u64),
}

impl WriterKey {
    /// The provider whose records the jobs of the writer change; `None` for several or none.
    pub(crate) fn provider(self) -> Option<i64> {
        match self {
            Self::Provider(provider) => Some(provider),
            Self::Database | Self::Job(_) => None,
        }
    }
}

/// A job that waits to write.
pub(crate) struct QueuedJob {
    pub(crate) number: u64,
    /// The provider whose records the job changes.
    pub(crate) provider: Option<i64>,
    pub(crate) job: Box<dyn Job>,
    /// When the job was added.
    pub(crate) arrived: Instant,
    /// When the job fails unless it has begun.
    patience_end: Instant,
    pub(crate) runs: RerunBudget,
    /// Whether the job runs alone in its transaction, because an earlier transaction was lost.
    pub(crate) runs_alone: bool,
}

/// The jobs that wait for each writer.
pub(crate) struct WriteQueue {
    state: Mutex<State>,
    /// Notified when a writer has jobs, and when the queue is closed.
    changed: Condvar,
    limit: usize,
}

#[derive(Default)]
struct State {
    /// The waiting jobs of each writer that has jobs or is served by a thread.
    writers: HashMap<WriterKey, VecDeque<QueuedJob>>,
    /// The writers with jobs that no thread serves, in the order of their turn.
    ready: VecDeque<WriterKey>,
    /// The number of waiting jobs.
    length: usize,
    /// The number of the last job that was added.
    last: u64,
    is_closed: bool,
}

impl WriteQueue {
    /// An empty queue for at most `limit` waiting jobs.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            limit,
        }
    }

    /// Locks the state. No code that holds the lock can panic, so a poisoned lock guards a complete
    /// value.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job that changes records of `provider`. `writer` is `None` for its own writer.
    /// Returns the writer and the number of the job.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::QueueFull`].
    pub(crate) fn add(
        &self,
        writer: Option<WriterKey>,
        provider: Option<i64>,
        job: Box<dyn Job>,
        patience_end: Instant,
        runs: RerunBudget,
    ) -> Result<(WriterKey, u64), DatabaseError> {
        let mut state = self.lock();
        if state.length >= self.limit {
            return Err(DatabaseError::QueueFull);
        }
        state.length += 1;
        state.last += 1;
        let number = state.last;
        let key = writer.unwrap_or(WriterKey::Job(number));
        let queued = QueuedJob {
            number,
            provider,
            job,
            arrived: Instant::now(),
            patience_end,
            runs,
            runs_alone: false,
        };
        match state.writers.entry(key) {
            // A thread serves the writer, or the writer has its turn.
            Entry::Occupied(mut waiting) => waiting.get_mut().push_back(queued),
            Entry::Vacant(waiting) => {
                waiting.insert(VecDeque::from([queued]));
                state.ready.push_back(key);
                self.changed.notify_one();
            }
        }
        Ok((key, number))
    }

    /// Waits for a writer with jobs. The caller must call [`WriteQueue::end_turn`]. `None` when the
    /// queue is closed and empty.
    pub(crate) fn next_writer(&self) -> Option<WriterKey> {
        let mut state = self.lock();
        loop {
            if let Some(writer) = state.ready.pop_front() {
                return Some(writer);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the next job of a writer, and whether more jobs wait; `None` if no job waits that may
    /// share the transaction.
    pub(crate) fn take(&self, writer: WriterKey, is_first: bool) -> Option<(QueuedJob, bool)> {
        let mut state = self.lock();
        let waiting = state.writers.get_mut(&writer)?;
        let next = waiting.pop_front_if(|next| is_first || !next.runs_alone)?;
        let has_more = !waiting.is_empty();
        state.length -= 1;
        Some((next, has_more))
    }

    /// Puts jobs back to the front, in their order.
    pub(crate) fn put_back(&self, writer: WriterKey, jobs: Vec<QueuedJob>) {
        let mut state = self.lock();
        state.length += jobs.len();
        let waiting = state.writers.entry(writer).or_default();
        jobs.into_iter()
            .rev()
            .for_each(|job| waiting.push_front(job));
    }

    /// Removes a job that still waits; `None` if the job was begun.
    pub(crate) fn remove(&self, writer: WriterKey, number: u64) -> Option<QueuedJob> {
        let mut state = self.lock();
        let waiting = state.writers.get_mut(&writer)?;
        let at = waiting.iter().position(|job| job.number == number)?;
        let removed = waiting.remove(at)?;
        state.length -= 1;
        Some(removed)
    }

    /// Removes the jobs of a writer that have waited for too long.
    pub(crate) fn remove_overdue(&self, writer: WriterKey) -> Vec<QueuedJob> {
        let now = Instant::now();
        let mut state = self.lock();
        let Some(waiting) = state.writers.get_mut(&writer) else {
            return Vec::new();
        };
        let (overdue, left): (VecDeque<_>, VecDeque<_>) =
            waiting.drain(..).partition(|job| job.patience_end <= now);
        *waiting = left;
        state.length -= overdue.len();
        overdue.into()
    }

    /// Ends the turn of a writer. A writer with jobs gets another turn behind the others.
    pub(crate) fn end_turn(&self, writer: WriterKey) {
        let mut state = self.lock();
        if let Entry::Occupied(waiting) = state.writers.entry(writer) {
            if waiting.get().is_empty() {
                waiting.remove();
            } else {
                state.ready.push_back(writer);
                self.changed.notify_one();
            }
        }
    }

    /// Whether no job waits or runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().writers.is_empty()
    }

    /// The number of waiting jobs, and its limit.
    pub(crate) fn state(&self) -> Queue {
        Queue {
            length: self.lock().length,
            limit: self.limit,
        }
    }

    /// Ends the threads when no job waits.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl fmt::Debug for WriteQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WriteQueue")
    }
}
