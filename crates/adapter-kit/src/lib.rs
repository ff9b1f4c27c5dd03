//! What an API version is, and everything that follows from one.
//!
//! A version is a value: one constant [`ApiVersion`] in its own adapter crate. It says what the
//! fields are called, which rules bind, which codes are accepted and which endpoints exist. Reading
//! a body ([`read`]), writing a response ([`view`]) and a request ([`compose`]) and naming a field
//! in an error ([`problems`]) follow from that value. What is computed about versions rather than
//! for a request is in the crate `version-tools`; what every version must pass is in the crate
//! `conformance`.
//!
//! The kit deliberately knows no HTTP, no database, and no particular version.
//!
//! # How to add an endpoint's row or a difference between versions
//!
//! The row of an endpoint, with what does not differ between versions:
//!
//! 1. Add an entry to `endpoints!` in `endpoint.rs`. The compiler asks for its handler in
//!    `crates/gateway/src/endpoints.rs`, and for the schema and example of a new
//!    [`ReplyBody`](endpoint::ReplyBody) in `crates/version-tools/src/openapi/`.
//! 2. Add the endpoint to `endpoints.available` of a version, or to `Endpoint::ADDITIONS` for all
//!    of them. Otherwise no version serves it.
//! 3. Run `make snapshots` (test `the_committed_contracts_are_what_is_served`).
//!
//! A way for versions to differ:
//!
//! 1. Add a field to [`ApiVersion`] in `version.rs`. The compiler asks for its value in each
//!    adapter and in `crates/conformance/src/sample_version.rs`.
//! 2. Use it in `read/`, `view.rs`, `compose.rs` or `problems.rs`. Do not compare labels.
//! 3. Report it in `difference/`, `compatibility/shape.rs` and `only_use.rs` of `version-tools`. No
//!    test finds a missing report: add an edit to
//!    `crates/black-box/tests/api/versions/contracts/edits.rs`.
//! 4. Add a row to the table in `docs/adding-a-version.md`.

pub mod body_kind;
pub mod compose;
pub mod endpoint;
pub mod label;
pub mod lifecycle;
pub mod names;
pub mod problems;
pub mod read;
pub mod reference;
pub mod shape;
pub mod version;
pub mod versions;
pub mod view;
pub mod wire;
pub mod wire_form;

pub use endpoint::{Endpoint, Method};
pub use label::{Label, Stage};
pub use names::known_names::changed_names;
pub use names::other_names::FormerName;
pub use shape::{Entry, InputName, Inputs, Shape, Source, VersionField};
pub use version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedErrors, NestedShapes, NestedVisibility,
    Publication, Shapes, Status, Vocabulary, date,
};
pub use versions::{Served, UnknownVersion, Versions};
pub use wire::WireRecord;
pub use wire_form::{Envelope, PageMember, ProblemForm, Wire};
