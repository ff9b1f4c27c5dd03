//! Trainees, their history, and the data of requests that change them. Uses `base` only.

pub(crate) mod change_generation;
pub mod erasure;
pub mod history;
pub mod idempotency;
pub mod organisations;
pub mod positions;
pub mod trainees;
