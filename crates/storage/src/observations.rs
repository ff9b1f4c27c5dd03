//! Requests, usage counts and imports. Uses `accounts`.

pub mod imports;
pub mod request_log;
pub mod usage;
