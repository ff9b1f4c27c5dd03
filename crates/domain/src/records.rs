//! Trainees with placements and degrees, inputs of transitions, organisations, changes between
//! records, and the context of rules.

pub mod candidate;
pub mod context;
pub mod degree;
pub mod history;
pub mod organisations;
pub mod placement;
pub mod record;
pub mod trainee;
pub mod transition;
