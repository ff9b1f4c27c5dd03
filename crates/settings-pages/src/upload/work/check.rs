//! Checks a row: finds its trainee, compares the row with the record, and runs what it would send
//! without storing anything.

use std::collections::HashMap;
use std::convert::Infallible;

use domain::{RecordField as _, TraineeField};
use gateway::parts::rows::{RowOutcome, RowProblem};
use serde_json::Value;
use storage::accounts::uploads::{RowKey, RowStatus, UploadRow};
use storage::base::cause::Cause;
use storage::error::StorageError;
use storage::records::trainees::ProviderKeyPosition;
use trainee_file::{
    Differences, FieldChange, NestedChange, NoMemory, TraineeRow, at, cell, compare,
};

use super::cells::flatten_groups;
use super::requests::list_nested_changes;
use super::{RowResult, Work, WorkEnd};
use crate::upload::content::{CellChange, CellProblem, Doubt, RowDetails};
use crate::upload::repair_choices::find_kind;

#[derive(Default)]
pub(super) struct TraineesByKey {
    /// Identifiers, by the keys of the file.
    trainees: HashMap<String, Vec<String>>,
    /// The last key that was read from the register.
    position: Option<ProviderKeyPosition>,
    /// Lines with those of another row about the same trainee.
    repeated: HashMap<i64, i64>,
}

impl Work {
    pub(super) async fn find_trainees(&self) -> Result<(), WorkEnd> {
        let upload = self.upload.clone();
        let rows = self
            .state
            .store
            .read::<_, StorageError>(move |session| session.list_upload_keys(&upload));
        let rows = rows.await?;
        let mut trainees = self.trainees.lock().await;
        let keys = rows.iter().filter_map(|row| row.record_key.clone());
        trainees.trainees = keys.map(|key| (key, Vec::new())).collect();
        trainees.update(self).await?;
        trainees.find_repeated_rows(&rows);
        Ok(())
    }
}

impl TraineesByKey {
    /// Reads the keys of the trainees that were registered or changed since the last call.
    pub(super) async fn update(&mut self, work: &Work) -> Result<(), WorkEnd> {
        if self.trainees.is_empty() {
            return Ok(());
        }
        loop {
            let (user, after) = (work.user, self.position);
            let page = work.state.store.read::<_, WorkEnd>(move |session| {
                // The user may have lost the role after the upload.
                let sender = session.upload_sender(user.uploader, user.upload_id)?;
                let sender = sender.ok_or(WorkEnd::NotPermitted)?;
                let mut opened = session.open_to_upload(&sender, Cause::new("upload"));
                Ok(opened.provider_keys(after)?)
            });
            let page = page.await?;
            for one in page.keys {
                let Some(trainees) = self.trainees.get_mut(&one.key) else {
                    continue;
                };
                if !trainees.contains(&one.trainee_id) {
                    trainees.push(one.trainee_id);
                }
            }
            self.position = page.last.or(after);
            if page.is_last {
                return Ok(());
            }
        }
    }

    fn find_repeated_rows(&mut self, rows: &[RowKey]) {
        let mut first_lines: HashMap<(Option<String>, Option<String>), i64> = HashMap::new();
        for row in rows {
            let (key, id) = (row.record_key.as_deref(), row.trainee_id.as_deref());
            let trainee = self
                .find_trainee(key, id)
                .ok()
                .flatten()
                .map(|id| (Some(id), None));
            // A row with the identifier and a row with the key of a trainee have the same identity.
            let key = key.filter(|key| !self.is_registered(Some(key)));
            let key = key.map(|key| (None, Some(key.to_owned())));
            for identity in [trainee, key].into_iter().flatten() {
                let first = *first_lines.entry(identity).or_insert(row.line);
                if first != row.line {
                    self.repeated.insert(row.line, first);
                    self.repeated.entry(first).or_insert(row.line);
                }
            }
        }
    }

    fn find_by_key(&self, key: Option<&str>) -> &[String] {
        let found = key.and_then(|key| self.trainees.get(key));
        found.map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_registered(&self, key: Option<&str>) -> bool {
        !self.find_by_key(key).is_empty()
    }

    /// Finds a trainee by identifier, or else by key. Returns `None` for a new one.
    fn find_trainee(
        &self,
        key: Option<&str>,
        id: Option<&str>,
    ) -> Result<Option<String>, CellProblem> {
        if let Some(id) = id {
            return Ok(Some(id.to_owned()));
        }
        match self.find_by_key(key) {
            [] => Ok(None),
            [id] => Ok(Some(id.clone())),
            _ => Err(CellProblem {
                heading: TraineeField::provider_trainee_id.info().name.to_owned(),
                words: "is the key of several trainees; add a column trainee_id".to_owned(),
            }),
        }
    }

    /// Returns `None` for a new trainee.
    fn find_once(&self, row: &UploadRow) -> Result<Option<String>, CellProblem> {
        match self.repeated.get(&row.line) {
            None => self.find_trainee(row.record_key.as_deref(), row.trainee_id.as_deref()),
            Some(other) => Err(CellProblem::from_words(format!(
                "Line {other} is about the same trainee; remove one of the rows."
            ))),
        }
    }
}

#[derive(Default)]
struct Found {
    details: RowDetails,
    problems: Vec<CellProblem>,
}

pub(super) async fn check_row(work: &Work, row: UploadRow) -> RowResult {
    let read = work.read_trainee_row(&row);
    let mut found = Found::default();
    let trainee = work.trainees.lock().await.find_once(&row);
    let status = match &trainee {
        Ok(None) => check_registration(work, row.line, &read, &mut found).await?,
        Ok(Some(id)) => check_change(work, Target::new(&row, id), &read, &mut found).await?,
        Err(problem) => {
            found.problems.push(problem.clone());
            RowStatus::Refused
        }
    };
    let status = refuse_doubtful_cells(work, &row, status, &mut found);
    let details = match RowStatus::TO_SEND.contains(&status) {
        true => found.details.to_stored(),
        false => String::new(),
    };
    let row = UploadRow {
        status,
        trainee_id: trainee.ok().flatten().or(row.trainee_id),
        details,
        ..row
    };
    Ok((row, found.problems))
}

/// A row about a trainee of the register.
#[derive(Clone, Copy)]
struct Target<'a> {
    line: i64,
    trainee_id: &'a str,
}

impl<'a> Target<'a> {
    fn new(row: &UploadRow, trainee_id: &'a str) -> Self {
        let line = row.line;
        Self { line, trainee_id }
    }
}

/// Refuses a row with a cell whose value is not certain, unless the row changes nothing.
fn refuse_doubtful_cells(
    work: &Work,
    row: &UploadRow,
    status: RowStatus,
    found: &mut Found,
) -> RowStatus {
    let doubts = RowDetails::read(&row.details).doubts;
    if doubts.is_empty() || status == RowStatus::Equal {
        return status;
    }
    for Doubt(place, kind) in doubts {
        let heading = work.content.header.get(place).cloned().unwrap_or_default();
        // Replaces the problem that the API found.
        found.problems.retain(|problem| problem.heading != heading);
        let kind = find_kind(&kind);
        let words = kind.map_or_else(String::new, |kind| kind.to_string());
        found.problems.push(CellProblem { heading, words });
    }
    RowStatus::Refused
}

async fn check_registration(
    work: &Work,
    line: i64,
    read: &TraineeRow,
    found: &mut Found,
) -> Result<RowStatus, WorkEnd> {
    let request = work.compose_registration(read);
    let outcome = work.validate(line, "", &request).await?;
    found.details.warnings.extend_from_slice(&outcome.warnings);
    for problem in &outcome.problems {
        let column = read.column_name(&problem.field);
        found
            .problems
            .push(describe_problem(work, &column, problem));
    }
    Ok(match outcome.is_accepted() {
        true => RowStatus::Register,
        false => RowStatus::Refused,
    })
}

async fn check_change(
    work: &Work,
    target: Target<'_>,
    read: &TraineeRow,
    found: &mut Found,
) -> Result<RowStatus, WorkEnd> {
    let shown = work
        .validate(target.line, target.trainee_id, &work.compose_show())
        .await?;
    for problem in &shown.problems {
        found.problems.push(describe_problem(work, "", problem));
    }
    if !shown.is_accepted() {
        return Ok(RowStatus::Refused);
    }
    let current = read_record(work, &shown);
    let differences = compare_with(read, &current);
    for problem in &differences.problems {
        found.problems.push(CellProblem {
            heading: work.find_heading(&problem.column),
            words: problem.message.clone(),
        });
    }
    if found.problems.is_empty() {
        check_fields(work, target, &differences.fields, &current, found).await?;
        for nested in &differences.nested {
            check_nested(work, target, nested, found).await?;
        }
    }
    found.details.etag = shown.etag;
    Ok(if !found.problems.is_empty() {
        RowStatus::Refused
    } else if found.details.changes.is_empty() {
        RowStatus::Equal
    } else {
        RowStatus::Change
    })
}

async fn check_fields(
    work: &Work,
    target: Target<'_>,
    changes: &[FieldChange],
    current: &Value,
    found: &mut Found,
) -> Result<(), WorkEnd> {
    if changes.is_empty() {
        return Ok(());
    }
    let request = work.compose_change(changes);
    let outcome = work
        .validate(target.line, target.trainee_id, &request)
        .await?;
    found.details.warnings.extend_from_slice(&outcome.warnings);
    found.details.requests.push(request);
    for problem in &outcome.problems {
        let problem = describe_problem(work, &problem.field, problem);
        found.problems.push(problem);
    }
    let changed = read_record(work, &outcome);
    for change in changes {
        // A value that the register would show as it is now is no change.
        if at(&changed, &change.field) != at(current, &change.field) {
            let change = describe_change(work, &change.field, change);
            found.details.changes.push(change);
        }
    }
    Ok(())
}

async fn check_nested(
    work: &Work,
    target: Target<'_>,
    nested: &NestedChange,
    found: &mut Found,
) -> Result<(), WorkEnd> {
    let mut request = work.compose_nested(nested)?;
    if let Some(show) = work.compose_show_nested(nested)? {
        let shown = work.validate(target.line, target.trainee_id, &show).await?;
        if !is_as_compared(nested, &read_record(work, &shown)) {
            found.problems.push(describe_changed_trainee());
        }
        request.if_match = shown.etag;
    }
    let outcome = work
        .validate(target.line, target.trainee_id, &request)
        .await?;
    found.details.warnings.extend_from_slice(&outcome.warnings);
    found.details.requests.push(request);
    let nested_row = nested.row();
    for problem in &outcome.problems {
        let column = nested_row.column_name(&problem.field);
        found
            .problems
            .push(describe_problem(work, &column, problem));
    }
    let changed = read_record(work, &outcome);
    let is_added = matches!(nested, NestedChange::Add(_));
    for change in list_nested_changes(nested) {
        // A value that the register would show as it is now is no change.
        if is_added || cell(at(&changed, &change.field)) != change.shown {
            let column = nested_row.column_name(&change.field);
            found
                .details
                .changes
                .push(describe_change(work, &column, &change));
        }
    }
    Ok(())
}

/// Whether the fields to change have the values that the row was compared with.
fn is_as_compared(nested: &NestedChange, record: &Value) -> bool {
    let mut changes = list_nested_changes(nested).into_iter();
    changes.all(|change| cell(at(record, &change.field)) == change.shown)
}

pub(super) fn describe_changed_trainee() -> CellProblem {
    CellProblem::from_words(
        "The trainee was changed in the register after it was compared with the row. Upload the \
         row again to see the present values.",
    )
}

fn compare_with(row: &TraineeRow, current: &Value) -> Differences {
    let Ok(found) = compare::<NoMemory>(&NoMemory, row, current).map_err(|never: Infallible| never);
    found
}

/// Reads the record in a reply; null if there is none.
pub(super) fn read_record(work: &Work, outcome: &RowOutcome) -> Value {
    let mut body: Value = serde_json::from_slice(&outcome.body).unwrap_or_default();
    let data = body.get_mut(work.envelope().record).map(Value::take);
    flatten_groups(data.unwrap_or_default())
}

fn describe_change(work: &Work, column: &str, change: &FieldChange) -> CellChange {
    CellChange {
        heading: work.find_heading(column),
        from: change.shown.clone(),
        to: change.cell.clone(),
    }
}

pub(super) fn describe_problem(work: &Work, column: &str, problem: &RowProblem) -> CellProblem {
    // A problem of the whole row has no field.
    let heading = match problem.field.is_empty() {
        true => String::new(),
        false => work.find_heading(column),
    };
    CellProblem {
        heading,
        words: problem.words.clone(),
    }
}
