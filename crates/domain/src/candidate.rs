//! The record on its way in: partly wrong, perhaps, and still whole enough to be judged.
//!
//! A request becomes a [`Candidate`]: the merged record, the fields that were sent and the fields
//! that already have a problem. A rule that needs a field in problem is skipped, so one mistake is
//! reported once, and all mistakes are reported together.

use crate::dictionary::{Changes, Record};
use crate::field_set::FieldSet;
use crate::problem::{Notice, NoticeKind, Path, Problem, ProblemKind};
use crate::rules::Context;

/// What a request sent for one record: the changes that could be read, and what was wrong with the
/// rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent<R: Record> {
    /// The changes that could be read.
    pub changes: R::Changes,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Fields that could not be read; no rule that needs one of them is run.
    pub unread: FieldSet<R::Field>,
    /// What the client should know besides.
    pub notices: Vec<Notice>,
    /// Names that the version does not have, whatever has become of them.
    pub misnamed: Misnamed,
}

/// Names of a request that its version does not have, in nested records too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Misnamed {
    /// Names that only other versions know, each once.
    pub foreign: Vec<&'static str>,
    /// How many names nobody knows. They are not kept: they may be anything.
    pub unknown: usize,
}

impl Misnamed {
    /// Remembers a name of another version, once, however often it was sent.
    pub fn remember(&mut self, name: &'static str) {
        if !self.foreign.contains(&name) {
            self.foreign.push(name);
        }
    }

    /// Adds the names of a record that belongs to this one.
    pub fn add(&mut self, nested: &Self) {
        nested.foreign.iter().for_each(|name| self.remember(name));
        self.unknown += nested.unknown;
    }
}

impl<R: Record> Default for Sent<R> {
    fn default() -> Self {
        Self {
            changes: R::Changes::default(),
            problems: Vec::new(),
            unread: FieldSet::new(),
            notices: Vec::new(),
            misnamed: Misnamed::default(),
        }
    }
}

impl<R: Record> Sent<R> {
    /// What these changes ask for, without anything wrong.
    #[must_use]
    pub fn of(changes: R::Changes) -> Self {
        Self { changes, ..Self::default() }
    }

    /// The text that is asked for in a field, when it is text.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<String> {
        self.changes.asked(field).and_then(|value| value.as_text().map(str::to_owned))
    }
}

/// A merged record that is being judged.
#[derive(Debug, Clone)]
pub struct Candidate<R: Record> {
    /// The record as it would be stored.
    pub record: R,
    /// The record that this one is written for.
    pub owner: R::Owner,
    stored: Option<R>,
    asked: R::Changes,
    sent: FieldSet<R::Field>,
    present: FieldSet<R::Field>,
    blank: FieldSet<R::Field>,
    unsound: FieldSet<R::Field>,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
}

impl<R: Record> Candidate<R> {
    /// Merges what was sent into the stored record, or into an empty one.
    #[must_use]
    pub fn new(owner: R::Owner, stored: Option<&R>, sent: Sent<R>, context: &Context<'_>) -> Self {
        let asked = sent.changes.clone();
        let (record, merged) = R::merge(stored, sent.changes, context.lists, context.terms);
        let mut candidate = Self {
            record,
            owner,
            stored: stored.cloned(),
            asked,
            sent: merged.sent,
            present: merged.present,
            blank: merged.blank,
            unsound: sent.unread,
            problems: sent.problems,
            notices: sent.notices,
        };
        if let Some(stored) = stored {
            let implied = R::implied_changes(stored, &candidate.asked, &candidate.sent, context.lists);
            implied.iter().for_each(|field| candidate.touch(*field));
        }
        let ignored = candidate.record.ignored_fields(context.organisations);
        for (field, kind) in merged.misfits {
            if !ignored.contains(&field) {
                candidate.object(field, kind);
            }
        }
        candidate
    }

    /// The record as it was before the request; `None` when it is new.
    #[must_use]
    pub fn stored(&self) -> Option<&R> {
        self.stored.as_ref()
    }

    /// What the request asked for, before anything was compared or adjusted.
    #[must_use]
    pub fn asked(&self) -> &R::Changes {
        &self.asked
    }

    /// Whether the request changes any of the fields. In a new record every field is sent.
    #[must_use]
    pub fn touches(&self, fields: &[R::Field]) -> bool {
        self.stored.is_none() || self.sent.contains_any(fields)
    }

    /// Whether the request changes the field.
    #[must_use]
    pub fn sent(&self, field: R::Field) -> bool {
        self.sent.contains(field)
    }

    /// Whether the request has a key for the field, whatever its value.
    #[must_use]
    pub fn present(&self, field: R::Field) -> bool {
        self.present.contains(field)
    }

    /// Whether the field was sent as blank text.
    #[must_use]
    pub fn blank(&self, field: R::Field) -> bool {
        self.blank.contains(field)
    }

    /// Whether none of the fields has a problem.
    #[must_use]
    pub fn sound(&self, fields: &[R::Field]) -> bool {
        !self.unsound.contains_any(fields)
    }

    /// Whether the request would change the record.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.stored.as_ref() != Some(&self.record)
    }

    /// Marks a field that a rule has changed, so that the rules which read it are run.
    pub fn touch(&mut self, field: R::Field) {
        self.sent.insert(field);
    }

    /// Reports a problem with a field.
    pub fn object(&mut self, field: R::Field, kind: ProblemKind) {
        self.unsound.insert(field);
        self.problems.push(Problem::at(field, kind));
    }

    /// Reports a problem that was found somewhere.
    pub fn report(&mut self, problem: Problem) {
        if let Path::Field(at) = problem.at
            && let Some(field) = <R::Field as crate::RecordField>::ALL.iter().copied().find(|f| (*f).into() == at)
        {
            self.unsound.insert(field);
        }
        self.problems.push(problem);
    }

    /// Tells the client something about a field of a request that is accepted all the same.
    pub fn notice(&mut self, field: R::Field, kind: NoticeKind) {
        self.notices.push(Notice { at: Path::from(field), kind });
    }

    /// The problems found so far.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The verdict: the record with what the client should know, or all problems.
    ///
    /// # Errors
    ///
    /// All problems that were found, when there are any.
    pub fn verdict(self) -> Result<(R, Vec<Notice>), Vec<Problem>> {
        if self.problems.is_empty() { Ok((self.record, self.notices)) } else { Err(self.problems) }
    }
}
