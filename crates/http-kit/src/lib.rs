//! HTTP as such, without any particular version: bodies, replies, entity tags, rate limits,
//! addresses of clients, compression, connections, TLS, metrics and the log.
//!
//! Each module has its own small error. What an error means to a client is decided in the crates
//! above. The crate knows no handler, no page and no field of a record.
//!
//! # How to add a header for every response, a metric or a limit
//!
//! A header for every response:
//!
//! 1. A constant one: `DefaultHeaders` in `serve.rs` and `operator_listener.rs` of
//!    `crates/server/src/operations/`. One that depends on the request:
//!    `crates/gateway/src/access_log.rs`, like `X-Request-Id`. For JSON replies only: `From<ApiResponse>` in
//!    `crates/gateway/src/response.rs`. For pages only: `headers` in `responses/page.rs`.
//! 2. Describe it in `docs/api/6-requests-and-replies.md`, section 6.1. Test it like
//!    `every_reply_names_its_request` (`crates/server/tests/program/observing/logs.rs`); no test
//!    finds a missing one.
//!
//! A metric:
//!
//! 1. Add the name, a line in `describe`, a function that counts, and the first series in `start`
//!    to `metrics.rs`. The values of labels come from an enum or a table, never from a request.
//! 2. Add a row to `docs/monitoring.md` (test `document_lists_every_metric`), and
//!    a new label or value to `crates/server/tests/program/observing/series.rs`.
//!
//! A limit:
//!
//! 1. Add a file to `limits/`, or reuse `ConcurrencyLimit`, `Permits` or `RateLimit`. Keep it
//!    in `crates/gateway/src/state.rs`; an option sets it in
//!    `crates/server/src/cli/serve/limits.rs`.
//! 2. Refuse with a variant of `ApiError` (`crates/gateway/src/error.rs`). Add a row to
//!    `docs/api/8-limits.md`, section 8, and a test to `crates/black-box/tests/api/http/limits.rs`.

pub mod connections;
pub mod cursor;
pub mod error_chain;
pub mod limits;
pub mod logging;
pub mod metrics;
pub mod paths;
pub mod requests;
pub mod responses;
pub mod tls;
