//! What the sources outside the adapters may not say: the label of a version, and a name that only
//! some versions have.

use std::collections::BTreeSet;
use std::path::Path;

use adapter_kit::names;
use adapter_kit::shape::group_of;
use adapter_kit::wire::for_each_record;
use domain::{Record, RecordField as _};
use versions::{FORMER_NAMES, REMOVED, SERVED};

use super::documents::sources;

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

/// The code of a source without lines of comments and the tests at its end.
fn code(source: &str) -> String {
    let (code, _) = source
        .split_once("#[cfg(test)]\nmod tests {")
        .unwrap_or((source, ""));
    let lines = code.lines().filter(|line| !line.trim().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a word occurs in a text as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[test]
fn only_adapters_and_version_list_know_versions() {
    let forbidden = forbidden();
    let sources = sources(Path::new(CRATES));
    assert!(
        sources
            .iter()
            .any(|(path, _)| path.ends_with(LIST_OF_VERSIONS))
    );
    let mut breaches = Vec::new();
    for (path, text) in sources {
        let steps: Vec<_> = path.strip_prefix(CRATES).unwrap().iter().collect();
        let is_adapter = steps[0].to_string_lossy().starts_with(ADAPTER);
        let is_list = path.ends_with(LIST_OF_VERSIONS) || path.ends_with(FORMER);
        if steps[1] != "src" || is_adapter || is_list {
            continue;
        }
        let code = code(&text);
        let found = forbidden.iter().filter(|word| has_word(&code, word));
        breaches.extend(found.map(|word| format!("{} says {word}", path.display())));
    }
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
