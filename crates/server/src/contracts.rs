//! The committed contracts: which files they are, and whether what is served keeps them.

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

/// The file of a contract that says what its OpenAPI document does not, in a folder that has the
/// name of the version.
const SHAPE: &str = "shape.json";

/// Why contracts cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not JSON.
    #[error("{} is not a contract: {source}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no contract in the folder.
    #[error("{} holds no contract: there is no folder with the name of a version", .0.display())]
    Empty(PathBuf),
    /// A contract cannot be written.
    #[error("the contract of a version cannot be written: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// The files in which the contract of a version is committed: their names and what stands in them.
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
    // The one in OpenAPI 3.0 follows from that for clients.
    let (complete, client) = (OpenApiDocument::Complete, OpenApiDocument::Client);
    Ok(vec![
        (complete.file(), written(complete)?),
        (client.file(), written(client)?),
        (SHAPE, shape),
    ])
}

/// What became of the contracts that were promised.
#[derive(Debug, Default)]
pub struct Report {
    /// By version, oldest first.
    pub outcomes: BTreeMap<Label, Outcome>,
    /// Versions that nothing was promised of.
    pub new: Vec<Label>,
}

impl Report {
    /// How many promises are broken.
    #[must_use]
    pub fn broken(&self) -> usize {
        let broken = |outcome: &Outcome| match outcome {
            Outcome::Served(changes) => changes.iter().filter(|change| change.breaking).count(),
            Outcome::Removed => 0,
            Outcome::Lost => 1,
        };
        self.outcomes.values().map(broken).sum()
    }

    /// The broken promises that the change log announces: an entry below a heading that begins with
    /// "Breaking" names the version and what the change is about. That a version is lost is none of
    /// them.
    #[must_use]
    pub fn announced(&self, change_log: &str) -> Vec<(Label, &Change)> {
        let entries = breaking_entries(change_log);
        let is_announced = |label: &Label, change: &Change| {
            let label = label.to_string();
            entries
                .iter()
                .any(|entry| mentions(entry, &label) && mentions(entry, change.subject()))
        };
        let served = self
            .outcomes
            .iter()
            .filter_map(|(label, outcome)| match outcome {
                Outcome::Served(changes) => Some((*label, changes)),
                Outcome::Removed | Outcome::Lost => None,
            });
        let changes =
            served.flat_map(|(label, changes)| changes.iter().map(move |change| (label, change)));
        let breaking = changes.filter(|(_, change)| change.breaking);
        breaking
            .filter(|(label, change)| is_announced(label, change))
            .collect()
    }

    /// What was added and is not mentioned in the change log, by version.
    #[must_use]
    pub fn unmentioned(&self, change_log: &str) -> Vec<(Label, String)> {
        let added = |(label, outcome): (&Label, &Outcome)| -> Vec<(Label, String)> {
            match outcome {
                Outcome::Served(changes) => changes
                    .iter()
                    .filter(|change| !change.breaking && !mentions(change_log, change.subject()))
                    .map(|change| (*label, change.subject().to_owned()))
                    .collect(),
                Outcome::Removed | Outcome::Lost => Vec::new(),
            }
        };
        let mut unmentioned: Vec<_> = self.outcomes.iter().flat_map(added).collect();
        unmentioned.sort();
        unmentioned.dedup();
        unmentioned
    }
}

/// The entries of a change log below headings that begin with "Breaking", each on one line.
fn breaking_entries(change_log: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let (mut is_breaking, mut is_open) = (false, false);
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

/// Whether a text names something as a word of its own.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text
            .get(at + name.len()..)
            .and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Compares the contracts of a folder with what is served.
///
/// # Errors
///
/// When the folder holds no contracts, or one that cannot be read.
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
    fn a_name_is_mentioned_as_a_word_of_its_own() {
        assert!(mentions("- `course_title` is new.", "course_title"));
        assert!(mentions(
            "POST /trainees/{trainee_id}/defer",
            "POST /trainees/{trainee_id}/defer"
        ));
        assert!(!mentions("- `course_title_long` is new.", "course_title"));
        assert!(!mentions("", "course_title"));
    }
}
