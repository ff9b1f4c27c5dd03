//! What is computed about versions: differences, compatibility, translation, OpenAPI, generated
//! documents, shadow checks.
//!
//! - [`difference`]: what changes for a client of one version in another, and what to do about it;
//! - [`compatibility`]: whether a version still keeps the contract that was committed for it;
//! - [`translate`](mod@translate): a body of one version in the names of another;
//! - [`shadow`]: whether a write of one version would be accepted in another;
//! - [`only_use`]: what only one version uses of what versions share;
//! - [`openapi`]: the OpenAPI document of a version;
//! - [`documents`]: the documents that are generated from the versions.
//!
//! Everything follows from the values of the versions. No request for a record passes through here.
//! The crate knows no particular version, no HTTP and no database.
//!
//! # How to add a kind of difference or a generated document
//!
//! A kind of difference:
//!
//! 1. Add a file to `difference/` with the change as a struct and a function `changes(from, to)`.
//!    Each change has an effect, a summary and an advice.
//! 2. Add a variant to `ChangeDetail` and a call to `Difference::between` in `difference.rs`. The
//!    compiler asks for the variant in `crates/usage/src/readiness/calculation.rs` and in
//!    `crates/black-box/tests/api/versions/differences.rs`.
//! 3. If the OpenAPI document does not show the difference, add it to `compatibility/shape.rs`. Add
//!    what only one version may use to `only_use.rs`.
//! 4. Test both directions in `difference/tests.rs`. Run `make docs` (test
//!    `the_committed_documents_say_what_the_code_says`).
//!
//! A generated document:
//!
//! 1. Add a file to `documents/` with a function that returns Markdown: the title, then
//!    [`documents::GENERATED`].
//! 2. For a committed file, add it to `all` in `documents/files.rs` and run `make docs`. For a
//!    page, add a variant to `Document` in `crates/docs-pages/src/documents/text.rs`.

pub mod compatibility;
mod decision;
mod demand;
pub mod difference;
pub mod documents;
pub mod only_use;
pub mod openapi;
pub mod shadow;
pub mod translate;

pub use difference::Difference;
