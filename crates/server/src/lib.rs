//! The Trainee Register as an HTTP server, and its command line.
//!
//! A request takes one path: [`http`] finds its route, extracts an `ApiRequest` and runs the handler of [`endpoints`] in
//! one job of the store; the handler authenticates, reads, decides, saves and writes the response. `http::error` is the only
//! place where an error becomes a status.
//!
//! The server knows no field of a record, and no version except through the list of them ([`versions`]).

// What a command prints goes through `cli/output.rs`, where it is an error when nobody reads it, and no panic.
#![warn(clippy::print_stdout)]

pub mod cli;
pub mod endpoints;
pub mod erasure;
pub mod http;
pub mod import;
pub mod operations;
pub mod pages;
pub mod registry;
pub mod request_log;
mod retries;
pub mod sandbox;
pub mod settings;
pub mod usage;
pub mod versions;
