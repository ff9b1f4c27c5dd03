//! What is computed about versions, and what holds between them.

mod across_versions;
mod conformance;
mod contracts;
mod deprecation;
mod differences;
mod documents;
mod former_names;
mod identifiers_and_filters;
mod names;
mod newcomers;
mod openapi;
pub(super) mod snapshots;
mod sources;
mod translating;
