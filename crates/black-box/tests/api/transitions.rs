//! Deferring, withdrawing and recommending trainees, and what the registry does.

mod history;
mod registry;
pub(crate) mod trainee_lifecycle;
