//! Runs jobs on SQLite or PostgreSQL, each in one transaction, and reports the outcome.
//!
//! A [`database::Database`] takes jobs from any thread. A job is a function over a
//! [`jobs::transaction::Transaction`]. The crate opens and pools connections, groups commits,
//! decides whether a job is run again, and gives each change its date.
//!
//! The crate contains no table, no HTTP and no version of the API.
//!
//! # How to add a way to run a job, or a metric
//!
//! A way to run a job, such as `look_up`:
//!
//! 1. Add a function to `database.rs` that passes the outcome to `last_fault.note`, and the run to
//!    `jobs/`. `jobs/pool.rs` hands out permits, `jobs/job_times.rs` measures, and `jobs/runs.rs`
//!    decides whether a job is run again. If the transaction needs another kind of access, add a
//!    variant to [`connection::Access`].
//! 2. Offer it over a session in `crates/storage/src/store.rs`. Requests choose it by `JobMode` in
//!    `crates/gateway/src/job.rs`.
//! 3. Test it on both databases in `crates/storage/src/store/`, such as `writer_tests.rs`;
//!    `round_trips.rs` there counts its round trips.
//!
//! A metric:
//!
//! 1. Add the name, a line in `describe` and the bounds of a histogram (`BUCKETS`) to `metrics.rs`.
//!    Record a histogram by a handle in `StoreMetrics`; count anything else in `stats.rs` and
//!    export it in `publish`.
//! 2. Add a row to `docs/monitoring.md` (test `document_lists_every_metric`), and
//!    a new label or value to `crates/server/tests/program/observing/series.rs`.

#![warn(missing_docs)]

pub mod catalog;
pub mod clock;
pub mod connection;
pub mod database;
pub mod error;
pub mod jobs;
pub mod last_fault;
pub mod metrics;
pub mod options;
pub mod owner_only;
pub mod positions;
pub mod stats;
pub mod writer;
