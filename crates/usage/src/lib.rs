//! Reports on the record of requests: usage, and readiness to migrate. Pages, commands and endpoints
//! show them.
//!
//! # How to add a fact to a report
//!
//! Record it first (`crates/gateway/src/recording.rs`). Then add it up in `counts.rs`, and show it in
//! `report.rs` or `readiness.rs`.

mod counts;
pub mod readiness;
pub mod report;
