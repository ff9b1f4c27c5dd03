//! The two kinds of degrees, and placements in known schools.

use crate::api::support::run_cases;

#[test]
fn degree_is_whole_or_rejected() {
    run_cases(include_str!("kinds.txt"));
}

#[test]
fn placement_follows_its_known_school() {
    run_cases(include_str!("schools.txt"));
}
