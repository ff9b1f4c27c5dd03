//! The documents that are generated from the versions and committed beside the written ones.

use std::path::{Path, PathBuf};

use adapter_kit::Versions;
use adapter_kit::documents::versions::{migration_guide, release_notes};
use adapter_kit::documents::{errors::errors, rules::rules};
use domain::Lists;

/// The folder of what is written about versions.
const ABOUT_VERSIONS: &str = "versions";

/// A generated document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path of its file below the folder of all documents.
    pub file: String,
    /// What stands in it.
    pub text: String,
}

/// All generated documents.
#[must_use]
pub fn all(versions: &Versions) -> Vec<Document> {
    let mut documents = vec![
        Document { file: "errors.md".to_owned(), text: errors() },
        Document { file: "rules.md".to_owned(), text: rules(versions) },
    ];
    documents.extend(about_versions(versions, Lists::embedded()));
    documents
}

/// What is written about each version: its release notes, and the guide away from it.
#[must_use]
pub fn about_versions(versions: &Versions, lists: &Lists) -> Vec<Document> {
    let documents = versions.iter().flat_map(|served| {
        let label = served.version.label;
        let notes = Document { file: file_about(&label.to_string()), text: release_notes(served, versions, lists) };
        let guide = migration_guide(served, versions, lists);
        let guide = guide.map(|text| Document { file: file_about(&format!("migrating-from-{label}")), text });
        [Some(notes), guide]
    });
    documents.flatten().collect()
}

/// The file of what is written about a version, by its name.
#[must_use]
pub fn file_about(name: &str) -> String {
    format!("{ABOUT_VERSIONS}/{name}.md")
}

/// Files about versions that are not served any more. All files in their folder are generated.
#[must_use]
pub fn outdated(folder: &Path, versions: &Versions) -> Vec<PathBuf> {
    let current: Vec<PathBuf> = all(versions).into_iter().map(|document| folder.join(document.file)).collect();
    let files = std::fs::read_dir(folder.join(ABOUT_VERSIONS)).into_iter().flatten();
    files.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| !current.contains(path)).collect()
}
