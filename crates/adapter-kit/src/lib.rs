//! What an API version is, and what a request of one passes through.
//!
//! A version is a value: one constant [`ApiVersion`] in an adapter crate of its own. It says what
//! the fields are called, which rules bind, which codes are accepted and which endpoints exist.
//! Reading a body ([`read`]), writing a response ([`view`]) and a request ([`compose`]) and naming a
//! field in an error ([`problems`]) follow from that value. What is computed about versions rather than for a request is
//! in the crate `version-tools`; what must hold for every version is in the crate `conformance`.
//!
//! The kit deliberately knows no HTTP, no database, and no particular version.

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

pub use endpoint::{Endpoint, Method};
pub use label::{Label, Stage};
pub use shape::{Entry, InputName, Inputs, OwnField, Shape, Source};
pub use version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedErrors, Publication, Shapes, Status, Wire, Words, date,
};
pub use versions::{FormerName, Served, UnknownVersion, Versions};
