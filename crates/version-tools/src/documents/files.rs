//! The documents that are generated from the versions and committed next to the written ones.

use std::path::{Path, PathBuf};

use adapter_kit::Versions;
use domain::Lists;

use crate::documents::errors::errors;
use crate::documents::rules::rules;
use crate::documents::versions::{migration_guide, release_notes, version_table};

/// The folder of what is written about versions.
const ABOUT_VERSIONS: &str = "versions";
/// What the name of a guide begins with, before the version that it leads away from.
const GUIDE: &str = "migrating-from-";

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

/// The file above the folder of all documents that shows a table of the versions.
pub const README: &str = "README.md";
const TABLE_START: &str = "<!-- versions -->\n";
const TABLE_END: &str = "<!-- /versions -->";

/// The text of the README with its table of versions renewed. `None` if the marks are missing.
#[must_use]
pub fn readme_with_versions(readme: &str, versions: &Versions) -> Option<String> {
    let (before, rest) = readme.split_once(TABLE_START)?;
    let (_, after) = rest.split_once(TABLE_END)?;
    let table = version_table(versions);
    Some(format!("{before}{TABLE_START}{table}{TABLE_END}{after}"))
}

/// What is written about each version: its release notes, and the guide away from it.
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

/// What is written about a version under a name, which is that of the version for its release
/// notes; nothing where no document has the name.
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

/// The file of what is written about a version, by its name.
fn file_about(name: &str) -> String {
    format!("{ABOUT_VERSIONS}/{name}.md")
}

/// Files about versions that are not served any more. All files in their folder are generated.
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
