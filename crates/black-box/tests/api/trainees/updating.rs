//! What a trainee shows after a request, and what is said of names that are no inputs.

use crate::api::support::run_cases;

#[test]
fn reply_shows_what_request_changed() {
    run_cases(include_str!("updating.txt"));
}

#[test]
fn record_sent_back_whole_is_unchanged() {
    run_cases(include_str!("sending_back.txt"));
}

#[test]
fn read_only_names_are_named_or_refused() {
    run_cases(include_str!("read_only_names.txt"));
}
