//! Commands about providers, tokens and users, and about their activity.

pub(crate) mod actor;
pub(crate) mod providers;
pub(crate) mod request_runs;
pub(crate) mod requests;
pub(crate) mod tokens;
pub(crate) mod usage;
pub(crate) mod users;
