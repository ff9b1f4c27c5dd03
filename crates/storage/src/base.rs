//! Types and queries that all other folders use: tokens, senders, causes, rows of trainees, settings,
//! standings and times.

pub mod cause;
pub(crate) mod provider_lock;
pub(crate) mod register_setting;
pub mod sender;
pub(crate) mod standing;
pub(crate) mod timestamps;
pub mod token;
pub(crate) mod trainee_row;
