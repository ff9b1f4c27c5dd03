//! What an API version is, and what a request of one passes through.
//!
//! A version is a value: one constant [`ApiVersion`] in its own adapter crate. It says what
//! the fields are called, which rules bind, which codes are accepted and which endpoints exist.
//! Reading a body ([`read`]), writing a response ([`view`]) and a request ([`compose`]) and naming a
//! field in an error ([`problems`]) follow from that value. What is computed about versions rather than for a request is
//! in the crate `version-tools`; what every version must pass is in the crate `conformance`.
//!
//! The kit deliberately knows no HTTP, no database, and no particular version.

pub mod body_kind;
pub mod client_text;
pub mod compose;
pub mod endpoint;
mod known_names;
pub mod label;
pub mod lifecycle;
pub mod names;
pub mod other_names;
pub mod problems;
pub mod read;
pub mod reference;
pub mod shape;
pub mod version;
pub mod versions;
pub mod view;
pub mod wire;

pub use endpoint::{Endpoint, Method};
pub use known_names::changed_names;
pub use label::{Label, Stage};
pub use other_names::FormerName;
pub use shape::{Entry, InputName, Inputs, Shape, Source, VersionField};
pub use version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedErrors, NestedVisibility, Publication, Shapes, Status,
    Vocabulary, date,
};
pub use versions::{Served, UnknownVersion, Versions};
pub use wire::WireRecord;
