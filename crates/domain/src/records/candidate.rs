//! The merged record while its rules run.
//!
//! A request becomes a [`Candidate`]: the merged record, the fields that it changes and the fields
//! that already have a problem. A rule that needs a field with a problem is skipped, so one mistake
//! is reported once, and all mistakes are reported together.

use crate::fields::field_set::FieldSet;
use crate::fields::parsed::ParsedRecord;
use crate::problem::{Notice, NoticeKind, Path, Problem, ProblemKind};
use crate::records::context::Context;
use crate::records::record::Record;

/// A merged record that is being validated, without its nested records.
#[derive(Debug, Clone)]
pub struct Candidate<R: Record> {
    /// The record as it would be stored.
    pub record: R::Flat,
    /// The record that this one is written for.
    pub owner: R::Owner,
    stored: Option<R::Flat>,
    requested: R::Changes,
    changed: FieldSet<R::Field>,
    present: FieldSet<R::Field>,
    blank: FieldSet<R::Field>,
    invalid: FieldSet<R::Field>,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
    is_strict: bool,
}

impl<R: Record> Candidate<R> {
    /// Merges what was sent into the stored record, or into an empty one.
    #[must_use]
    pub fn new(
        owner: R::Owner,
        stored: Option<R::Flat>,
        sent: ParsedRecord<R>,
        context: &Context<'_>,
    ) -> Self {
        let requested = sent.changes.clone();
        let (record, merged) = R::merge(
            stored.as_ref(),
            sent.changes,
            context.lists,
            context.accepted_codes,
        );
        let mut candidate = Self {
            record,
            owner,
            stored,
            requested,
            changed: merged.changed,
            present: merged.present,
            blank: merged.blank,
            invalid: sent.unread,
            problems: sent.problems,
            notices: sent.notices,
            is_strict: sent.is_strict,
        };
        if let Some(stored) = &candidate.stored {
            let implied = R::implied_changes(
                stored,
                &candidate.requested,
                &candidate.changed,
                context.lists,
            );
            implied
                .iter()
                .for_each(|field| candidate.mark_changed(*field));
        }
        let ignored = R::ignored_fields(&candidate.record, context.organisations);
        for (field, invalid) in merged.invalid {
            if !ignored.contains(&field) {
                candidate.reject(field, invalid.into());
            }
        }
        candidate
    }

    /// The record before the request; `None` when it is new.
    #[must_use]
    pub fn stored(&self) -> Option<&R::Flat> {
        self.stored.as_ref()
    }

    /// Whether the request creates the record.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.stored.is_none()
    }

    /// The requested changes, before anything was compared or adjusted.
    #[must_use]
    pub fn requested(&self) -> &R::Changes {
        &self.requested
    }

    /// Whether the request changes any of the fields. In a new record every field is changed.
    #[must_use]
    pub fn changes_any(&self, fields: &[R::Field]) -> bool {
        self.is_new() || self.changed.contains_any(fields)
    }

    /// Whether the request sends another value for the field.
    #[must_use]
    pub fn changes(&self, field: R::Field) -> bool {
        self.changed.contains(field)
    }

    /// Whether the request has a key for the field, whatever its value.
    #[must_use]
    pub fn has_key(&self, field: R::Field) -> bool {
        self.present.contains(field)
    }

    /// Whether the field was sent as blank text.
    #[must_use]
    pub fn is_blank(&self, field: R::Field) -> bool {
        self.blank.contains(field)
    }

    /// Whether none of the fields has a problem.
    #[must_use]
    pub fn is_valid(&self, fields: &[R::Field]) -> bool {
        !self.invalid.contains_any(fields)
    }

    /// Whether the request would change the record.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.stored.as_ref() != Some(&self.record)
    }

    /// Marks a field that a rule has changed, so that the rules which read it are run.
    pub fn mark_changed(&mut self, field: R::Field) {
        self.changed.insert(field);
    }

    /// Reports a problem with a field.
    pub fn reject(&mut self, field: R::Field, kind: ProblemKind) {
        self.report(Problem::at(field, kind));
    }

    /// Reports a problem.
    pub fn report(&mut self, problem: Problem) {
        if let Path::Field(at) = problem.at
            && let Some(field) = at.to_record_field()
        {
            self.invalid.insert(field);
        }
        self.problems.push(problem);
    }

    /// Adds a notice about a field of a request that is accepted all the same.
    pub fn notice(&mut self, field: R::Field, kind: NoticeKind) {
        self.notices.push(Notice {
            at: Path::from(field),
            kind,
        });
    }

    /// Adds a notice about a value that cannot be recorded as it was sent; in a strict request, the
    /// problem.
    pub fn notice_or_reject(
        &mut self,
        field: R::Field,
        notice: NoticeKind,
        problem: impl FnOnce() -> ProblemKind,
    ) {
        if self.is_strict {
            self.reject(field, problem());
        } else {
            self.notice(field, notice);
        }
    }

    /// The problems found so far.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The record with the notices for the client.
    ///
    /// # Errors
    ///
    /// All problems that were found, when there are any.
    pub fn into_result(self) -> Result<(R::Flat, Vec<Notice>), Vec<Problem>> {
        if self.problems.is_empty() {
            Ok((self.record, self.notices))
        } else {
            Err(self.problems)
        }
    }
}
