//! What every request for the API passes, and the endpoints.
//!
//! A request takes one path: [`routes`] finds what its path stands for, `dispatch.rs` extracts an
//! `ApiRequest`, and `job.rs` runs the handler of [`endpoints`] in one job of the store. The
//! handler authenticates, reads, decides, saves and writes the response. `error/reply.rs` is the
//! only place where an error of the API becomes a status.
//!
//! The crate knows no field of a record and no particular version.
//!
//! # How to add an endpoint, a query parameter or an error
//!
//! An endpoint:
//!
//! 1. Add its row (recipe in `adapter-kit`), its handler to a file in `endpoints/`, and the
//!    handler's name and [`endpoints::Access`] to `endpoints.rs`. The compiler names the places.
//! 2. If it writes, add a request to `crates/black-box/tests/plans/asking.rs` (test
//!    `every_query_of_every_endpoint_is_served_by_an_index`). Describe it in
//!    `docs/api/4-endpoints.md`.
//!
//! A query parameter:
//!
//! 1. Add it to `query_parameters` of the row, read it in `request/query.rs`, and describe it in
//!    `crates/version-tools/src/openapi/parameters.rs`; otherwise the document says that it is any
//!    text.
//! 2. A filter of the list of trainees is also in `crates/domain/src/listing.rs`, in `finding.rs`
//!    and `counting.rs` of `crates/storage/src/records/trainees/listing/`, and in `lists` of
//!    `plans/asking.rs` (test `every_filter_that_is_described_is_read`).
//!
//! An error:
//!
//! 1. Add a variant to [`error::ApiError`], in the group of who can act: the client or the
//!    operator. The compiler asks for its status in `response_without_version`.
//! 2. Add a status that is new for an endpoint to `crates/version-tools/src/openapi/replies.rs`, or
//!    each test that gets it panics with `not described`; and to `docs/api/7-errors.md`, section 7.
//!
//! Run `make snapshots` after each (test `the_committed_contracts_are_what_is_served`).

pub mod admission;
pub mod deprecation;
mod dispatch;
pub mod endpoints;
pub mod error;
mod idempotency;
mod job;
pub mod parts;
mod record_result;
pub mod rendered_lists;
pub mod request;
pub mod response;
pub mod routes;
pub mod settled_changes;
pub mod state;
