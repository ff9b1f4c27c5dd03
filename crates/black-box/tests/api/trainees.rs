//! Registering, reading and changing trainees.

mod accepted_values;
mod batch;
mod clauses;
mod creating;
mod duplicates;
mod enhanced_errors;
mod messages;
pub(super) mod properties;
pub(super) mod ten_mistakes;
mod updating;
