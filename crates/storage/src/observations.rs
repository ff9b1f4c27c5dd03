//! What was requested and imported. Above `accounts`.

pub mod imports;
pub mod request_log;
pub mod usage;
