//! Registering, reading and changing trainees.

mod accepted_values;
mod batch;
mod clauses;
mod courses;
mod creating;
mod duplicates;
mod enhanced_errors;
mod error_entries;
mod messages;
mod missing_data;
mod mistakes_together;
mod nested;
mod partners;
pub(super) mod properties;
mod read_only_names;
mod sending_back;
pub(super) mod ten_mistakes;
mod updating;
