//! Limits: how often, how much and for how long clients may use the server.

pub mod concurrency_limit;
pub mod long_jobs;
pub mod permits;
pub mod rate_limit;
