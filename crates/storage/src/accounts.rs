//! Providers, their tokens, and the users of the settings pages. Uses `records`.

pub mod providers;
pub mod tokens;
pub mod users;
