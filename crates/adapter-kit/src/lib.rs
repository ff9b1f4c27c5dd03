//! What an API version is, and everything that follows from one.
//!
//! A version is a value: one constant [`ApiVersion`] in an adapter crate of its own. It says what
//! the fields are called, which rules bind, which codes are accepted and which endpoints exist.
//! Reading a body ([`read`]), writing a response ([`view`]) and a request ([`compose`]), naming a
//! field in an error ([`problems`]), telling two versions apart ([`difference`]), spelling a payload
//! as another version does ([`translate`](mod@translate)), whether a write of one version would pass
//! in another ([`shadow`]), what a version promises ([`openapi`], [`compatibility`]) and the laws that
//! hold for every version ([`laws`]) are computed from that value.
//!
//! The kit deliberately knows no HTTP, no database, and no particular version.

pub mod compatibility;
pub mod compose;
pub mod difference;
pub mod documents;
pub mod endpoint;
pub mod label;
pub mod laws;
pub mod lifecycle;
pub mod names;
pub mod openapi;
pub mod problems;
pub mod read;
pub mod reference;
pub mod shadow;
pub mod shape;
pub mod translate;
pub mod version;
pub mod versions;
pub mod view;

pub use difference::Difference;
pub use endpoint::{Endpoint, Method};
pub use label::{Label, Stage};
pub use shape::{Entry, InputName, Inputs, OwnField, Shape, Source};
pub use version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedErrors, Publication, Shapes, Status, Wire, Words, date,
};
pub use versions::{FormerName, Served, UnknownVersion, Versions};
