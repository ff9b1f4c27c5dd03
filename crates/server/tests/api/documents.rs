//! The generated documents, as they are committed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use domain::Record;
use server::documents;
use server::versions::{SERVED, all};

/// Where the documents are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn the_committed_documents_say_what_the_code_says() {
    let updates = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    for path in documents::outdated(Path::new(FOLDER), all()) {
        assert!(updates, "{} is about a version that is not served: run `make docs`", path.display());
        fs::remove_file(path).unwrap();
    }
    for document in documents::all(all()) {
        let file = format!("{FOLDER}/{}", document.file);
        if updates {
            fs::create_dir_all(Path::new(&file).parent().unwrap()).unwrap();
            fs::write(&file, &document.text).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(committed == document.text, "{} is out of date: run `make docs`", document.file);
    }
}

#[test]
fn every_rule_names_a_section_that_the_contract_has() {
    let contract = fs::read_to_string(format!("{FOLDER}/api.md")).unwrap();
    let headings: BTreeSet<&str> = contract
        .lines()
        .filter(|line| line.starts_with('#'))
        .flat_map(|heading| {
            heading.split(' ').skip(1).take_while(|word| !word.starts_with(char::is_alphabetic) || *word == "and")
        })
        .collect();
    fn sections<R: Record>(rules: &'static [domain::Rule<R>]) -> impl Iterator<Item = &'static str> {
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
        let missing: Vec<&str> = named.filter(|section| !headings.contains(section)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
