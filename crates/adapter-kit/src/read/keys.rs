//! The keys of an object that are no inputs: fields of a response, and unknown names.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};

use domain::problem::{NameHint, NoticeKind};
use domain::{Notice, Path, Problem, ProblemKind};

use super::limits::MAX_UNKNOWN;

/// The most edits of single characters that a misspelt name may be away from a known one.
const MAX_EDITS: usize = 3;
/// Longer names are not compared, in bytes.
const MAX_COMPARED_BYTES: usize = 64;

/// What becomes of unknown names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownNames {
    /// They are reported, and the rest of the request is accepted.
    #[default]
    Warn,
    /// The request is refused.
    Reject,
    /// They are not reported, and cost nothing: the caller has looked for them already.
    Ignore,
}

/// Keys of an object that are no inputs.
#[derive(Default)]
pub(super) struct Keys {
    seen: HashSet<String>,
    repeated: Vec<String>,
    unknown: Vec<(String, NameHint)>,
    lists: Vec<String>,
}

impl Keys {
    /// Adds a known name, such as a field of a response; says whether it is new. However often a
    /// name is repeated, that is one problem.
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

    /// Adds an unknown name.
    pub(super) fn add_unknown(&mut self, key: &str, hint: impl Fn(&str) -> NameHint) {
        self.add_known(key);
        if self.unknown.len() < MAX_UNKNOWN && !self.unknown.iter().any(|(known, _)| known == key) {
            self.unknown.push((key.to_string(), hint(key)));
        }
    }

    /// Adds a nested list that is ignored.
    pub(super) fn add_list(&mut self, key: &str) {
        self.lists.push(key.to_owned());
    }

    /// Reports what is wrong with the keys. A key next to `data` has the path of the same key in
    /// it, and is reported once.
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

/// Adds it, unless one of its kind has the same path.
fn add_once<T, K>(reported: &mut Vec<T>, one: T, id: impl Fn(&T) -> (&Path, Discriminant<K>)) {
    if !reported.iter().any(|other| id(other) == id(&one)) {
        reported.push(one);
    }
}

/// The known name that an unknown one is most likely a misspelling of.
#[must_use]
pub fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if key.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let edits = |name: &str| strsim::damerau_levenshtein(key, name);
    names
        .map(|name| (edits(name), name))
        .filter(|(edits, name)| *edits <= MAX_EDITS.min(name.len() / 3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}
