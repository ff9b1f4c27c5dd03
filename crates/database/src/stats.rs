//! The current state of a store, and its totals since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

/// A queue of jobs that wait to be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// The number of jobs.
    pub length: usize,
    /// The largest number of jobs.
    pub limit: usize,
}

/// The state of a store, and its totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStats {
    /// Totals of writes.
    pub written: WriterStats,
    /// Jobs that wait to read.
    pub pool_queue: Queue,
    /// Jobs that wait to write.
    pub writer_queue: Queue,
    /// Connections of the pools, used or not.
    pub connections: u32,
    /// Connections that no job uses.
    pub connections_idle: u32,
    /// The largest number of connections.
    pub connections_limit: u32,
}

/// Totals of writes since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterStats {
    /// Commits that succeeded.
    pub groups: u64,
    /// Jobs of these commits, including refused jobs that shared a commit.
    pub jobs: u64,
    /// Transactions of several jobs that were lost before their commit. Each job then ran
    /// alone.
    pub groups_undone: u64,
    /// Jobs that collided with others on PostgreSQL and were run again.
    pub collisions: u64,
}

/// Counts for [`WriterStats`], shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct WriteCounters {
    groups: AtomicU64,
    jobs: AtomicU64,
    groups_undone: AtomicU64,
    collisions: AtomicU64,
}

impl WriteCounters {
    /// Counts a commit of this number of jobs.
    pub(crate) fn committed(&self, jobs: u64) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.jobs.fetch_add(jobs, Ordering::Relaxed);
    }

    /// Counts a transaction of several jobs that was lost before its commit.
    pub(crate) fn undone(&self) {
        self.groups_undone.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a job that collided with another one and runs again.
    pub(crate) fn collided(&self) {
        self.collisions.fetch_add(1, Ordering::Relaxed);
    }

    /// The totals so far.
    pub(crate) fn read(&self) -> WriterStats {
        WriterStats {
            groups: self.groups.load(Ordering::Relaxed),
            jobs: self.jobs.load(Ordering::Relaxed),
            groups_undone: self.groups_undone.load(Ordering::Relaxed),
            collisions: self.collisions.load(Ordering::Relaxed),
        }
    }
}
