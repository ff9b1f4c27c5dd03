//! Processes requests for the API, and contains the endpoints.
//!
//! [`routes`] finds the endpoint of a request, `dispatch.rs` has the five steps of its answer, and
//! `job.rs` authenticates the sender and runs the handler of [`endpoints`] in one job of the
//! store. The handler reads the body, decides, saves and writes the response. `error/reply.rs` is
//! the only place where an error of the API becomes a status.
//!
//! The crate contains no names of fields or of particular versions.
//!
//! # How to add an endpoint, a query parameter or an error
//!
//! An endpoint:
//!
//! 1. Add its row (recipe in `adapter-kit`), its handler to a file in `endpoints/`, and the
//!    handler's name and [`endpoints::Access`] to `endpoints.rs`. The compiler reports the places.
//! 2. If it writes, add a request to `crates/black-box/tests/plans/asking.rs` (test
//!    `every_query_of_every_endpoint_is_served_by_an_index`). Describe it in
//!    `docs/api/4-endpoints.md`.
//!
//! A query parameter:
//!
//! 1. Add it to `query_parameters` of the row, read it in `request/query.rs`, and describe it in
//!    `crates/version-tools/src/openapi/parameters.rs`. Otherwise the OpenAPI document describes it
//!    as any text.
//! 2. Add a filter of the list of trainees also to `crates/domain/src/listing.rs`, to
//!    [`adapter_kit::Filter`] so that versions can write it in another form, to `finding.rs` and
//!    `counting.rs` of `crates/storage/src/records/trainees/listing/`, and to `lists` of
//!    `plans/asking.rs` (test `every_filter_that_is_described_is_read`).
//!
//! An error:
//!
//! 1. Add a variant to [`error::ApiError`], in the group of errors that the client can correct, or
//!    of failures of the service. The compiler requires its status in `error/reply.rs`.
//! 2. Add a status that is new for an endpoint to `crates/version-tools/src/openapi/replies.rs`, or
//!    each test that gets it panics with `not described`; and to `docs/api/7-errors.md`, section 7.
//!
//! Run `make snapshots` after each (test `the_committed_contracts_are_what_is_served`).

pub mod access_log;
pub mod admission;
pub mod deprecation;
mod dispatch;
pub mod endpoints;
pub mod error;
mod idempotency;
mod job;
pub mod long_polls;
mod outcome;
pub mod parts;
pub mod recording;
pub mod rendered_lists;
pub mod request;
mod respond;
pub mod response;
pub mod routes;
pub mod state;
