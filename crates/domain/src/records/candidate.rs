//! The merged record during validation.
//!
//! A [`Candidate`] consists of the merged record, the changed fields and the fields with a problem.
//! Rules that need a field with a problem are skipped. Therefore each mistake is reported once, and
//! all mistakes are reported together.

use crate::fields::field_set::FieldSet;
use crate::fields::parsed::ParsedRecord;
use crate::problem::{Notice, NoticeKind, Path, Problem, ProblemKind};
use crate::records::context::Context;
use crate::records::record::Record;

/// A merged record during validation, without its nested records.
#[derive(Debug, Clone)]
pub struct Candidate<R: Record> {
    /// The record to store if it is valid.
    pub record: R::Flat,
    /// The record that owns this one.
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
    /// Merges a request into the stored record, or into a new record if `stored` is `None`.
    #[must_use]
    pub fn new(
        owner: R::Owner,
        stored: Option<R::Flat>,
        mut sent: ParsedRecord<R>,
        context: &Context<'_>,
    ) -> Self {
        sent.complete_values(stored.as_ref(), context.lists);
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
        // A requested change can change further fields of a stored record.
        if let Some(stored) = &candidate.stored {
            let implied = R::implied_changes(
                stored,
                &candidate.requested,
                &candidate.changed,
                context.lists,
            );
            for field in implied {
                candidate.mark_changed(*field);
            }
        }
        // Values that are not used cannot be wrong.
        let ignored = R::ignored_fields(&candidate.record, context.organisations);
        for (field, invalid) in merged.invalid {
            if !ignored.contains(&field) {
                candidate.reject(field, invalid.into());
            }
        }
        candidate
    }

    /// Returns the stored record before the request, or `None` if the record is new.
    #[must_use]
    pub fn stored(&self) -> Option<&R::Flat> {
        self.stored.as_ref()
    }

    /// Whether the request creates the record.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.stored.is_none()
    }

    /// Returns the requested changes as sent.
    #[must_use]
    pub fn requested(&self) -> &R::Changes {
        &self.requested
    }

    /// Whether the request changes any of the fields. In a new record, all fields count as changed.
    #[must_use]
    pub fn changes_any(&self, fields: &[R::Field]) -> bool {
        self.is_new() || self.changed.contains_any(fields)
    }

    /// Whether the request sends a different value for the field.
    #[must_use]
    pub fn changes(&self, field: R::Field) -> bool {
        self.changed.contains(field)
    }

    /// Whether the request has a key for the field, also with the stored value.
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

    /// Marks a field as changed, so that rules that read the field run.
    pub fn mark_changed(&mut self, field: R::Field) {
        self.changed.insert(field);
    }

    /// Reports a problem of a field.
    pub fn reject(&mut self, field: R::Field, kind: ProblemKind) {
        self.report(Problem::at(field, kind));
    }

    /// Reports a problem. If its path is a field of this record, marks the field as invalid.
    pub fn report(&mut self, problem: Problem) {
        if let Path::Field(at) = problem.at
            && let Some(field) = at.to_record_field()
        {
            self.invalid.insert(field);
        }
        self.problems.push(problem);
    }

    /// Adds a notice about a field.
    pub fn notice(&mut self, field: R::Field, kind: NoticeKind) {
        self.notices.push(Notice {
            at: Path::from(field),
            kind,
        });
    }

    /// Adds a notice about a value that cannot be recorded as sent. In a strict request, reports
    /// the problem instead.
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

    /// Returns the problems found so far.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the record and the notices for the client.
    ///
    /// # Errors
    ///
    /// All problems, if the record has any.
    pub fn into_result(self) -> Result<(R::Flat, Vec<Notice>), Vec<Problem>> {
        if self.problems.is_empty() {
            Ok((self.record, self.notices))
        } else {
            Err(self.problems)
        }
    }
}
