//! Counts and logs of requests: usage, readiness to migrate, shadow checks and the log of requests.
//!
//! The gateway passes in observations of requests; pages and commands load reports. Counts and logs
//! contain no values of bodies and no names that a client made up. The crate does not depend on
//! handlers, pages or commands.
//!
//! # How to add a count, or a problem in the request log
//!
//! A count:
//!
//! 1. Observe it in `observation.rs` and record it in `recorder.rs`. Add its key, from a bounded
//!    set, to `Counts`, `PendingCounts` and `batch` in `counts.rs`.
//! 2. Add it to `UsageBatch` in `crates/storage/src/observations/usage.rs`, with its table and its
//!    removal (`remove_old_usage`).
//! 3. Show it in `report.rs` or `readiness/`, and describe it in `docs/usage.md`.
//! 4. Test it in `counts/tests.rs`. Add its texts to `stored_texts` in
//!    `crates/black-box/tests/api/usage/counts.rs`, so that
//!    `only_names_known_to_the_program_are_stored_from_clients` checks them.
//!
//! A problem in the request log:
//!
//! 1. Return it from `ApiError::logged_problems` in `crates/gateway/src/error.rs`. The match there
//!    has a default branch, so the compiler does not find missing variants.
//! 2. Build it with a constructor of [`RequestProblems`](request_log::problems::RequestProblems),
//!    only from codes and fields of the program. `request_log/filter.rs` accepts the codes of
//!    `domain::Code`.
//! 3. Test it in `crates/black-box/tests/api/request_log.rs`, also in
//!    `client_invented_names_are_not_logged_unlike_other_versions_names`.

pub mod chart;
pub mod counts;
pub mod flush;
pub mod months;
pub mod observation;
pub mod readiness;
pub mod recorder;
pub mod report;
pub mod request_log;
pub mod shadow_checks;
