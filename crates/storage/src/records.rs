//! The records: trainees, their history, and what changes them. Above `base`.

pub(crate) mod change_generation;
pub mod change_position;
pub mod erasure;
pub mod history;
pub mod idempotency;
pub mod organisations;
pub mod trainees;
