//! Runs jobs on SQLite or PostgreSQL, each in one transaction, and reports the outcome.
//!
//! A [`database::Database`] takes jobs from any thread. A job is a function over a [`transaction::Transaction`]. The crate opens
//! and pools connections, groups commits, decides whether a job is run again, and gives each change its date. The crate knows no
//! table.

pub mod catalog;
pub mod clock;
pub mod connection;
pub mod database;
pub mod error;
mod group_commit;
mod group_queue;
mod job;
pub mod job_times;
pub mod last_fault;
mod look_ups;
pub mod metrics;
pub mod options;
pub mod owner_only;
mod pool;
mod runs;
pub mod stats;
pub mod transaction;
pub mod writer;
