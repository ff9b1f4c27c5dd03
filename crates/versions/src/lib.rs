//! The lists of served and removed versions.
//!
//! Outside the crates of the versions, only this crate names versions. It contains nothing of a
//! version except its label and the field names in `former_names.rs`.
//!
//! # How to add a version
//!
//! 1. Run `make new-version VERSION=... FROM=...`. The command copies a version: the crate, its
//!    entries in [`SERVED`] and in the manifests, its documents and its snapshots.
//! 2. Run `cargo test --package CRATE --test decided`, which lists the remaining decisions, and
//!    edit the new crate (`docs/adding-a-version.md`).
//! 3. Run `make snapshots`, which writes the contract (test
//!    `the_committed_contracts_are_what_is_served`), `snapshots/versions.snap` (test
//!    `the_list_of_versions_is_the_committed_one`) and `former_names.rs` (test
//!    `committed_names_of_released_versions_match_the_versions`).
//! 4. To remove a version, run `make remove-version VERSION=...`. A version that was published
//!    leaves an entry in [`REMOVED`].

use std::sync::LazyLock;

use adapter_kit::lifecycle::Removed;
use adapter_kit::{ApiVersion, Label, Stage, UnknownVersion, Versions, date};

mod former_names;

pub use former_names::FORMER_NAMES;

/// The versions of this program, oldest first.
#[rustfmt::skip]
pub const SERVED: &[&ApiVersion] = &[
    &api_v2025_0::V2025_0,
    &api_v2026_0::V2026_0,
    &api_v2026_1::V2026_1,
];

/// The removed versions, oldest first.
#[rustfmt::skip]
pub const REMOVED: &[Removed] = &[
    Removed { label: Label { year: 0, major: 1, stage: Stage::Release }, since: date(2024, 4, 22) },
    Removed { label: Label { year: 1, major: 0, stage: Stage::PreRelease }, since: date(2024, 8, 12) },
    Removed { label: Label { year: 2025, major: 0, stage: Stage::Candidate }, since: date(2025, 5, 13) },
];

static ALL: LazyLock<Versions> = LazyLock::new(|| Versions::among(SERVED, SERVED, FORMER_NAMES));

/// Returns all versions of this program.
#[must_use]
pub fn all() -> &'static Versions {
    &ALL
}

/// Returns the versions with these labels, or all versions if there are no labels.
///
/// # Errors
///
/// Returns the first text that is not the label of a version of this program.
pub fn select(labels: &[String]) -> Result<&'static Versions, UnknownVersion> {
    if labels.is_empty() {
        return Ok(all());
    }
    let list = labels
        .iter()
        .map(|label| all().named(label).map(|served| served.version))
        .collect::<Result<Vec<_>, UnknownVersion>>()?;
    // Created once at start and never freed. The names of versions that are not selected stay
    // known.
    Ok(Box::leak(Box::new(Versions::among(
        &list,
        SERVED,
        FORMER_NAMES,
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_unique_sorted_and_not_removed() {
        let labels: Vec<Label> = SERVED.iter().map(|version| version.label).collect();
        assert!(labels.is_sorted_by(|one, next| one < next), "{labels:?}");
        assert!(
            labels
                .iter()
                .all(|label| REMOVED.iter().all(|removed| removed.label != *label))
        );
    }

    #[test]
    fn versions_are_selected_by_label() {
        let oldest = all().iter().next().unwrap();
        let selected = select(&[oldest.version.label.to_string()]).unwrap();
        let names = selected.iter().map(|one| &one.other_names.trainee.refused);
        let expected = &oldest.other_names.trainee.refused;
        assert_eq!(names.collect::<Vec<_>>(), [expected]);
        assert_eq!(
            select(&["v1999.0".to_owned()]).unwrap_err().requested,
            "v1999.0"
        );
    }
}
