//! The keys of an object that are no inputs: fields of a response, and names that nobody knows.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};

use domain::problem::{NameHint, NoticeKind};
use domain::{Notice, ParsedRecord, Path, Problem, ProblemKind};

use super::{MAX_UNKNOWN, UnknownNames};
use crate::version::Wire;

/// Names further than this from a known one are not taken for a slip, in single edits.
const SLIP_EDITS: usize = 3;
/// Longer names are not compared, in bytes.
const SLIP_LENGTH: usize = 64;

/// Keys of an object that are no inputs.
#[derive(Default)]
pub(super) struct Others {
    seen: HashSet<String>,
    repeated: Vec<String>,
    unknown: Vec<(String, NameHint)>,
    lists: Vec<String>,
}

impl Others {
    /// Remembers a name that means something, such as a field of a response, and says whether it is new. However often a
    /// name is repeated, that is one problem.
    pub(super) fn keep_known(&mut self, key: &str) -> bool {
        if self.seen.insert(key.to_string()) {
            return true;
        }
        if self.repeated.len() < MAX_UNKNOWN && !self.repeated.iter().any(|known| known == key) {
            self.repeated.push(key.to_string());
        }
        false
    }

    /// Remembers a name that nobody knows.
    pub(super) fn keep(&mut self, key: &str, hint: impl Fn(&str) -> NameHint) {
        self.keep_known(key);
        if self.unknown.len() < MAX_UNKNOWN && !self.unknown.iter().any(|(known, _)| known == key) {
            self.unknown.push((key.to_string(), hint(key)));
        }
    }

    /// Remembers a nested list that means nothing here.
    pub(super) fn keep_list(&mut self, key: &str) {
        self.lists.push(key.to_owned());
    }

    /// Tells what is wrong with the keys. One that stands beside a record and in it has the same place, and is told once.
    pub(super) fn report<R: Wire>(self, sent: &mut ParsedRecord<R>, unknown: UnknownNames) {
        for key in self.repeated {
            tell_problem(sent, Problem::at(Path::Key(key), ProblemKind::RepeatedKey));
        }
        let lists = self.lists.into_iter().map(|key| (key, NoticeKind::UseEndpoint, ProblemKind::UseEndpoint));
        let unknown_names = self.unknown.into_iter().map(|(key, hint)| {
            (key, NoticeKind::UnknownName { hint: hint.clone() }, ProblemKind::UnknownName { hint })
        });
        for (key, notice, problem) in lists.chain(unknown_names) {
            let at = Path::Key(key);
            match unknown {
                UnknownNames::Tell => tell_notice(sent, Notice { at, kind: notice }),
                UnknownNames::Refuse => tell_problem(sent, Problem { at, kind: problem }),
            }
        }
    }
}

fn tell_problem<R: Wire>(sent: &mut ParsedRecord<R>, problem: Problem) {
    tell_once(&mut sent.problems, problem, |problem| (&problem.at, discriminant(&problem.kind)));
}

fn tell_notice<R: Wire>(sent: &mut ParsedRecord<R>, notice: Notice) {
    tell_once(&mut sent.notices, notice, |notice| (&notice.at, discriminant(&notice.kind)));
}

/// Adds it, unless one of its kind was told of the same place.
fn tell_once<T, K>(told: &mut Vec<T>, one: T, subject: impl Fn(&T) -> (&Path, Discriminant<K>)) {
    if !told.iter().any(|other| subject(other) == subject(&one)) {
        told.push(one);
    }
}

/// The known name that an unknown one is most likely a slip of.
#[must_use]
pub fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if key.len() > SLIP_LENGTH {
        return None;
    }
    let edits = |name: &str| strsim::damerau_levenshtein(key, name);
    names
        .map(|name| (edits(name), name))
        .filter(|(edits, name)| *edits <= SLIP_EDITS.min(name.len() / 3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}
