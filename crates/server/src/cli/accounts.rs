//! Commands about providers, tokens, users and requests.

pub(crate) mod actor;
pub(crate) mod providers;
pub(crate) mod requests;
pub(crate) mod tokens;
pub(crate) mod usage;
pub(crate) mod users;
