//! What the sources outside the adapters may not say: the label of a version, and a name that only
//! some versions have.

mod scan;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use adapter_kit::names;
use adapter_kit::shape::group_of;
use adapter_kit::wire::for_each_record;
use domain::{Record, RecordField as _};
use versions::{FORMER_NAMES, REMOVED, SERVED};

use self::scan::{code, words_in};

/// The folder of all crates.
const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Adapter crates have names that begin like this.
const ADAPTER: &str = "api-";
/// The list of versions, which may name them.
const LIST_OF_VERSIONS: &str = "versions/src/lib.rs";
/// The names that outlive their version.
const FORMER: &str = "versions/src/former_names.rs";

fn canonical_names() -> BTreeSet<&'static str> {
    fn names<R: Record>() -> Vec<&'static str> {
        R::Field::ALL
            .iter()
            .map(|field| field.info().name)
            .collect()
    }
    for_each_record!(names()).concat().into_iter().collect()
}

/// The labels of versions, and the names that the dictionary does not have and not all versions
/// share. The path of a field in a group is no word of a source.
fn forbidden() -> BTreeSet<String> {
    let canonical = canonical_names();
    let shared = |name: &str| {
        SERVED
            .iter()
            .all(|version| names::all(version).contains(name))
    };
    let own = SERVED
        .iter()
        .flat_map(|version| names::all(version))
        .filter(|name| !canonical.contains(name) && !shared(name));
    let own = own.filter(|name| group_of(name).is_none());
    let labels = SERVED
        .iter()
        .map(|version| version.label)
        .chain(REMOVED.iter().map(|removed| removed.label));
    let former = FORMER_NAMES
        .iter()
        .map(|former| former.name)
        .filter(|name| !canonical.contains(name) && !shared(name));
    own.chain(former)
        .map(str::to_owned)
        .chain(labels.map(|label| label.to_string()))
        .collect()
}

/// The sources of all crates but the adapters, without folders of tests.
fn sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(CRATES).unwrap().map(|entry| entry.unwrap());
    let others = crates.filter(|entry| !entry.file_name().to_string_lossy().starts_with(ADAPTER));
    let mut found = Vec::new();
    for entry in others {
        collect(&entry.path().join("src"), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_adapters_and_version_list_know_versions_and_their_names() {
    let forbidden = forbidden();
    let sources = sources();
    assert!(sources.len() > 50, "{sources:?}");
    assert!(sources.iter().any(|path| path.ends_with(LIST_OF_VERSIONS)));
    let breaches: Vec<String> = sources
        .iter()
        .filter(|path| !path.ends_with(LIST_OF_VERSIONS) && !path.ends_with(FORMER))
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let found = words_in(&code(&text), &forbidden);
            found
                .into_iter()
                .map(|word| format!("{} says {word}", path.display()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(breaches, Vec::<String>::new());
}

#[test]
fn forbidden_words_are_version_labels_and_non_canonical_names() {
    let forbidden = forbidden();
    for word in [
        "v2025.0",
        "v2026.1",
        "v0.1",
        "v1.0-pre",
        "lead_partner_urn",
        "course_subject_one",
        "bursary_level",
    ] {
        assert!(forbidden.contains(word), "{word} in {forbidden:?}");
    }
    for word in [
        "training_partner_urn",
        "email",
        "placements_attributes",
        "withdrawal_date",
    ] {
        assert!(!forbidden.contains(word), "{word} in {forbidden:?}");
    }
}
