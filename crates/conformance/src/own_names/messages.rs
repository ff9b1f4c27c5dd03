//! Checks that messages to clients contain only names of the version and texts from the request.

use std::collections::BTreeSet;

use adapter_kit::names::{all, path_in_message};
use adapter_kit::problems::{message, warning};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Versions;
use adapter_kit::wire::for_each_record;
use domain::problem::{Notice, Problem};
use domain::{Lists, Path, Record, RecordField as _};
use serde_json::value::RawValue;

use crate::case::{Case, CheckFailure};
use crate::serialisation::Pairs;

/// Checks the messages in the answer to a request.
pub(crate) struct MessageCheck<'a> {
    pub(crate) case: Case<'a>,
    pub(crate) names: &'a Names,
    pub(crate) sent_strings: &'a SentStrings,
}

impl MessageCheck<'_> {
    /// Checks the path and the message of a problem.
    pub(crate) fn check_problem(&self, problem: &Problem) -> Result<(), CheckFailure> {
        self.check_path(&problem.at)?;
        self.check_message(
            &problem.at,
            &message(self.case.version(), Lists::embedded(), problem),
        )
    }

    /// Checks the path and the message of a notice.
    pub(crate) fn check_notice(&self, notice: &Notice) -> Result<(), CheckFailure> {
        self.check_path(&notice.at)?;
        let text = warning(self.case.version(), notice).unwrap_or_default();
        let place = path_in_message(self.case.version(), &notice.at);
        self.check_message(&notice.at, &text.replace(&place, ""))
    }

    /// Checks that the path names a field of the version or a key from the request.
    fn check_path(&self, path: &Path) -> Result<(), CheckFailure> {
        if let Path::Key(key) | Path::NestedKey { key, .. } = path {
            // A key in a group is reported with its path.
            let keys = &self.sent_strings.keys;
            return match keys.contains(key) || key.split('.').all(|step| keys.contains(step)) {
                true => Ok(()),
                false => self.case.fail(key.as_str(), "is named but was not sent"),
            };
        }
        let place = path_in_message(self.case.version(), path);
        let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let whole = self.case.version().wire.envelope.request;
        match place
            .split(' ')
            .find(|word| !number(word) && *word != whole && !self.names.known.contains(word))
        {
            Some(word) => self
                .case
                .fail(word, "is named but is not a name of this version"),
            None => Ok(()),
        }
    }

    /// Checks that the message has no name from outside the version, except in text repeated from
    /// the request.
    fn check_message(&self, path: &Path, words: &str) -> Result<(), CheckFailure> {
        // The path to a field in a group is one name.
        let paths = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
        let unknown = paths
            .map(|path| path.trim_end_matches('.'))
            .filter(|path| !self.names.known.contains(path));
        let mut tokens = unknown.flat_map(|path| path.split('.'));
        let repeated = |word: &str| {
            self.sent_strings
                .texts
                .iter()
                .any(|text| text.contains(word))
        };
        match tokens.find(|word| self.names.other.contains(word) && !repeated(word)) {
            Some(word) => {
                let place = path_in_message(self.case.version(), path);
                self.case.fail(
                    word,
                    format!("is not a name of this version, in: {place} {words}"),
                )
            }
            None => Ok(()),
        }
    }
}

/// The keys and strings of a request body, at any depth and including duplicate keys.
#[derive(Default)]
pub(crate) struct SentStrings {
    keys: BTreeSet<String>,
    texts: BTreeSet<String>,
}

impl SentStrings {
    /// Collects the strings of a JSON body; none if the body is not JSON.
    pub(crate) fn from_json(json: &str) -> Self {
        let mut sent_strings = Self::default();
        sent_strings.collect(json.trim());
        sent_strings
    }

    /// Adds the keys and strings of a JSON value and of the values inside it.
    fn collect(&mut self, json: &str) {
        if let Ok(text) = serde_json::from_str(json) {
            self.texts.insert(text);
        } else if let Ok(Pairs(pairs)) = serde_json::from_str(json) {
            for (key, value) in pairs {
                self.keys.insert(key);
                self.collect(value.get());
            }
        } else if let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(json) {
            values.iter().for_each(|value| self.collect(value.get()));
        }
    }
}

/// The names of a version, and the names that only the dictionary or other versions have.
pub(crate) struct Names {
    known: BTreeSet<&'static str>,
    other: BTreeSet<&'static str>,
}

impl Names {
    pub(crate) fn new(version: &ApiVersion, versions: &Versions) -> Self {
        let known = all(version);
        let mut other: BTreeSet<_> = versions
            .iter()
            .flat_map(|other| all(other.version))
            .collect();
        other.extend(for_each_record!(dictionary()).concat());
        other.retain(|name| !known.contains(name));
        Self { known, other }
    }

    /// Returns the names of both sets.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().chain(&self.other).copied()
    }
}

/// Returns the canonical names of the fields of a record.
fn dictionary<R: Record>() -> Vec<&'static str> {
    R::Field::ALL
        .iter()
        .map(|field| field.info().name)
        .collect()
}
