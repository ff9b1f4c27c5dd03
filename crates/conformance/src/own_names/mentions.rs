//! Listens to what a client is told: whether it speaks of what the version has, or of what the client said itself.

use std::collections::BTreeSet;

use adapter_kit::names::{all, place};
use adapter_kit::problems::{warning, words};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Versions;
use domain::problem::{Notice, Problem};
use domain::{
    DeferralField, DegreeField, Lists, Path, PlacementField, RecommendationField, RecordField, TraineeField,
    WithdrawalField,
};
use serde_json::value::RawValue;

use crate::CheckFailure;
use crate::case::Case;
use crate::serialisation::Pairs;

/// Whoever is told something after a request.
pub(crate) struct Listener<'a> {
    pub(crate) case: Case<'a>,
    pub(crate) names: &'a Names,
    pub(crate) said: &'a Said,
}

impl Listener<'_> {
    /// A problem is at a place that there is, and is told in words that the version has.
    pub(crate) fn complaint(&self, problem: &Problem) -> Result<(), CheckFailure> {
        self.located(&problem.at)?;
        self.worded(&problem.at, &words(self.case.version(), Lists::embedded(), problem))
    }

    /// So is a notice.
    pub(crate) fn remark(&self, notice: &Notice) -> Result<(), CheckFailure> {
        self.located(&notice.at)?;
        let text = warning(self.case.version(), notice).unwrap_or_default();
        let place = place(self.case.version(), &notice.at);
        self.worded(&notice.at, &text.replace(&place, ""))
    }

    /// The place is one of the version's, or of the client's.
    fn located(&self, path: &Path) -> Result<(), CheckFailure> {
        if let Path::Key(key) | Path::NestedKey { key, .. } = path {
            return match self.said.keys.contains(key) {
                true => Ok(()),
                false => self.case.fail(key.as_str(), "is named, and was not sent"),
            };
        }
        let place = place(self.case.version(), path);
        let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        match place.split(' ').find(|word| !number(word) && *word != "data" && !self.names.known.contains(word)) {
            Some(word) => self.case.fail(word, "is named, and is no name of this version"),
            None => Ok(()),
        }
    }

    /// The words have no name that the version does not have, unless they repeat it from a value that was sent.
    fn worded(&self, path: &Path, words: &str) -> Result<(), CheckFailure> {
        let mut tokens = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let repeated = |word: &str| self.said.texts.iter().any(|text| text.contains(word));
        match tokens.find(|word| self.names.strange.contains(word) && !repeated(word)) {
            Some(word) => {
                let place = place(self.case.version(), path);
                self.case.fail(word, format!("is no name of this version, in: {place} {words}"))
            }
            None => Ok(()),
        }
    }
}

/// What stands in a body, at any depth, each time that it stands there.
#[derive(Default)]
pub(crate) struct Said {
    keys: BTreeSet<String>,
    texts: BTreeSet<String>,
}

impl Said {
    /// What stands in a text that is JSON; nothing where it is not.
    pub(crate) fn of(json: &str) -> Self {
        let mut said = Self::default();
        said.hear(json.trim());
        said
    }

    fn hear(&mut self, json: &str) {
        if let Ok(text) = serde_json::from_str(json) {
            self.texts.insert(text);
        } else if let Ok(Pairs(pairs)) = serde_json::from_str(json) {
            for (key, value) in pairs {
                self.keys.insert(key);
                self.hear(value.get());
            }
        } else if let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(json) {
            values.iter().for_each(|value| self.hear(value.get()));
        }
    }
}

/// The names that a version has, and those that only the dictionary or other versions have.
pub(crate) struct Names {
    known: BTreeSet<&'static str>,
    strange: BTreeSet<&'static str>,
}

impl Names {
    pub(crate) fn of(version: &ApiVersion, versions: &Versions) -> Self {
        let known = all(version);
        let mut strange: BTreeSet<_> = versions.iter().flat_map(|other| all(other.version)).collect();
        strange.extend(dictionary::<TraineeField>());
        strange.extend(dictionary::<PlacementField>());
        strange.extend(dictionary::<DegreeField>());
        strange.extend(dictionary::<WithdrawalField>());
        strange.extend(dictionary::<DeferralField>());
        strange.extend(dictionary::<RecommendationField>());
        strange.retain(|name| !known.contains(name));
        Self { known, strange }
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().chain(&self.strange).copied()
    }
}

fn dictionary<F: RecordField>() -> impl Iterator<Item = &'static str> {
    F::ALL.iter().map(|field| field.info().name)
}
