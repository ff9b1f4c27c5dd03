//! The register as its clients meet it: over HTTP, through a real listener, with its own database
//! and clock.
//!
//! What must hold in every version is stated once and run for each (`support::every_version`); what
//! one version writes and another reads is in `versions/across_versions.rs`. The tests know the
//! versions through their list, and their names through their values; only a test that is about one
//! version names it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod api {
    mod account;
    mod changes;
    mod clock;
    mod failed_statements;
    mod http;
    mod lists;
    mod pages;
    mod placements_and_degrees;
    mod requests;
    mod sandbox;
    mod settings;
    mod support;
    mod trainees;
    mod transitions;
    mod usage;
    mod versions;
}
