//! Limits: how often, how much and for how long clients may use the server.

pub mod concurrency_limit;
pub mod long_jobs;
pub mod long_poll;
pub mod memory_budget;
pub mod rate_limit;
