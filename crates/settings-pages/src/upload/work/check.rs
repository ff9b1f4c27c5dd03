//! Checks a row: finds its trainee, compares the row with the record, and runs what it would send
//! without storing anything.

use std::collections::HashMap;
use std::convert::Infallible;

use gateway::parts::rows::{RowOutcome, RowProblem};
use serde_json::Value;
use storage::accounts::uploads::{UploadResult, UploadRowKind};
use storage::base::cause::Cause;
use storage::records::trainees::{ProviderKeyPage, ProviderKeyPosition};
use storage::session::Session;
use trainee_file::{
    Differences, FieldChange, NestedChange, NoMemory, Row, TraineeRow, at, cell, compare,
};

use super::requests::nested_fields;
use super::{Work, WorkEnd};
use crate::upload::opened_file::{OpenedFile, line_of, provider_key_name};
use crate::upload::row_details::{CellChange, CellProblem, FILE_LINE, RowDetails};

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

impl TraineesByKey {
    /// Reads the keys of the trainees that were registered or changed since the last call, at first
    /// of all trainees.
    pub(super) async fn update(&mut self, work: &Work) -> Result<(), WorkEnd> {
        if !work.file.has_provider_keys() {
            return Ok(());
        }
        if self.position.is_none() {
            let rows = work.file.rows_after(FILE_LINE).iter();
            let keys = rows.filter_map(|row| provider_key(&work.file.trainee_row(row)));
            self.trainees.extend(keys.map(|key| (key, Vec::new())));
        }
        loop {
            let (user, after) = (work.order.user.clone(), self.position);
            let job = move |session: &mut Session<'_>| -> Result<ProviderKeyPage, WorkEnd> {
                let signed_in = user.authenticate(session)?;
                let opened = session.open_to_upload(&signed_in, Cause::new("upload"));
                Ok(opened.ok_or(WorkEnd::SignedOut)?.provider_keys(after)?)
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
    pub(super) fn find_repeated_rows(&mut self, file: &OpenedFile) {
        let mut first_lines: HashMap<(Option<String>, Option<String>), i64> = HashMap::new();
        for row in file.rows_after(FILE_LINE) {
            let (line, read) = (line_of(row), file.trainee_row(row));
            let trainee = self.find(&read).ok().flatten().map(|id| (Some(id), None));
            let key = self.new_key(&read).map(|key| (None, Some(key)));
            for identity in [trainee, key].into_iter().flatten() {
                let first = *first_lines.entry(identity).or_insert(line);
                if first != line {
                    self.repeated.insert(line, first);
                    self.repeated.entry(first).or_insert(line);
                }
            }
        }
    }

    /// The trainees of the register with the key of a row.
    fn with_key_of(&self, row: &TraineeRow) -> &[String] {
        let found = provider_key(row).and_then(|key| self.trainees.get(&key));
        found.map_or(&[], Vec::as_slice)
    }

    /// The key of a row, `None` if it has none or a trainee of the register has it.
    fn new_key(&self, row: &TraineeRow) -> Option<String> {
        provider_key(row).filter(|_| self.with_key_of(row).is_empty())
    }

    /// Whether a trainee of the register has the key of a row.
    pub(super) fn is_registered(&self, row: &TraineeRow) -> bool {
        !self.with_key_of(row).is_empty()
    }

    /// The trainee that a row is about; `None` for a new one.
    fn find(&self, row: &TraineeRow) -> Result<Option<String>, CellProblem> {
        if let Some(id) = &row.trainee_id {
            return Ok(Some(id.clone()));
        }
        match self.with_key_of(row) {
            [] => Ok(None),
            [id] => Ok(Some(id.clone())),
            _ => Err(CellProblem {
                heading: provider_key_name().to_owned(),
                words: "is the key of several trainees; add a column trainee_id".to_owned(),
            }),
        }
    }

    /// The trainee that the row at a line is about; `None` for a new one.
    fn find_once(&self, line: i64, row: &TraineeRow) -> Result<Option<String>, CellProblem> {
        match self.repeated.get(&line) {
            None => self.find(row),
            Some(other) => Err(CellProblem {
                heading: String::new(),
                words: format!("Line {other} is about the same trainee; remove one of the rows."),
            }),
        }
    }
}

/// The key of a row as the register stores it, with single spaces; `None` if it is blank.
fn provider_key(row: &TraineeRow) -> Option<String> {
    let words = row.field(provider_key_name())?.split_whitespace();
    Some(words.collect::<Vec<_>>().join(" ")).filter(|key| !key.is_empty())
}

/// Checks a row.
pub(super) async fn check_row(
    work: &Work,
    trainees: &TraineesByKey,
    row: &Row,
) -> Result<UploadResult, WorkEnd> {
    let read = work.file.trainee_row(row);
    let mut details = RowDetails {
        name: row_name(&read),
        ..RowDetails::default()
    };
    let kind = match trainees.find_once(line_of(row), &read) {
        Ok(None) => check_registration(work, row, &read, &mut details).await?,
        Ok(Some(id)) => check_change(work, row, &read, id, &mut details).await?,
        Err(problem) => {
            details.problems.push(problem);
            UploadRowKind::Refused
        }
    };
    let kind = refuse_doubtful_cells(work, row, kind, &mut details);
    if ![UploadRowKind::Register, UploadRowKind::Change].contains(&kind) {
        details.requests.clear();
    }
    if kind == UploadRowKind::Refused {
        details.cells.clone_from(&row.cells);
    }
    Ok(work.seal(line_of(row), kind, &details)?)
}

/// Refuses a row with a cell whose value is not certain, unless the row changes nothing. The problem
/// of the cell replaces the one that the API found.
fn refuse_doubtful_cells(
    work: &Work,
    row: &Row,
    kind: UploadRowKind,
    details: &mut RowDetails,
) -> UploadRowKind {
    let doubtful = work.file.doubtful_cells(row);
    if doubtful.is_empty() || kind == UploadRowKind::Equal {
        return kind;
    }
    let is_explained = |problem: &CellProblem| {
        let mut headings = doubtful.iter().map(|cell| &cell.heading);
        headings.any(|heading| *heading == problem.heading)
    };
    details.problems.retain(|problem| !is_explained(problem));
    details.problems.extend_from_slice(doubtful);
    UploadRowKind::Refused
}

fn row_name(row: &TraineeRow) -> String {
    let key = row.field(provider_key_name()).filter(|key| !key.is_empty());
    key.or(row.trainee_id.as_deref())
        .unwrap_or_default()
        .to_owned()
}

async fn check_registration(
    work: &Work,
    row: &Row,
    read: &TraineeRow,
    details: &mut RowDetails,
) -> Result<UploadRowKind, WorkEnd> {
    let request = work.prepare(row).registration(read);
    let outcome = work.validate(row, &request).await?;
    details.warnings.extend_from_slice(&outcome.warnings);
    details.requests.push(request);
    for problem in &outcome.problems {
        let column = read.column_name(&problem.field);
        details.problems.push(cell_problem(work, &column, problem));
    }
    Ok(match outcome.is_accepted() {
        true => UploadRowKind::Register,
        false => UploadRowKind::Refused,
    })
}

async fn check_change(
    work: &Work,
    row: &Row,
    read: &TraineeRow,
    trainee_id: String,
    details: &mut RowDetails,
) -> Result<UploadRowKind, WorkEnd> {
    let shown = work
        .validate(row, &work.prepare(row).show(&trainee_id))
        .await?;
    if !shown.is_accepted() {
        for problem in &shown.problems {
            details.problems.push(cell_problem(work, "", problem));
        }
        return Ok(UploadRowKind::Refused);
    }
    let current = record(work, &shown);
    let found = differences(read, &current);
    for problem in &found.problems {
        details.problems.push(CellProblem {
            heading: work.file.heading(&problem.column),
            words: problem.message.clone(),
        });
    }
    if details.problems.is_empty() {
        check_fields(work, row, &trainee_id, (&found, &current), details).await?;
        check_nested(work, row, &trainee_id, &found, details).await?;
    }
    details.trainee_id = Some(trainee_id);
    details.etag = shown.etag;
    Ok(if !details.problems.is_empty() {
        UploadRowKind::Refused
    } else if details.changes.is_empty() {
        UploadRowKind::Equal
    } else {
        UploadRowKind::Change
    })
}

/// Checks the changes of the fields of a trainee. A value that the register would show as it is now
/// is no change.
async fn check_fields(
    work: &Work,
    row: &Row,
    trainee_id: &str,
    (found, current): (&Differences, &Value),
    details: &mut RowDetails,
) -> Result<(), WorkEnd> {
    if found.fields.is_empty() {
        return Ok(());
    }
    let request = work.prepare(row).change(trainee_id, &found.fields);
    let outcome = work.validate(row, &request).await?;
    details.warnings.extend_from_slice(&outcome.warnings);
    details.requests.push(request);
    for problem in &outcome.problems {
        details
            .problems
            .push(cell_problem(work, &problem.field, problem));
    }
    let changed = record(work, &outcome);
    for change in &found.fields {
        if at(&changed, &change.field) != at(current, &change.field) {
            details
                .changes
                .push(cell_change(work, &change.field, change));
        }
    }
    Ok(())
}

/// Checks the nested records to add or change. A value that the register would show as it is now is
/// no change.
async fn check_nested(
    work: &Work,
    row: &Row,
    trainee_id: &str,
    found: &Differences,
    details: &mut RowDetails,
) -> Result<(), WorkEnd> {
    for nested in &found.nested {
        let prepared = work.prepare(row);
        let mut request = prepared.nested(trainee_id, nested)?;
        if let Some(show) = prepared.show_nested(trainee_id, nested)? {
            let shown = work.validate(row, &show).await?;
            if !is_as_compared(nested, &record(work, &shown)) {
                details.problems.push(changed_problem());
            }
            request.if_match = shown.etag;
        }
        let outcome = work.validate(row, &request).await?;
        details.warnings.extend_from_slice(&outcome.warnings);
        details.requests.push(request);
        let (nested_row, changes) = nested_fields(nested);
        for problem in &outcome.problems {
            let column = nested_row.column_name(&problem.field);
            details.problems.push(cell_problem(work, &column, problem));
        }
        let changed = record(work, &outcome);
        let is_added = matches!(nested, NestedChange::Add(_));
        for change in &changes {
            if is_added || cell(at(&changed, &change.field)) != change.shown {
                let column = nested_row.column_name(&change.field);
                details.changes.push(cell_change(work, &column, change));
            }
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
    CellProblem {
        heading: String::new(),
        words: "The trainee was changed in the register after it was compared with the row. Check \
                the file again to see the present values."
            .to_owned(),
    }
}

/// The differences between a row and a record.
fn differences(row: &TraineeRow, current: &Value) -> Differences {
    let Ok(found) = compare::<NoMemory>(&NoMemory, row, current).map_err(|never: Infallible| never);
    found
}

/// The record in a reply; null if there is none.
fn record(work: &Work, outcome: &RowOutcome) -> Value {
    let mut body: Value = serde_json::from_slice(&outcome.body).unwrap_or_default();
    let key = work.envelope().record;
    body.get_mut(key).map(Value::take).unwrap_or_default()
}

/// A change as the page shows it.
fn cell_change(work: &Work, column: &str, change: &FieldChange) -> CellChange {
    CellChange {
        heading: work.file.heading(column),
        from: change.shown.clone(),
        to: change.cell.clone(),
    }
}

/// A problem as the page shows it.
pub(super) fn cell_problem(work: &Work, column: &str, problem: &RowProblem) -> CellProblem {
    // A problem of the whole row has no field.
    let heading = match problem.field.is_empty() {
        true => String::new(),
        false => work.file.heading(column),
    };
    CellProblem {
        heading,
        words: problem.words.clone(),
    }
}
