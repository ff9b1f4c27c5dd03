//! The commands on records: each function takes what was sent, and gives the record as it is to be
//! stored or every problem.
//!
//! Nothing is looked up and nothing is stored here; identifiers, the caller and the time are
//! arguments.

mod decision;
mod edit;
pub mod erasure;
pub mod registry;
mod transition;

pub use decision::{CreationContext, Decision};
pub use edit::{AuditFields, Editable, add, check_gates, create, sort_nested, update};
pub use transition::{Transition, transition};
