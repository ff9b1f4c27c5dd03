//! Parts of workbooks. What must hold for each stands among the tests.

#![no_main]

#[path = "../../crates/trainee-file/tests/any_bytes/workbook.rs"]
mod workbook;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| workbook::holds(bytes));
