//! The record of requests, and imports. Uses `accounts`.

pub mod imports;
pub mod requests;
pub mod totals;
