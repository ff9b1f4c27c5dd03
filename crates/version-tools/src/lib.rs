//! What is computed about API versions, for people and for programs: no request for a record passes through here.
//!
//! - [`difference`]: what a client of one version meets in another, and what to do about it;
//! - [`compatibility`]: whether a version still keeps the contract that was committed for it;
//! - [`translate`](mod@translate): a payload of one version as another version spells it;
//! - [`shadow`]: whether a write of one version would be accepted in another;
//! - [`openapi`]: the OpenAPI document of a version;
//! - [`documents`]: the documents that are generated from the versions.
//!
//! Everything follows from the values of the versions. No particular version, no HTTP and no database is known here.

pub mod compatibility;
pub mod difference;
pub mod documents;
pub mod openapi;
pub mod shadow;
pub mod translate;

pub use difference::Difference;
