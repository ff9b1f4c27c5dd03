//! What must hold for every version holds for all of them side by side, where each has names that others refuse.
//!
//! A run over more records than usual: `LAW_RECORDS=100000 cargo test --release -p server --test api -- laws`.

use adapter_kit::date;
use adapter_kit::laws::{
    Law, blind, closed, consistent, faithful, inhabited, over, records_asked_for, sturdy, total, translated,
};
use server::versions;

/// Tries a law on as many records as the environment asks for.
fn holds(law: Law) {
    let records = records_asked_for(std::env::var("LAW_RECORDS").ok(), 60).unwrap();
    over(law, versions::all(), 7, records, date(2026, 10, 5)).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn every_record_can_be_written_in_every_version() {
    holds(total);
}

#[test]
fn what_is_written_is_read_again_in_every_version() {
    holds(faithful);
}

#[test]
fn what_a_version_cannot_see_it_does_not_change() {
    holds(blind);
}

#[test]
fn an_accepted_update_leaves_a_record_that_is_valid_in_some_version() {
    holds(consistent);
}

#[test]
fn problems_speak_of_the_names_of_their_version_alone() {
    holds(closed);
}

#[test]
fn what_is_translated_between_any_two_versions_comes_back() {
    holds(translated);
}

#[test]
fn a_register_can_be_filled_under_the_rules_of_every_version() {
    holds(inhabited);
}

#[test]
fn any_bytes_get_an_answer_that_holds_in_every_version() {
    holds(sturdy);
}
