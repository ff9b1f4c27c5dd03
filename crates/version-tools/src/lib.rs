//! What is computed about API versions. No request for a record passes through here.
//!
//! - [`difference`]: what changes for a client of one version in another, and what to do about it;
//! - [`compatibility`]: whether a version still keeps the contract that was committed for it;
//! - [`translate`](mod@translate): a body of one version in the names of another;
//! - [`shadow`]: whether a write of one version would be accepted in another;
//! - [`only_use`]: what only one version uses of what versions share;
//! - [`openapi`]: the OpenAPI document of a version;
//! - [`documents`]: the documents that are generated from the versions.
//!
//! Everything follows from the values of the versions. No particular version, no HTTP and no database is known here.

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
