//! The commands on records. Each function takes a parsed request and returns the record to store,
//! or all problems.
//!
//! The functions do not access storage. Identifiers, the provider and the time are arguments.

mod decision;
mod edit;
pub mod erasure;
pub mod registry;
mod transition;

pub use decision::{CreationContext, Decision};
pub use edit::{AuditFields, Editable, add, check_gates, create, sort_nested, update};
pub use transition::{Transition, transition};
