//! The committed contracts of the versions are what is served.

use std::fs;
use std::path::Path;

use adapter_kit::{Label, Served};
use domain::Lists;
use gateway::endpoints::openapi;
use http_kit::paths::OpenApiDocument;
use version_tools::shape_document;

/// The folder with the committed contracts, one folder per version.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots");

/// Returns the files of a contract: their names and contents.
fn contract_files(served: &Served) -> [(&'static str, String); 2] {
    let lists = Lists::embedded();
    let openapi = OpenApiDocument::Version31;
    let shape = shape_document::describe(served.version, lists);
    [
        (
            openapi.file(),
            openapi::written(served, openapi, lists).unwrap(),
        ),
        ("shape.json", format!("{shape:#}\n")),
    ]
}

#[test]
fn the_committed_contracts_are_what_is_served() {
    for served in versions::all().iter() {
        let folder = Path::new(FOLDER).join(served.version.label.to_string());
        for (name, text) in contract_files(served) {
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
fn version_with_committed_contract_is_served_or_listed_as_removed() {
    for folder in fs::read_dir(FOLDER).unwrap() {
        let name = folder.unwrap().file_name();
        let Ok(label) = name.to_string_lossy().parse::<Label>() else {
            continue;
        };
        let is_served = versions::all().find(label).is_some();
        let is_removed = versions::REMOVED
            .iter()
            .any(|removed| removed.label == label);
        assert!(is_served || is_removed, "{label}");
    }
}
