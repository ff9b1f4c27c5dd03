//! The Trainee Register as an HTTP server, and its command line.
//!
//! A request goes one way: [`mount`] finds its endpoint, [`call`] takes it apart, one hop leads to the store, and the
//! operation there ([`operations`]) authenticates, reads, decides, saves and writes the reply. [`failure`] is the only
//! place where an error meets HTTP.
//!
//! The server knows no field of a record, and no version but through the list of them ([`versions`]).

// What a command is asked for goes through `cli/out.rs`, where it is an error when nobody reads it, and no panic.
#![warn(clippy::print_stdout)]

pub mod access_log;
pub mod addresses;
pub mod admission;
pub mod allowance;
pub mod answer;
pub mod bodies;
pub mod call;
pub mod causes;
pub mod cli;
pub mod compression;
pub mod concurrency_limit;
pub mod connections;
pub mod content;
pub mod contracts;
pub mod demo;
pub mod docs;
pub mod documents;
pub mod entity_tag;
pub mod failure;
pub mod idempotency;
pub mod import;
pub mod inspection;
pub mod lifecycle;
pub mod logs;
pub mod measures;
pub mod mount;
pub mod nearest_path;
pub mod openapi;
pub mod operations;
pub mod operator;
pub mod proxies;
pub mod query;
pub mod readiness;
pub mod reference_data;
pub mod register;
pub mod registry;
pub mod reply;
pub mod request_id;
mod routes;
pub mod seed;
pub mod sending;
pub mod serve;
pub mod shadow;
pub mod starting;
pub mod stopping;
pub mod tls;
pub mod token_failure;
pub mod upkeep;
pub mod usage;
pub mod version_list;
pub mod versions;
pub mod visitors;
pub mod witness;
pub mod written_lists;
