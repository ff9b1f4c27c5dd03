//! Queries of lists. What must hold for each stands among the tests.

#![no_main]

#[path = "../../crates/black-box/tests/api/http/any_bytes/query.rs"]
mod query;

libfuzzer_sys::fuzz_target!(|text: &str| query::holds(text));
