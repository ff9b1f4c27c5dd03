//! The committed contracts, and the gate that keeps them: what breaks a client is caught, what only
//! adds is not.

use std::fs;
use std::path::Path;

use adapter_kit::Wire;
use domain::Lists;
use serde_json::{Value, json};
use server::contracts::{check, files};
use tempfile::tempdir;
use version_tools::compatibility::{Contract, Outcome};
use version_tools::difference::Change;

mod edits;

/// Where the contracts are committed.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots");

/// The contract of the newest version that writes values in the common way, which the edits are
/// written for.
fn newest() -> Contract {
    let served = versions::all();
    let mut common = served
        .iter()
        .filter(|served| served.version.wire == Wire::COMMON);
    Contract::new(common.next_back().unwrap(), Lists::embedded()).unwrap()
}

fn changes(edit: &edits::Edit) -> Vec<Change> {
    let promised = newest();
    let mut now = promised.clone();
    (edit.make)(&mut now);
    let texts = |contract: &Contract| (contract.openapi.to_string(), contract.shape.to_string());
    assert!(
        texts(&promised) != texts(&now),
        "{}: the edit changes nothing",
        edit.name
    );
    promised.changes_to(&now)
}

#[test]
fn the_committed_contracts_are_what_is_served() {
    for served in versions::all().iter() {
        let folder = Path::new(FOLDER).join(served.version.label.to_string());
        for (name, text) in files(served, Lists::embedded()).unwrap() {
            let file = folder.join(name);
            if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&file, &text).unwrap();
            }
            let committed = fs::read_to_string(&file).unwrap_or_default();
            let file = file.display();
            assert!(
                committed == text,
                "{file} is not what is served: read the change, and run `make snapshots`"
            );
        }
    }
}

#[test]
fn what_is_served_keeps_what_was_promised() {
    let report = check(Path::new(FOLDER), versions::all(), &[], Lists::embedded()).unwrap();
    for (label, outcome) in &report.outcomes {
        assert_eq!(outcome, &Outcome::Served(Vec::new()), "{label}");
    }
    assert_eq!(report.outcomes.len(), versions::all().iter().count());
}

#[test]
fn every_edit_that_breaks_a_client_is_caught_and_named() {
    for edit in edits::BREAKING {
        let changes = changes(edit);
        let broken: Vec<&Change> = changes.iter().filter(|change| change.breaking).collect();
        assert!(
            broken.iter().any(|change| change.subject() == edit.names),
            "{}: {changes:#?}",
            edit.name
        );
    }
    assert!(edits::BREAKING.len() >= 25);
}

#[test]
fn no_harmless_edit_is_flagged() {
    for edit in edits::HARMLESS {
        let changes = changes(edit);
        let broken: Vec<&Change> = changes.iter().filter(|change| change.breaking).collect();
        assert_eq!(broken, Vec::<&Change>::new(), "{}", edit.name);
        let told = changes.iter().any(|change| change.subject() == edit.names);
        assert_eq!(told, !edit.names.is_empty(), "{}: {changes:#?}", edit.name);
    }
    assert!(edits::HARMLESS.len() >= 15);
}

#[test]
fn an_addition_wants_a_line_in_the_change_log() {
    let folder = promised(|_, contract| {
        contract.openapi["components"]["schemas"]["Trainee"]["properties"]
            .as_object_mut()
            .unwrap()
            .remove("trn");
        let required = contract.openapi["components"]["schemas"]["Trainee"]["required"]
            .as_array_mut()
            .unwrap();
        required.retain(|name| name != "trn");
    });
    let report = check(folder.path(), versions::all(), &[], Lists::embedded()).unwrap();
    assert_eq!(report.broken(), 0);
    let labels = versions::all().iter().count();
    assert_eq!(report.unmentioned("nothing about it").len(), labels);
    assert_eq!(report.unmentioned("- `trn` is shown."), Vec::new());
}

#[test]
fn break_is_accepted_when_the_change_log_announces_it() {
    let folder = promised(|_, contract| {
        contract.shape["rules"]["degree"]
            .as_object_mut()
            .unwrap()
            .shift_remove("degree_country_required");
    });
    let report = check(folder.path(), versions::all(), &[], Lists::embedded()).unwrap();
    let labels: Vec<String> = versions::all()
        .iter()
        .map(|served| served.version.label.to_string())
        .collect();
    assert_eq!(report.broken(), labels.len());
    let entry = format!(
        "- {}: a foreign degree keeps\n  its country (`degree_country_required`).\n",
        labels.join(", ")
    );
    let announced = report.announced(&format!(
        "## Unreleased\n\n### Breaking changes\n\n- Other.\n{entry}\n### Added\n"
    ));
    let found: Vec<_> = announced
        .iter()
        .map(|(label, change)| (label.to_string(), change.subject()))
        .collect();
    assert_eq!(
        found,
        labels
            .iter()
            .map(|label| (label.clone(), "degree_country_required"))
            .collect::<Vec<_>>()
    );
    let one = format!(
        "### Breaking\n- {}: `degree_country_required`.\n",
        labels[0]
    );
    assert_eq!(report.announced(&one).len(), 1);
    for log in [
        String::new(),
        format!("### Added\n{entry}"),
        format!("### Breaking changes\n- Other.\n### Added\n{entry}"),
        format!(
            "### Breaking changes\n- {}.\n\n`degree_country_required`\n",
            labels.join(", ")
        ),
        format!(
            "### Breaking changes\n- {}: `degree_country_required_too`.\n",
            labels.join(", ")
        ),
    ] {
        assert_eq!(report.announced(&log), [], "{log}");
    }
}

#[test]
fn a_promised_version_is_served_or_said_to_be_removed() {
    let folder = promised(|_, _| ());
    fs::rename(folder.path().join(oldest()), folder.path().join("v1999.0")).unwrap();
    let gone = "v1999.0".parse().unwrap();
    let report = check(folder.path(), versions::all(), &[], Lists::embedded()).unwrap();
    assert_eq!(report.outcomes[&gone], Outcome::Lost);
    assert_eq!((report.broken(), report.new.len()), (1, 1));
    let report = check(folder.path(), versions::all(), &[gone], Lists::embedded()).unwrap();
    assert_eq!(report.outcomes[&gone], Outcome::Removed);
    assert_eq!(report.broken(), 0);
}

#[test]
fn folder_without_contracts_and_invalid_contract_file_are_rejected() {
    let folder = tempdir().unwrap();
    let refused = |folder: &Path| {
        check(folder, versions::all(), &[], Lists::embedded())
            .unwrap_err()
            .to_string()
    };
    assert!(refused(folder.path()).contains("contains no contract"));
    assert!(refused(&folder.path().join("absent")).contains("cannot read"));
    let folder = promised(|_, _| ());
    fs::write(folder.path().join(oldest()).join("shape.json"), "{").unwrap();
    assert!(refused(folder.path()).contains("is not a contract"));
}

fn oldest() -> String {
    versions::all()
        .iter()
        .next()
        .unwrap()
        .version
        .label
        .to_string()
}

/// A folder with the contracts of all versions, edited.
fn promised(edit: impl Fn(&str, &mut Contract)) -> tempfile::TempDir {
    let folder = tempdir().unwrap();
    for served in versions::all().iter() {
        let label = served.version.label.to_string();
        let mut contract = Contract::new(served, Lists::embedded()).unwrap();
        edit(&label, &mut contract);
        let place = folder.path().join(label);
        fs::create_dir(&place).unwrap();
        let write = |name: &str, json: &Value| {
            fs::write(place.join(name), json!(json).to_string()).unwrap()
        };
        write("openapi.json", &contract.openapi);
        write("shape.json", &contract.shape);
    }
    folder
}
