//! Keys of an object that are not inputs: fields of responses and unknown names.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};

use domain::problem::{NameHint, NoticeKind};
use domain::{Notice, Path, Problem, ProblemKind};

use super::limits::MAX_UNKNOWN;

/// The maximum number of single-character edits between a misspelt name and a known name.
const MAX_EDITS: usize = 3;
/// The maximum length of names to search for misspellings, in bytes.
const MAX_COMPARED_BYTES: usize = 64;

/// The handling of unknown names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownNames {
    /// Reports unknown names as notices and accepts the rest of the request.
    #[default]
    Warn,
    /// Rejects the request.
    Reject,
    /// Does not report unknown names. For callers that read the same body again.
    Ignore,
}

/// Collects the keys of an object that are not inputs.
#[derive(Default)]
pub(super) struct Keys {
    seen: HashSet<String>,
    repeated: Vec<String>,
    unknown: Vec<(String, NameHint)>,
    /// Ignored nested lists.
    lists: Vec<String>,
}

impl Keys {
    /// Adds a known name, such as a field of a response. Returns whether the name is new. A
    /// repeated name is reported once.
    pub(super) fn add_known(&mut self, key: &str) -> bool {
        let is_new = self.seen.insert(key.to_string());
        if !is_new
            && self.repeated.len() < MAX_UNKNOWN
            && !self.repeated.iter().any(|known| known == key)
        {
            self.repeated.push(key.to_string());
        }
        is_new
    }

    /// Returns the repeated keys, each once.
    pub(super) fn into_repeated(self) -> Vec<String> {
        self.repeated
    }

    /// Adds an unknown name. Computes the hint only if the name is reported.
    pub(super) fn add_unknown(&mut self, key: &str, hint: impl Fn(&str) -> NameHint) {
        self.add_known(key);
        if self.unknown.len() < MAX_UNKNOWN && !self.unknown.iter().any(|(known, _)| known == key) {
            self.unknown.push((key.to_string(), hint(key)));
        }
    }

    /// Adds an ignored nested list.
    pub(super) fn add_list(&mut self, key: &str) {
        self.lists.push(key.to_owned());
    }

    /// Appends the problems and notices of the keys. A key next to `data` has the same path as that
    /// key within `data`, and is reported once.
    pub(super) fn report(
        self,
        problems: &mut Vec<Problem>,
        notices: &mut Vec<Notice>,
        unknown: UnknownNames,
    ) {
        for key in self.repeated {
            let problem = Problem::at(Path::Key(key), ProblemKind::RepeatedKey);
            add_problem(problems, problem);
        }
        let lists = self
            .lists
            .into_iter()
            .map(|key| (key, NoticeKind::UseEndpoint, ProblemKind::UseEndpoint));
        let unknown_names = self.unknown.into_iter().map(|(key, hint)| {
            (
                key,
                NoticeKind::UnknownName { hint: hint.clone() },
                ProblemKind::UnknownName { hint },
            )
        });
        for (key, notice, problem) in lists.chain(unknown_names) {
            let at = Path::Key(key);
            match unknown {
                UnknownNames::Warn | UnknownNames::Ignore => {
                    add_once(notices, Notice { at, kind: notice }, |one| {
                        (&one.at, discriminant(&one.kind))
                    });
                }
                UnknownNames::Reject => add_problem(problems, Problem { at, kind: problem }),
            }
        }
    }
}

fn add_problem(problems: &mut Vec<Problem>, problem: Problem) {
    add_once(problems, problem, |one| (&one.at, discriminant(&one.kind)));
}

/// Appends an entry unless the list has an entry of the same kind at the same path.
fn add_once<T, K>(reported: &mut Vec<T>, one: T, id: impl Fn(&T) -> (&Path, Discriminant<K>)) {
    if !reported.iter().any(|other| id(other) == id(&one)) {
        reported.push(one);
    }
}

/// Returns the known name with the fewest edits to `key`, or `None` if no name is similar.
#[must_use]
pub fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if key.len() > MAX_COMPARED_BYTES {
        return None;
    }
    names
        .map(|name| (strsim::damerau_levenshtein(key, name), name))
        // In a short name, a few edits are enough for a completely different name.
        .filter(|(edits, name)| *edits <= MAX_EDITS.min(name.len() / 3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}
