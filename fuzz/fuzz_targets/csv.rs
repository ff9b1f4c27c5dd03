//! Files of comma-separated values. What must hold for each stands among the tests.

#![no_main]

#[path = "../../crates/black-box/tests/api/http/any_bytes/csv.rs"]
mod csv;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| csv::holds(bytes));
