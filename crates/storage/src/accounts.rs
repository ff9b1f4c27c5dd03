//! Providers, their tokens, and the users of the settings. Above `records`.

pub mod providers;
pub mod tokens;
pub mod users;
