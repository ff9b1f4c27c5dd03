//! The Trainee Register's records in SQLite or PostgreSQL.
//!
//! A [`store::Store`] runs jobs: plain functions over a [`session::Session`], each in one transaction, with one `now`.
//! A job reads or writes through the session alone and opens no transaction of its own.
//! What belongs to a provider is reached only through the [`session::ProviderSession`] that authentication returns, so
//! no query can miss its provider.
//!
//! This crate knows neither HTTP nor any version of the API.

pub mod backup;
mod change_generation;
pub mod change_position;
pub mod copy;
mod document;
pub mod environment;
pub mod erasure;
pub mod error;
pub mod history;

pub mod idempotency;
pub mod identifiers;
pub mod imports;
pub mod inspection;
mod locks;
pub mod organisations;
mod pending_result;
pub mod probe;
pub mod providers;
mod register_setting;
pub mod request_log;
mod schema;
pub mod served_addresses;
pub mod server_lock;
pub mod session;
mod sql_dates;
pub mod store;
#[cfg(test)]
mod testing;
mod timestamps;
pub mod tokens;
pub mod trainees;
pub mod usage;
pub mod users;
