//! The conformance checks over all versions side by side, where each has names that others refuse.
//!
//! A run over more records than usual: `CONFORMANCE_RECORDS=100000 cargo test --release -p
//! black-box --test api -- conformance`.

use adapter_kit::date;
use conformance::{Check, check_samples, record_count};

/// Runs a check on as many records as the environment asks for.
fn run(check: Check) {
    let records = record_count(std::env::var("CONFORMANCE_RECORDS").ok(), 60).unwrap();
    check_samples(check, versions::all(), 7, records, date(2026, 10, 5))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_record_serialises_in_every_version() {
    run(conformance::every_record_serialises);
}

#[test]
fn round_trip_is_lossless_in_every_version() {
    run(conformance::round_trip_is_lossless);
}

#[test]
fn updates_touch_only_what_was_sent() {
    run(conformance::updates_touch_only_what_was_sent);
}

#[test]
fn updates_keep_records_valid_in_some_version() {
    run(conformance::updates_keep_records_valid);
}

#[test]
fn errors_use_the_names_of_their_version_alone() {
    run(conformance::errors_use_own_names);
}

#[test]
fn translation_between_any_two_versions_comes_back() {
    run(conformance::translation_matches_target_version);
}

#[test]
fn every_version_can_be_seeded() {
    run(conformance::can_be_seeded);
}

#[test]
fn no_input_panics_in_any_version() {
    run(conformance::no_input_panics);
}

#[test]
fn defaults_of_every_version_yield_to_sent_values() {
    run(conformance::defaults_yield_to_sent_values);
}
