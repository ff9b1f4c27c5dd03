//! The Trainee Register's records in SQLite or PostgreSQL.
//!
//! A [`store::Store`] runs jobs: plain functions over a [`session::Session`], each in one
//! transaction, with one `now`. A job reads and writes through its session only and does not open
//! transactions. Records of a provider are accessible only through the
//! [`session::ProviderSession`] that authentication returns, so every query of them filters by the
//! provider.
//!
//! This crate depends neither on HTTP nor on any version of the API.
//!
//! # How to add a query or a table
//!
//! A query:
//!
//! 1. Choose the folder of its tables: `records/`, `accounts/`, `observations/` or `maintenance/`.
//!    Each uses only `base/` and the folders before it in this order (`cargo xtask imports`).
//! 2. Add a method to `ProviderSession`, filtered by its provider, or to `Session` for data without
//!    a provider. A change of users or tokens takes an `Actor` and writes the activity log.
//! 3. Run a static query with `with_inner!`, and a write whose result is not needed with
//!    `execute_deferred!`. An `Insertable` binds its nulls (`cargo xtask structure`).
//! 4. Add a request that runs it to `crates/black-box/tests/plans/asking.rs` (test
//!    `every_query_of_every_endpoint_is_served_by_an_index`).
//!
//! A table (`docs/changing-the-schema.md`):
//!
//! 1. Add a migration to `migrations/sqlite` and `migrations/postgres`, and the table to
//!    `schema.rs`.
//! 2. Add it to `maintenance/copy/tables.rs` (test
//!    `each_table_is_copied_or_excepted`), and rows to
//!    `testing/filled.rs`. If requests read it, add it to `maintenance/probe.rs`.
//! 3. If it grows, add it to `GROWING` in `crates/black-box/tests/plans/explaining.rs`, and the
//!    removal of old rows to `crates/server/src/operations/maintenance.rs`. If it can hold personal
//!    data, add it to the erasure (tests in `crates/server/tests/program/erasing.rs`).

pub mod accounts;
pub mod base;
pub mod error;
pub mod identifiers;
pub mod maintenance;
pub mod observations;
pub mod records;
mod schema;
pub mod session;
pub mod store;
#[cfg(test)]
mod testing;
