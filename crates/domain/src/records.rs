//! The records: a trainee with placements and degrees, the inputs of transitions, the organisations
//! that they name, the changes between two records, and what a rule sees of them.

pub mod candidate;
pub mod context;
pub mod degree;
pub mod history;
pub mod organisations;
pub mod placement;
pub mod record;
pub mod trainee;
pub mod transition;
