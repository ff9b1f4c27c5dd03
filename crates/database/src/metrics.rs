//! The metrics of the store: their names, units and meanings.
//!
//! Durations and sizes are recorded as they occur, through handles made once for each store,
//! without a lock. A recorder must be installed before the store is opened; otherwise nothing is
//! recorded. [`publish`] exports current values and totals.

use std::time::Instant;

use metrics::{
    Histogram, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};

use crate::connection::Access;
use crate::stats::{Queue, StoreStats};

const JOB_DURATION: &str = "register_store_job_duration_seconds";
const GROUP_SIZE: &str = "register_store_group_size";
const GROUP_DURATION: &str = "register_store_group_duration_seconds";
const WRITER_WAIT: &str = "register_store_writer_wait_seconds";
const QUEUE_LENGTH: &str = "register_store_queue_length";
const QUEUE_LIMIT: &str = "register_store_queue_limit";
const CONNECTIONS: &str = "register_store_connections";
const CONNECTIONS_LIMIT: &str = "register_store_connections_limit";
const COMMITS: &str = "register_store_commits_total";
const COMMITTED_JOBS: &str = "register_store_committed_jobs_total";
const GROUPS_UNDONE: &str = "register_store_groups_undone_total";
const COLLISIONS: &str = "register_store_collisions_total";

/// The bounds of the buckets for durations, in seconds.
const DURATIONS: &[f64] = &[
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];
/// The bounds of the buckets for the number of jobs in a group.
const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// The histograms, each with the upper bounds of its buckets.
pub const BUCKETS: [(&str, &[f64]); 4] = [
    (JOB_DURATION, DURATIONS),
    (WRITER_WAIT, DURATIONS),
    (GROUP_SIZE, SIZES),
    (GROUP_DURATION, DURATIONS),
];

/// Describes each metric to the recorder.
pub fn describe() {
    describe_histogram!(
        JOB_DURATION,
        Unit::Seconds,
        "Time of a job in its transaction, by access."
    );
    describe_histogram!(
        WRITER_WAIT,
        Unit::Seconds,
        "Time from the arrival of a write to its start: the wait for earlier writes of its provider and for the lock."
    );
    describe_histogram!(GROUP_SIZE, Unit::Count, "Writes in one commit.");
    describe_histogram!(
        GROUP_DURATION,
        Unit::Seconds,
        "Time from the start of a transaction of writes to its end."
    );
    describe_gauge!(QUEUE_LENGTH, Unit::Count, "Jobs that wait to be begun.");
    describe_gauge!(
        QUEUE_LIMIT,
        Unit::Count,
        "The most jobs that may wait; one more is refused."
    );
    describe_gauge!(
        CONNECTIONS,
        Unit::Count,
        "Connections of the pool, by whether a job uses them."
    );
    describe_gauge!(
        CONNECTIONS_LIMIT,
        Unit::Count,
        "The most connections of the pool."
    );
    describe_counter!(COMMITS, Unit::Count, "Commits that succeeded.");
    describe_counter!(
        COMMITTED_JOBS,
        Unit::Count,
        "Jobs that those commits served."
    );
    describe_counter!(
        GROUPS_UNDONE,
        Unit::Count,
        "Transactions of several writes that were lost before their commit; each write then ran alone."
    );
    describe_counter!(
        COLLISIONS,
        Unit::Count,
        "Jobs that collided with others on PostgreSQL and were run again."
    );
}

/// The handles of a store's histograms.
#[derive(Clone)]
pub(crate) struct StoreMetrics {
    reads: Histogram,
    writes: Histogram,
    writer_wait: Histogram,
    group_size: Histogram,
    group_duration: Histogram,
}

impl StoreMetrics {
    /// Handles of the recorder that is installed now.
    pub(crate) fn new() -> Self {
        Self {
            reads: histogram!(JOB_DURATION, "access" => "read"),
            writes: histogram!(JOB_DURATION, "access" => "write"),
            writer_wait: histogram!(WRITER_WAIT),
            group_size: histogram!(GROUP_SIZE),
            group_duration: histogram!(GROUP_DURATION),
        }
    }

    /// Records the start of a write that arrived at this time.
    pub(crate) fn job_begun(&self, arrived: Instant) {
        self.writer_wait.record(arrived.elapsed());
    }

    /// Records the end of a job.
    pub(crate) fn job_ended(&self, access: Access, begun: Instant) {
        let histogram = match access {
            Access::LookUp | Access::Read => &self.reads,
            Access::Write => &self.writes,
        };
        histogram.record(begun.elapsed());
    }

    /// Records the end of a group of this number of jobs.
    pub(crate) fn group_ended(&self, jobs: usize, begun: Instant) {
        self.group_duration.record(begun.elapsed());
        self.group_size
            .record(u32::try_from(jobs).unwrap_or(u32::MAX));
    }
}

impl std::fmt::Debug for StoreMetrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StoreMetrics")
    }
}

/// Records the state of a store and its totals.
pub(crate) fn publish(stats: &StoreStats) {
    let StoreStats {
        written,
        pool_queue,
        writer_queue,
        connections,
        connections_idle,
        connections_limit,
    } = *stats;
    for (name, Queue { length, limit }) in [("pool", pool_queue), ("writer", writer_queue)] {
        gauge!(QUEUE_LENGTH, "queue" => name).set(count(length));
        gauge!(QUEUE_LIMIT, "queue" => name).set(count(limit));
    }
    gauge!(CONNECTIONS, "state" => "idle").set(connections_idle);
    gauge!(CONNECTIONS, "state" => "in_use").set(connections.saturating_sub(connections_idle));
    gauge!(CONNECTIONS_LIMIT).set(connections_limit);
    counter!(COMMITS).absolute(written.groups);
    counter!(COMMITTED_JOBS).absolute(written.jobs);
    counter!(GROUPS_UNDONE).absolute(written.groups_undone);
    counter!(COLLISIONS).absolute(written.collisions);
}

/// Converts a number of jobs to the value of a gauge.
fn count(jobs: usize) -> u32 {
    u32::try_from(jobs).unwrap_or(u32::MAX)
}
