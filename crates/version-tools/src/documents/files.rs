//! The generated documents that are committed as files.

use std::path::{Path, PathBuf};

use adapter_kit::{Label, Versions};
use domain::Lists;

use crate::documents::errors::errors;
use crate::documents::rules::rules;
use crate::documents::versions::{migration_guide, release_notes, version_table};

/// The folder with the documents about versions.
const ABOUT_VERSIONS: &str = "versions";
/// The beginning of the name of a migration guide. The label of the old version follows.
const GUIDE: &str = "migrating-from-";

/// A generated document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path of the file below `docs/`.
    pub file: String,
    /// The text of the document.
    pub text: String,
}

/// Returns all generated documents.
#[must_use]
pub fn all(versions: &Versions) -> Vec<Document> {
    let mut documents = vec![
        Document {
            file: "errors.md".to_owned(),
            text: errors(),
        },
        Document {
            file: "rules.md".to_owned(),
            text: rules(versions),
        },
    ];
    documents.extend(about_versions(versions, Lists::embedded()));
    documents
}

/// The file with a table of the versions, in the folder that contains `docs/`.
pub const README: &str = "README.md";
const TABLE_START: &str = "<!-- versions -->\n";
const TABLE_END: &str = "<!-- /versions -->";

/// Returns the README with an updated table of versions. Returns `None` if the marks are missing.
#[must_use]
pub fn readme_with_versions(readme: &str, versions: &Versions) -> Option<String> {
    let (before, rest) = readme.split_once(TABLE_START)?;
    let (_, after) = rest.split_once(TABLE_END)?;
    let table = version_table(versions);
    Some(format!("{before}{TABLE_START}{table}{TABLE_END}{after}"))
}

/// Returns the release notes of each version, and the migration guide of each version except the
/// newest.
fn about_versions(versions: &Versions, lists: &Lists) -> Vec<Document> {
    let names = versions.iter().flat_map(|served| {
        let label = served.version.label;
        [label.to_string(), format!("{GUIDE}{label}")]
    });
    let document = |name: String| {
        Some(Document {
            text: about_version(&name, versions, lists)?,
            file: file_about(&name),
        })
    };
    names.filter_map(document).collect()
}

/// Returns the document about a version with this name: `LABEL` for release notes, and
/// `migrating-from-LABEL` for a migration guide. Returns `None` if there is no such document.
#[must_use]
pub fn about_version(name: &str, versions: &Versions, lists: &Lists) -> Option<String> {
    let find = |label: &str| {
        versions
            .iter()
            .find(|served| served.version.label.to_string() == label)
    };
    match name.strip_prefix(GUIDE) {
        Some(label) => migration_guide(find(label)?, versions, lists),
        None => Some(release_notes(find(name)?, versions, lists)),
    }
}

/// Whether a document with this name is about the version: its release notes or its migration
/// guide.
#[must_use]
pub fn is_about(name: &str, label: Label) -> bool {
    name.strip_prefix(GUIDE).unwrap_or(name) == label.to_string()
}

/// Returns the path of the document about a version with this name.
fn file_about(name: &str) -> String {
    format!("{ABOUT_VERSIONS}/{name}.md")
}

/// Returns the paths of documents about versions that are no longer served. `folder` is the path of
/// `docs/`, whose subfolder about versions contains only generated files.
#[must_use]
pub fn outdated(folder: &Path, versions: &Versions) -> Vec<PathBuf> {
    let current: Vec<PathBuf> = all(versions)
        .into_iter()
        .map(|document| folder.join(document.file))
        .collect();
    let files = std::fs::read_dir(folder.join(ABOUT_VERSIONS))
        .into_iter()
        .flatten();
    files
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !current.contains(path))
        .collect()
}
