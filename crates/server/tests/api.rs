//! The register as its clients meet it: over HTTP, through a real listener, with a database and a clock of its own.
//!
//! What must hold in every version is stated once and run for each ([`api::every_version`]); what one version writes
//! and another reads is in [`api::across_versions`]. The tests know the versions through their list, and their names
//! through their values; only a test that is about one version names it.

#[cfg(test)]
mod api {
    mod access;
    mod across_versions;
    mod any_bytes;
    mod bad_input;
    mod clauses;
    mod compression;
    mod conformance;
    mod contracts;
    mod courses;
    mod degrees;
    mod deprecation;
    mod differences;
    mod documents;
    mod dry_run;
    mod duplicates;
    mod enhanced_errors;
    mod error_entries;
    mod every_version;
    mod expiring_tokens;
    mod former_names;
    mod history;
    mod limits;
    mod lists;
    mod messages;
    mod mistakes_together;
    mod names;
    mod newcomers;
    mod openapi;
    mod parameters;
    mod parts;
    mod portal;
    mod preconditions;
    mod properties;
    mod readiness;
    mod registry;
    mod repeated;
    mod seeded;
    mod snapshots;
    mod sources;
    mod support;
    mod ten_mistakes;
    mod trainee_lifecycle;
    mod translating;
    mod usage;
}
