//! API versions as values: reading requests, writing responses and naming fields in errors.
//!
//! A version is one constant [`ApiVersion`] in its own adapter crate. The constant lists the names
//! of fields, the rules, the accepted codes and the endpoints. This crate reads bodies ([`read`]),
//! writes responses ([`view`]) and requests ([`compose`]), and words errors ([`problems`]) for any
//! such constant.
//!
//! Related crates: `version-tools` compares and documents versions, and `conformance` tests every
//! version.
//!
//! The crate does not depend on HTTP, on a database or on any version.
//!
//! # How to add an endpoint or a difference between versions
//!
//! An endpoint (its row has everything that is equal in all versions):
//!
//! 1. Add an entry to `endpoints!` in `endpoint.rs`. The compiler then requires a handler in
//!    `crates/gateway/src/endpoints.rs`, and a schema and an example of a new
//!    [`ReplyBody`](endpoint::ReplyBody) in `crates/version-tools/src/openapi/`.
//! 2. Add the endpoint to `endpoints.available` of a version, or to `Endpoint::ADDITIONS` for all
//!    versions. Otherwise no version serves it.
//! 3. Run `make snapshots` (test `the_committed_contracts_are_what_is_served`).
//!
//! A difference between versions:
//!
//! 1. Add a field to [`ApiVersion`] in `version.rs`. The compiler then requires its value in each
//!    adapter and in `crates/conformance/src/sample_version.rs`.
//! 2. Use the field in `read/`, `view.rs`, `compose.rs` or `problems.rs`. Do not compare labels.
//! 3. Report the field in `difference/`, `shape_document.rs` and `only_use.rs` of
//!    `version-tools`. No test detects a missing report: add a case to
//!    `each_form_of_a_value_is_in_the_document`.
//! 4. Add a row to the table in `docs/adding-a-version.md`.

#![warn(missing_docs)]

pub mod body_kind;
pub mod compose;
pub mod endpoint;
mod error_body;
pub mod filters;
pub mod form;
pub mod identifiers;
pub mod label;
pub mod lifecycle;
pub mod names;
pub mod problem_form;
pub mod problems;
pub mod read;
pub mod read_only;
pub mod reference;
pub mod shape;
pub mod version;
pub mod versions;
pub mod view;
pub mod wire;
pub mod wire_form;

pub use endpoint::{Endpoint, EndpointRow, Method};
pub use filters::{Filter, FilterForms};
pub use label::{Label, Stage};
pub use names::known_names::changed_names;
pub use names::other_names::FormerName;
pub use problem_form::ProblemForm;
pub use shape::{Entry, InputName, Inputs, Shape, Source, VersionField};
pub use version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedErrors, NestedShapes, NestedVisibility,
    Publication, Shapes, Status, Vocabulary, date,
};
pub use versions::{Served, UnknownVersion, Versions};
pub use wire::WireRecord;
pub use wire_form::{Envelope, PageMember, PageSize, Wire};
