//! Tools that compute documents and checks from the values of API versions.
//!
//! - [`difference`]: the changes that a client meets when it moves to another version, with advice;
//! - [`translate`](mod@translate): translation of a body into the names of another version;
//! - [`shadow`]: whether another version would accept a write;
//! - [`only_use`]: the shared parts that only one version uses;
//! - [`openapi`]: the OpenAPI document of a version;
//! - [`shape_document`]: the parts of a version's contract that OpenAPI cannot express;
//! - [`documents`]: documents generated from the versions.
//!
//! Everything is computed from the values of the versions, outside the path of requests for
//! records.
//! The crate does not depend on a particular version, on HTTP or on a database.
//!
//! # How to add a kind of difference or a generated document
//!
//! A kind of difference:
//!
//! 1. Add a file to `difference/` with a struct for the change and a function `changes(from, to)`.
//!    Each change has an effect, a summary and advice.
//! 2. Add a variant to `ChangeDetail` and a call to `Difference::between` in `difference.rs`. The
//!    compiler then requires the variant in `crates/usage/src/readiness/calculation.rs` and in
//!    `crates/black-box/tests/api/versions/differences.rs`.
//! 3. If the OpenAPI document does not show the difference, add it to `shape_document.rs`. If
//!    only one version may use the new part, add it to `only_use.rs`.
//! 4. Test both directions in `difference/tests.rs`. Run `make docs` (test
//!    `the_committed_documents_say_what_the_code_says`).
//!
//! A generated document:
//!
//! 1. Add a file to `documents/` with a function that returns Markdown: the title, then
//!    [`documents::GENERATED`].
//! 2. For a committed file, add it to `all` in `documents/files.rs` and run `make docs`. For a
//!    page, add a variant to `Document` in `crates/docs-pages/src/documents/text.rs`.

#![warn(missing_docs)]

mod decision;
mod demand;
pub mod difference;
pub mod documents;
pub mod only_use;
pub mod openapi;
pub mod shadow;
pub mod shape_document;
pub mod translate;

pub use difference::Difference;
