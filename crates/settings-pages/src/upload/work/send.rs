//! Sends a row that the check has accepted.

use std::convert::Infallible;

use gateway::parts::rows::{RowOutcome, was_sent};
use gateway::request::row::Row as RowRequest;
use serde_json::Value;
use storage::accounts::uploads::{UploadResult, UploadRowKind, UploadStage};
use trainee_file::{
    AcceptedValue, Differences, Memory, NestedChange, NestedRow, SentNested, TraineeRow, at, cell,
    compare,
};

use super::check::{cell_problem, check_fields, check_nested, record};
use super::requests::{Prepared, nested_fields};
use super::{Work, WorkEnd};
use crate::upload::row_details::{CellChange, CellProblem, RowDetails, read_result};

/// What the person reads of a row that was not sent because its trainee was changed.
const CHANGED: &str = "The trainee was changed in the register after the check. Check the file \
                       again to see the present values.";

/// Sends the row of a result of the check. `may_be_sent` says whether an earlier server may have
/// sent it without storing its result.
pub(super) async fn send_row(
    work: &Work,
    checked: &UploadResult,
    may_be_sent: bool,
) -> Result<UploadResult, WorkEnd> {
    let place = (work.order.upload.id, UploadStage::Check);
    let mut details: RowDetails =
        read_result(&work.order.key, place, checked).ok_or(WorkEnd::Unreadable)?;
    let row = work.file.row_at(checked.line).ok_or(WorkEnd::LeaseLost)?;
    let read = work.file.trainee_row(row);
    let kind = match (checked.kind, details.trainee_id.clone()) {
        (UploadRowKind::Register, None) => {
            let registration = work.prepare(row, false).registration(&read);
            let is_own = may_be_sent
                && was_sent(&work.state, &work.order.user, registration.clone()).await?;
            if !is_own && is_registered(work, &read).await? {
                UploadRowKind::ChangedMeanwhile
            } else {
                register(work, registration, &read, &mut details).await?
            }
        }
        (UploadRowKind::Change, Some(id)) => {
            let mut sending = Sending {
                prepared: work.prepare(row, false),
                checking: work.prepare(row, true),
                work,
                trainee_id: id,
                may_be_sent,
                is_repeated: false,
            };
            sending.change(&read, &mut details).await?
        }
        _ => return Err(WorkEnd::Unreadable),
    };
    if kind == UploadRowKind::ChangedMeanwhile {
        details.problems.push(CellProblem {
            heading: String::new(),
            words: CHANGED.to_owned(),
        });
    }
    if !details.problems.is_empty() {
        details.cells.clone_from(&row.cells);
    }
    Ok(work.seal(checked.line, kind, &details)?)
}

/// Whether a trainee with the key of the row was registered after the check.
async fn is_registered(work: &Work, read: &TraineeRow) -> Result<bool, WorkEnd> {
    let mut trainees = work.trainees.lock().await;
    trainees.update(work).await?;
    Ok(trainees.is_registered(read))
}

async fn register(
    work: &Work,
    registration: RowRequest,
    read: &TraineeRow,
    details: &mut RowDetails,
) -> Result<UploadRowKind, WorkEnd> {
    let outcome = work.run(registration).await?;
    for problem in &outcome.problems {
        let column = read.column_name(&problem.field);
        details.problems.push(cell_problem(work, &column, problem));
    }
    Ok(match outcome.is_accepted() {
        true => UploadRowKind::Register,
        false => UploadRowKind::Refused,
    })
}

/// A row that changes a trainee.
struct Sending<'a> {
    work: &'a Work,
    prepared: Prepared<'a>,
    /// Like `prepared`, but the requests are only checked.
    checking: Prepared<'a>,
    trainee_id: String,
    /// Whether parts of the row may have been sent before.
    may_be_sent: bool,
    /// Whether a request was sent again without a reply to the first one, which may have been done.
    is_repeated: bool,
}

/// The memory of a row that may have been sent, in whole or in part.
struct MayBeSent<'a> {
    current: &'a Value,
}

impl Memory for MayBeSent<'_> {
    type Error = Infallible;

    fn accepted(&self, _: &str) -> Result<Vec<AcceptedValue>, Infallible> {
        Ok(Vec::new())
    }

    fn sent_nested(&self, _: &str, _: &NestedRow) -> Result<SentNested, Infallible> {
        Ok(SentNested::Unanswered)
    }

    /// The present record, since the differences are compared with those that were checked.
    fn base(&self, _: &str, _: &str) -> Result<Option<Value>, Infallible> {
        Ok(Some(self.current.clone()))
    }
}

impl Sending<'_> {
    /// Sends what differs from the record, one part after the other, unless the record has changed
    /// since the check. Our own change is not taken for that of another user.
    async fn change(
        &mut self,
        read: &TraineeRow,
        details: &mut RowDetails,
    ) -> Result<UploadRowKind, WorkEnd> {
        let kind = self.change_once(read, details).await?;
        if kind == UploadRowKind::ChangedMeanwhile && self.is_repeated {
            self.may_be_sent = true;
            return self.change_once(read, details).await;
        }
        Ok(kind)
    }

    async fn change_once(
        &mut self,
        read: &TraineeRow,
        details: &mut RowDetails,
    ) -> Result<UploadRowKind, WorkEnd> {
        let shown = self.work.run(self.prepared.show(&self.trainee_id)).await?;
        if !shown.is_accepted() {
            return Ok(self.refuse(details, &shown, None));
        }
        let current = record(&shown);
        let memory = MayBeSent { current: &current };
        let Ok(found) = compare(&memory, read, &current).map_err(|never: Infallible| never);
        if shown.etag != details.etag
            && !(self.may_be_sent && self.is_rest_of(&found, &current, &details.changes).await?)
        {
            return Ok(UploadRowKind::ChangedMeanwhile);
        }
        let mut etag = shown.etag;
        if !found.fields.is_empty() {
            let request = self
                .prepared
                .change(&self.trainee_id, &found.fields, etag.take());
            let outcome = self.send(request).await?;
            if !outcome.is_accepted() {
                return Ok(self.refuse(details, &outcome, None));
            }
            etag = outcome.etag;
        }
        for nested in &found.nested {
            match self.send_nested(nested, etag.take()).await? {
                Some(outcome) if outcome.is_accepted() => {}
                Some(outcome) => return Ok(self.refuse(details, &outcome, Some(nested))),
                None => return Ok(UploadRowKind::ChangedMeanwhile),
            }
        }
        Ok(UploadRowKind::Change)
    }

    /// Sends a part of the row.
    async fn send(&mut self, request: RowRequest) -> Result<RowOutcome, WorkEnd> {
        let (outcome, is_repeated) = self.work.run_counted(request).await?;
        self.is_repeated |= is_repeated;
        Ok(outcome)
    }

    /// Adds or changes a nested record. `None` if it has changed since the check.
    async fn send_nested(
        &mut self,
        nested: &NestedChange,
        trainee_etag: Option<String>,
    ) -> Result<Option<RowOutcome>, WorkEnd> {
        let mut etag = trainee_etag;
        if let Some(request) = self.prepared.show_nested(&self.trainee_id, nested)? {
            let shown = self.work.run(request).await?;
            if !is_as_compared(nested, &record(&shown)) {
                return Ok(None);
            }
            etag = shown.etag;
        }
        let request = self.prepared.nested(&self.trainee_id, nested, etag)?;
        Ok(Some(self.send(request).await?))
    }

    /// Whether all that would change is among the checked changes, so that the others were sent
    /// before.
    async fn is_rest_of(
        &self,
        found: &Differences,
        current: &Value,
        checked: &[CellChange],
    ) -> Result<bool, WorkEnd> {
        let (work, id) = (self.work, self.trainee_id.as_str());
        let mut left = RowDetails::default();
        check_fields(work, &self.checking, id, (found, current), &mut left).await?;
        check_nested(work, &self.checking, id, found, &mut left).await?;
        let mut changes = left.changes.iter();
        Ok(found.problems.is_empty() && changes.all(|change| checked.contains(change)))
    }

    /// Adds the problems of a refused part.
    fn refuse(
        &self,
        details: &mut RowDetails,
        outcome: &RowOutcome,
        nested: Option<&NestedChange>,
    ) -> UploadRowKind {
        if outcome.is_changed_meanwhile() {
            return UploadRowKind::ChangedMeanwhile;
        }
        for problem in &outcome.problems {
            let column = match nested.map(nested_fields) {
                Some((row, _)) => row.column_name(&problem.field),
                None => problem.field.clone(),
            };
            let problem = cell_problem(self.work, &column, problem);
            details.problems.push(problem);
        }
        UploadRowKind::Refused
    }
}

/// Whether the fields to change have the values that the row was compared with.
fn is_as_compared(nested: &NestedChange, record: &Value) -> bool {
    let (_, changes) = nested_fields(nested);
    let mut changes = changes.iter();
    changes.all(|change| cell(at(record, &change.field)) == change.shown)
}
