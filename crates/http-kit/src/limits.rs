//! How often, how much and how long a client may ask.

pub mod concurrency_limit;
pub mod long_jobs;
pub mod long_poll;
pub mod memory_budget;
pub mod rate_limit;
