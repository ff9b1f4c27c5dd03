//! Runs jobs in transactions, alone or in groups, and decides when a job runs again.

pub mod job;
pub mod job_times;
pub(crate) mod look_ups;
pub(crate) mod pool;
pub(crate) mod runs;
pub mod transaction;
pub(crate) mod write_queue;
