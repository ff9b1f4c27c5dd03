//! Providers, their tokens, the users of the settings pages, their uploads, and mails to them. Uses `records`.

pub mod mails;
pub mod providers;
pub mod tokens;
pub mod uploads;
pub mod users;
