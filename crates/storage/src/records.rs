//! Trainees, their history, and the data of requests that change them. Uses `base` only.

pub(crate) mod change_generation;
pub mod change_position;
pub mod erasure;
pub mod history;
pub mod idempotency;
pub mod organisations;
pub mod trainees;
