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
use storage::records::trainees::{ProviderKeyPage, ProviderKeyPosition};
use storage::session::Session;
use trainee_file::{
    Differences, FieldChange, NestedChange, NoMemory, TraineeRow, at, cell, compare,
};

use super::cells::without_groups;
use super::requests::nested_fields;
use super::{RowResult, Work, WorkEnd};
use crate::upload::content::{CellChange, CellProblem, RowDetails};
use crate::upload::repair_choices::repair_kind;

/// The trainees of the provider by the keys of the file, and the rows that are about the same
/// trainee as another row.
#[derive(Default)]
pub(super) struct TraineesByKey {
    /// The identifiers of the trainees with each key of the file.
    trainees: HashMap<String, Vec<String>>,
    /// The position of the last key that was read from the register.
    position: Option<ProviderKeyPosition>,
    /// The lines of repeated rows, each with the line of another row about the same trainee.
    repeated: HashMap<i64, i64>,
}

impl Work {
    /// Reads the keys of the file, and finds their trainees and the repeated rows.
    pub(super) async fn find_trainees(&self) -> Result<(), WorkEnd> {
        let upload = self.upload.clone();
        let list = move |session: &mut Session<'_>| session.list_upload_keys(&upload);
        let rows = self.state.store.read::<_, StorageError>(list).await?;
        let mut trainees = self.trainees.lock().await;
        let keys = rows.iter().filter_map(|row| row.record_key.clone());
        trainees.trainees = keys.map(|key| (key, Vec::new())).collect();
        trainees.update(self).await?;
        trainees.find_repeated_rows(&rows);
        Ok(())
    }
}

impl TraineesByKey {
    /// Reads the keys of the trainees that were registered or changed since the last call, at first
    /// of all trainees.
    pub(super) async fn update(&mut self, work: &Work) -> Result<(), WorkEnd> {
        if self.trainees.is_empty() {
            return Ok(());
        }
        loop {
            let (user, after) = (work.user, self.position);
            let job = move |session: &mut Session<'_>| -> Result<ProviderKeyPage, WorkEnd> {
                let sender = session.upload_sender(user.uploader, user.upload_id)?;
                let sender = sender.ok_or(WorkEnd::NotPermitted)?;
                let mut opened = session.open_to_upload(&sender, Cause::new("upload"));
                Ok(opened.provider_keys(after)?)
            };
            let page = work.state.store.read(job).await?;
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

    /// Finds the rows that are about the same trainee as another row.
    fn find_repeated_rows(&mut self, rows: &[RowKey]) {
        let mut first_lines: HashMap<(Option<String>, Option<String>), i64> = HashMap::new();
        for row in rows {
            let (key, id) = (row.record_key.as_deref(), row.trainee_id.as_deref());
            let trainee = self.find(key, id).ok().flatten().map(|id| (Some(id), None));
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

    /// The trainees of the register with a key.
    fn with_key(&self, key: Option<&str>) -> &[String] {
        let found = key.and_then(|key| self.trainees.get(key));
        found.map_or(&[], Vec::as_slice)
    }

    /// Whether a trainee of the register has a key.
    pub(super) fn is_registered(&self, key: Option<&str>) -> bool {
        !self.with_key(key).is_empty()
    }

    /// The trainee with an identifier, or else with a key; `None` for a new one.
    fn find(&self, key: Option<&str>, id: Option<&str>) -> Result<Option<String>, CellProblem> {
        if let Some(id) = id {
            return Ok(Some(id.to_owned()));
        }
        match self.with_key(key) {
            [] => Ok(None),
            [id] => Ok(Some(id.clone())),
            _ => Err(CellProblem {
                heading: TraineeField::provider_trainee_id.info().name.to_owned(),
                words: "is the key of several trainees; add a column trainee_id".to_owned(),
            }),
        }
    }

    /// The trainee that a row is about; `None` for a new one.
    fn find_once(&self, row: &UploadRow) -> Result<Option<String>, CellProblem> {
        match self.repeated.get(&row.line) {
            None => self.find(row.record_key.as_deref(), row.trainee_id.as_deref()),
            Some(other) => Err(CellProblem::from_words(format!(
                "Line {other} is about the same trainee; remove one of the rows."
            ))),
        }
    }
}

/// What the check has found of a row.
#[derive(Default)]
struct Found {
    details: RowDetails,
    problems: Vec<CellProblem>,
}

/// Checks a row.
pub(super) async fn check_row(work: &Work, row: UploadRow) -> RowResult {
    let read = work.trainee_row(&row);
    let mut found = Found::default();
    let trainee = work.trainees.lock().await.find_once(&row);
    let status = match &trainee {
        Ok(None) => check_registration(work, row.line, &read, &mut found).await?,
        Ok(Some(id)) => check_change(work, (row.line, id), &read, &mut found).await?,
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

/// Refuses a row with a cell whose value is not certain, unless the row changes nothing. The problem
/// of the cell replaces the one that the API found.
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
    for (place, kind) in doubts {
        let heading = work.content.header.get(place).cloned().unwrap_or_default();
        found.problems.retain(|problem| problem.heading != heading);
        let kind = repair_kind(&kind);
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
    let request = work.registration(read);
    let outcome = work.validate(line, "", &request).await?;
    found.details.warnings.extend_from_slice(&outcome.warnings);
    for problem in &outcome.problems {
        let column = read.column_name(&problem.field);
        found.problems.push(cell_problem(work, &column, problem));
    }
    Ok(match outcome.is_accepted() {
        true => RowStatus::Register,
        false => RowStatus::Refused,
    })
}

async fn check_change(
    work: &Work,
    (line, trainee_id): (i64, &str),
    read: &TraineeRow,
    found: &mut Found,
) -> Result<RowStatus, WorkEnd> {
    let shown = work.validate(line, trainee_id, &work.show()).await?;
    for problem in &shown.problems {
        found.problems.push(cell_problem(work, "", problem));
    }
    if !shown.is_accepted() {
        return Ok(RowStatus::Refused);
    }
    let current = record(work, &shown);
    let differences = differences(read, &current);
    for problem in &differences.problems {
        found.problems.push(CellProblem {
            heading: work.heading(&problem.column),
            words: problem.message.clone(),
        });
    }
    if found.problems.is_empty() {
        let target = (line, trainee_id);
        check_fields(work, target, (&differences, &current), found).await?;
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

/// Checks the changes of the fields of a trainee. A value that the register would show as it is now
/// is no change.
async fn check_fields(
    work: &Work,
    (line, trainee_id): (i64, &str),
    (differences, current): (&Differences, &Value),
    found: &mut Found,
) -> Result<(), WorkEnd> {
    if differences.fields.is_empty() {
        return Ok(());
    }
    let request = work.change(&differences.fields);
    let outcome = work.validate(line, trainee_id, &request).await?;
    found.details.warnings.extend_from_slice(&outcome.warnings);
    found.details.requests.push(request);
    for problem in &outcome.problems {
        let problem = cell_problem(work, &problem.field, problem);
        found.problems.push(problem);
    }
    let changed = record(work, &outcome);
    for change in &differences.fields {
        if at(&changed, &change.field) != at(current, &change.field) {
            let change = cell_change(work, &change.field, change);
            found.details.changes.push(change);
        }
    }
    Ok(())
}

/// Checks a nested record to add or change. A value that the register would show as it is now is no
/// change.
async fn check_nested(
    work: &Work,
    (line, trainee_id): (i64, &str),
    nested: &NestedChange,
    found: &mut Found,
) -> Result<(), WorkEnd> {
    let mut request = work.nested(nested)?;
    if let Some(show) = work.show_nested(nested)? {
        let shown = work.validate(line, trainee_id, &show).await?;
        if !is_as_compared(nested, &record(work, &shown)) {
            found.problems.push(changed_problem());
        }
        request.if_match = shown.etag;
    }
    let outcome = work.validate(line, trainee_id, &request).await?;
    found.details.warnings.extend_from_slice(&outcome.warnings);
    found.details.requests.push(request);
    let (nested_row, changes) = nested_fields(nested);
    for problem in &outcome.problems {
        let column = nested_row.column_name(&problem.field);
        found.problems.push(cell_problem(work, &column, problem));
    }
    let changed = record(work, &outcome);
    let is_added = matches!(nested, NestedChange::Add(_));
    for change in &changes {
        if is_added || cell(at(&changed, &change.field)) != change.shown {
            let column = nested_row.column_name(&change.field);
            found
                .details
                .changes
                .push(cell_change(work, &column, change));
        }
    }
    Ok(())
}

/// Whether the fields to change have the values that the row was compared with.
fn is_as_compared(nested: &NestedChange, record: &Value) -> bool {
    let (_, changes) = nested_fields(nested);
    let mut changes = changes.iter();
    changes.all(|change| cell(at(record, &change.field)) == change.shown)
}

/// What the person reads of a row whose trainee was changed after it was compared.
pub(super) fn changed_problem() -> CellProblem {
    CellProblem::from_words(
        "The trainee was changed in the register after it was compared with the row. Upload the \
         row again to see the present values.",
    )
}

/// The differences between a row and a record.
fn differences(row: &TraineeRow, current: &Value) -> Differences {
    let Ok(found) = compare::<NoMemory>(&NoMemory, row, current).map_err(|never: Infallible| never);
    found
}

/// The record in a reply; null if there is none.
pub(super) fn record(work: &Work, outcome: &RowOutcome) -> Value {
    let mut body: Value = serde_json::from_slice(&outcome.body).unwrap_or_default();
    let data = body.get_mut(work.envelope().record).map(Value::take);
    without_groups(data.unwrap_or_default())
}

/// A change as the page shows it.
fn cell_change(work: &Work, column: &str, change: &FieldChange) -> CellChange {
    CellChange {
        heading: work.heading(column),
        from: change.shown.clone(),
        to: change.cell.clone(),
    }
}

/// A problem as the page shows it.
pub(super) fn cell_problem(work: &Work, column: &str, problem: &RowProblem) -> CellProblem {
    // A problem of the whole row has no field.
    let heading = match problem.field.is_empty() {
        true => String::new(),
        false => work.heading(column),
    };
    CellProblem {
        heading,
        words: problem.words.clone(),
    }
}
