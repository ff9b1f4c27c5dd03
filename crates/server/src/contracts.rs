//! The committed contracts of the versions, and the comparison of the served versions with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use adapter_kit::{Label, Served, Versions};
use domain::Lists;
use serde_json::Value;
use version_tools::compatibility::{Contract, Outcome, outcome, shape};
use version_tools::difference::Change;

use gateway::endpoints::openapi;
use http_kit::paths::OpenApiDocument;

/// The file with the parts of a contract that its OpenAPI document does not contain. Each version
/// has a folder named after its label.
const SHAPE: &str = "shape.json";

/// The reasons why contracts cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file is not JSON.
    #[error("{} is not a contract: {source}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The syntax error.
        source: serde_json::Error,
    },
    /// The folder contains no contract.
    #[error("{} contains no contract: no folder has the name of a version", .0.display())]
    Empty(PathBuf),
    /// The contract could not be generated.
    #[error("cannot generate the contract of a version: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// The files of a committed contract: their names and contents.
///
/// # Errors
///
/// [`ContractError::Unwritable`]
pub fn files(served: &Served, lists: &Lists) -> Result<Vec<(&'static str, String)>, ContractError> {
    let written =
        |document| openapi::written(served, document, lists).map_err(ContractError::Unwritable);
    let mut shape = serde_json::to_string_pretty(&shape::describe(served.version, lists))
        .map_err(ContractError::Unwritable)?;
    shape.push('\n');
    // The OpenAPI 3.0 document is derived from the client document.
    let complete = OpenApiDocument::Complete;
    let client = OpenApiDocument::Client;
    Ok(vec![
        (complete.file(), written(complete)?),
        (client.file(), written(client)?),
        (SHAPE, shape),
    ])
}

/// The result of comparing contracts.
#[derive(Debug, Default)]
pub struct Report {
    /// The results by version, oldest first.
    pub outcomes: BTreeMap<Label, Outcome>,
    /// Served versions without a committed contract.
    pub new: Vec<Label>,
}

impl Report {
    /// The number of breaking changes and lost versions.
    #[must_use]
    pub fn broken(&self) -> usize {
        let count = |outcome: &Outcome| match outcome {
            Outcome::Served(changes) => changes.iter().filter(|change| change.breaking).count(),
            Outcome::Removed => 0,
            Outcome::Lost => 1,
        };
        self.outcomes.values().map(count).sum()
    }

    /// The breaking changes that the change log announces, with their versions. A change is
    /// announced if an entry below a heading that begins with "Breaking" names the version and the
    /// subject of the change. The loss of a version cannot be announced.
    #[must_use]
    pub fn announced(&self, change_log: &str) -> Vec<(Label, &Change)> {
        let entries = breaking_entries(change_log);
        let is_announced = |label: &str, change: &Change| {
            entries
                .iter()
                .any(|entry| mentions(entry, label) && mentions(entry, change.subject()))
        };
        let mut announced = Vec::new();
        for (label, outcome) in &self.outcomes {
            let Outcome::Served(changes) = outcome else {
                continue;
            };
            let name = label.to_string();
            for change in changes {
                if change.breaking && is_announced(&name, change) {
                    announced.push((*label, change));
                }
            }
        }
        announced
    }

    /// The additions that the change log does not mention, by version.
    #[must_use]
    pub fn unmentioned(&self, change_log: &str) -> Vec<(Label, String)> {
        let mut unmentioned = Vec::new();
        for (label, outcome) in &self.outcomes {
            let Outcome::Served(changes) = outcome else {
                continue;
            };
            for change in changes {
                if !change.breaking && !mentions(change_log, change.subject()) {
                    unmentioned.push((*label, change.subject().to_owned()));
                }
            }
        }
        unmentioned.sort();
        unmentioned.dedup();
        unmentioned
    }
}

/// The entries of a change log below headings that begin with "Breaking", each on one line.
fn breaking_entries(change_log: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    // Whether the last heading begins with "Breaking".
    let mut is_breaking = false;
    // Whether the next line may continue the last entry.
    let mut is_open = false;
    for line in change_log.lines() {
        let text = line.trim();
        if line.starts_with('#') {
            is_breaking = text
                .trim_start_matches('#')
                .trim_start()
                .starts_with("Breaking");
            is_open = false;
        } else if is_breaking && (line.starts_with("- ") || line.starts_with("* ")) {
            entries.push(text.to_owned());
            is_open = true;
        } else if text.is_empty() {
            is_open = false;
        } else if let Some(entry) = entries.last_mut().filter(|_| is_open) {
            entry.push(' ');
            entry.push_str(text);
        }
    }
    entries
}

/// Whether a text contains a name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(name).any(|(start, _)| {
        let before = text
            .get(..start)
            .and_then(|before| before.chars().next_back());
        let after = text
            .get(start + name.len()..)
            .and_then(|after| after.chars().next());
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

/// Compares the contracts in a folder with the served versions. `removed` are the versions that may
/// be missing.
///
/// # Errors
///
/// When the folder contains no contracts, or a contract is unreadable.
pub fn check(
    folder: &Path,
    versions: &Versions,
    removed: &[Label],
    lists: &Lists,
) -> Result<Report, ContractError> {
    let unreadable = |source| ContractError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut report = Report::default();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let label = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.parse::<Label>().ok());
        let Some(label) = label.filter(|_| path.join(OpenApiDocument::Complete.file()).is_file())
        else {
            continue;
        };
        let promised = Contract {
            openapi: read(path.join(OpenApiDocument::Complete.file()))?,
            shape: read(path.join(SHAPE))?,
        };
        let outcome = outcome(label, &promised, versions.find(label), removed, lists);
        report
            .outcomes
            .insert(label, outcome.map_err(ContractError::Unwritable)?);
    }
    if report.outcomes.is_empty() {
        return Err(ContractError::Empty(folder.to_owned()));
    }
    let labels = versions.iter().map(|served| served.version.label);
    report.new = labels
        .filter(|label| !report.outcomes.contains_key(label))
        .collect();
    Ok(report)
}

/// Reads a JSON file of a contract.
fn read(path: PathBuf) -> Result<Value, ContractError> {
    let text = fs::read(&path).map_err(|source| ContractError::Unreadable {
        path: path.clone(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|source| ContractError::Malformed { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_mentioned_as_whole_word_only() {
        assert!(mentions("- `course_title` is new.", "course_title"));
        assert!(mentions(
            "POST /trainees/{trainee_id}/defer",
            "POST /trainees/{trainee_id}/defer"
        ));
        assert!(!mentions("- `course_title_long` is new.", "course_title"));
        assert!(!mentions("", "course_title"));
    }
}
