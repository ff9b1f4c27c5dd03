//! The generated documents, as they are committed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use domain::Record;
use version_tools::documents::contract::CHAPTERS;
use version_tools::documents::files;
use versions::{SERVED, all};

/// Where the documents are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn the_committed_documents_say_what_the_code_says() {
    let updates = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    for path in files::outdated(Path::new(FOLDER), all()) {
        assert!(
            updates,
            "{} is about a version that is not served: run `make docs`",
            path.display()
        );
        fs::remove_file(path).unwrap();
    }
    for document in files::all(all()) {
        let file = format!("{FOLDER}/{}", document.file);
        if updates {
            fs::create_dir_all(Path::new(&file).parent().unwrap()).unwrap();
            fs::write(&file, &document.text).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == document.text,
            "{} is out of date: run `make docs`",
            document.file
        );
    }
}

#[test]
fn committed_readme_lists_the_served_versions() {
    let file = format!("{FOLDER}/../{}", files::README);
    let committed = fs::read_to_string(&file).unwrap();
    let expected = files::readme_with_versions(&committed, all()).expect("the marks of the table");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&file, expected).unwrap();
    } else {
        assert!(
            committed == expected,
            "README.md is out of date: run `make docs`"
        );
    }
}

#[test]
fn every_rule_names_a_section_that_the_contract_has() {
    let headings: BTreeSet<&str> = CHAPTERS
        .iter()
        .flat_map(|chapter| chapter.text.lines())
        .filter(|line| line.starts_with('#'))
        .flat_map(|heading| {
            heading
                .split(' ')
                .skip(1)
                .take_while(|word| !word.starts_with(char::is_alphabetic) || *word == "and")
        })
        .collect();
    fn sections<R: Record>(
        rules: &'static [domain::Rule<R>],
    ) -> impl Iterator<Item = &'static str> {
        rules.iter().map(|rule| rule.section)
    }
    for rules in SERVED.iter().map(|version| &version.rules) {
        let named = sections(rules.trainee)
            .chain(sections(rules.placement))
            .chain(sections(rules.degree))
            .chain(sections(rules.withdrawal))
            .chain(sections(rules.deferral))
            .chain(sections(rules.recommendation))
            .chain(rules.gates.iter().map(|gate| gate.section));
        let missing: Vec<&str> = named
            .filter(|section| !headings.contains(section))
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}

#[test]
fn every_test_that_a_security_promise_names_is_there() {
    let promises = fs::read_to_string(format!("{FOLDER}/security.md")).unwrap();
    let named: Vec<&str> = promises
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`'))
        .collect();
    assert!(named.len() > 30, "{named:?}");
    let sources = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")));
    for test in named {
        // Attributes stand between the mark of a test and its name.
        let is_there = sources.iter().any(|(_, source)| {
            source
                .match_indices(&format!("fn {test}()"))
                .any(|(place, _)| {
                    let before = source[..place]
                        .trim_end()
                        .rsplit("}\n")
                        .next()
                        .unwrap_or_default();
                    ["#[test]", "#[actix_web::test]"]
                        .iter()
                        .any(|mark| before.contains(mark))
                })
        });
        assert!(
            is_there,
            "docs/security.md names a test that is not there: {test}"
        );
    }
}

/// All sources below a folder: their paths and texts.
pub(super) fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources.extend(self::sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            sources.push((path, text));
        }
    }
    sources
}

#[test]
fn only_the_issuer_is_called_over_http() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for entry in fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let manifest = fs::read_to_string(entry.join("Cargo.toml")).unwrap();
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap_or_default();
        let (dependencies, _) = dependencies
            .split_once("[dev-dependencies]")
            .unwrap_or((dependencies, ""));
        let uses = |client| dependencies.lines().any(|line| line.starts_with(client));
        for client in ["awc", "hyper", "reqwest", "isahc", "surf"] {
            assert!(!uses(client), "{client} in {}", entry.display());
        }
        let may_call = ["settings-pages", "bench"]
            .iter()
            .any(|name| entry.ends_with(name));
        assert!(!uses("ureq") || may_call, "ureq in {}", entry.display());
    }
    // The client, and what it needs for TLS: it calls an address of the operator's, not of a
    // request.
    let signing_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../settings-pages/src/signing_in");
    for caller in ["openid/fetch.rs", "client_tls.rs"] {
        let text = fs::read_to_string(signing_in.join(caller)).unwrap();
        assert!(text.contains("ureq"), "{caller}");
    }
    let sources = sources(&signing_in.join(".."));
    let callers = sources.iter().filter(|(_, source)| source.contains("ureq"));
    assert_eq!(callers.count(), 2);
}
