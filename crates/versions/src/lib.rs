//! The list of the versions that are served, and of those that were.
//!
//! This list is the only place outside the adapters that names a version. The crate does not know
//! what a version contains, except the names of fields that outlive it (`former_names.rs`).
//!
//! # How to add a version
//!
//! 1. Run `make new-version VERSION=... FROM=...`. The command copies a version: it writes the
//!    crate, its line in [`SERVED`] and in the manifests, its documents and its snapshots.
//! 2. Run `cargo test --package CRATE --test decided`, which lists what is left to decide, and edit
//!    the new crate (`docs/adding-a-version.md`).
//! 3. Run `make snapshots`, which writes the contract (test
//!    `the_committed_contracts_are_what_is_served`), `snapshots/versions.snap` (test
//!    `the_list_of_versions_is_the_committed_one`) and `former_names.rs` (test
//!    `the_committed_names_of_released_versions_are_those_of_the_versions`).
//! 4. To remove a version, run `make remove-version VERSION=...`. A version that has appeared
//!    leaves a line in [`REMOVED`].

use std::sync::LazyLock;

use adapter_kit::lifecycle::Removed;
use adapter_kit::{ApiVersion, Label, Stage, UnknownVersion, Versions, date};

mod former_names;

pub use former_names::FORMER_NAMES;

/// The versions that can be served, oldest first.
#[rustfmt::skip]
pub const SERVED: &[&ApiVersion] = &[
    &api_v2025_0::V2025_0,
    &api_v2026_0::V2026_0,
    &api_v2026_1::V2026_1,
];

/// Versions that were served once, oldest first.
pub const REMOVED: &[Removed] = &[
    Removed {
        label: Label {
            year: 0,
            major: 1,
            stage: Stage::Release,
        },
        since: date(2024, 4, 22),
    },
    Removed {
        label: Label {
            year: 1,
            major: 0,
            stage: Stage::PreRelease,
        },
        since: date(2024, 8, 12),
    },
    Removed {
        label: Label {
            year: 2025,
            major: 0,
            stage: Stage::Candidate,
        },
        since: date(2025, 5, 13),
    },
];

static ALL: LazyLock<Versions> = LazyLock::new(|| Versions::among(SERVED, SERVED, FORMER_NAMES));

/// The versions that can be served, side by side.
#[must_use]
pub fn all() -> &'static Versions {
    &ALL
}

/// The versions with these labels, or all of them when there are none.
///
/// # Errors
///
/// The first text that is no label of a version that can be served.
pub fn select(labels: &[String]) -> Result<&'static Versions, UnknownVersion> {
    if labels.is_empty() {
        return Ok(all());
    }
    let named = |text: &String| all().named(text).map(|served| served.version);
    let list = labels
        .iter()
        .map(named)
        .collect::<Result<Vec<_>, UnknownVersion>>()?;
    // Made once, at start, and used as long as the program runs. Those that are not chosen keep
    // their names.
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
    fn every_version_is_listed_once_in_order_and_none_of_them_is_removed() {
        let labels: Vec<Label> = SERVED.iter().map(|version| version.label).collect();
        assert!(labels.is_sorted_by(|one, next| one < next), "{labels:?}");
        assert!(
            labels
                .iter()
                .all(|label| REMOVED.iter().all(|removed| removed.label != *label))
        );
    }

    #[test]
    fn versions_are_chosen_by_their_labels() {
        let newest = all().newest().unwrap().version.label.to_string();
        assert_eq!(select(&[newest]).unwrap().iter().count(), 1);
        assert_eq!(
            select(&["v1999.0".to_owned()]).unwrap_err().requested,
            "v1999.0"
        );
    }
}
