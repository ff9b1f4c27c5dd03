//! Jobs: how one runs in a transaction, alone or with others, and when it runs again.

pub(crate) mod group_commit;
pub(crate) mod group_queue;
pub mod job;
pub mod job_times;
pub(crate) mod look_ups;
pub(crate) mod pool;
pub(crate) mod runs;
pub mod transaction;
