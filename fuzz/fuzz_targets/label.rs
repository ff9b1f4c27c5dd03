//! Labels of versions. What must hold for each stands among the tests.

#![no_main]

#[path = "../../crates/black-box/tests/api/http/any_bytes/label.rs"]
mod label;

libfuzzer_sys::fuzz_target!(|text: &str| label::holds(text));
