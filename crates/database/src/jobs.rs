//! Jobs: how one runs in a transaction, alone or with others, and when it runs again.

pub mod group_commit;
pub mod group_queue;
pub mod job;
pub mod job_times;
pub mod look_ups;
pub mod pool;
pub mod runs;
pub mod transaction;
