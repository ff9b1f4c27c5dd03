//! What must hold for every version holds for this one.

use adapter_kit::laws::{self, Broken, Sample};
use adapter_kit::{Versions, date};
use api_v2026_1::V2026_1;

/// Runs a law on this version.
fn check(law: fn(&Versions, &Sample) -> Result<(), Broken>) -> Result<(), String> {
    let sample = Sample::new(2_025, 200, date(2026, 3, 25)).map_err(|problems| format!("{problems:?}"))?;
    law(&Versions::new(&[&V2026_1]), &sample).map_err(|broken| broken.to_string())
}

#[test]
fn every_record_can_be_written() -> Result<(), String> {
    check(laws::total)
}

#[test]
fn what_is_written_is_read_again() -> Result<(), String> {
    check(laws::faithful)
}

#[test]
fn what_cannot_be_seen_is_not_changed() -> Result<(), String> {
    check(laws::blind)
}

#[test]
fn problems_speak_of_the_names_of_this_version() -> Result<(), String> {
    check(laws::closed)
}

#[test]
fn a_register_can_be_filled_under_the_rules_of_this_version() -> Result<(), String> {
    check(laws::inhabited)
}
