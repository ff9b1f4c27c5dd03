//! Checks a row: finds its trainee, compares the row with the record, and runs what it would send
//! without storing anything.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use gateway::parts::rows::{RowOutcome, RowProblem};
use serde_json::Value;
use storage::accounts::uploads::{UploadResult, UploadRowKind};
use storage::base::cause::Cause;
use storage::records::trainees::ProviderKeyPage;
use storage::session::Session;
use trainee_file::{
    Differences, FieldChange, NestedChange, NoMemory, Row, TraineeRow, at, cell, compare,
};

use super::requests::{Prepared, nested_fields};
use super::{Work, WorkEnd};
use crate::upload::opened_file::{line_of, provider_key_name};
use crate::upload::row_details::{CellChange, CellProblem, RowDetails};

/// The trainees of the provider by the keys that the provider has given them; `None` for a key of
/// several trainees.
pub(super) struct TraineesByKey(HashMap<String, Option<String>>);

impl TraineesByKey {
    /// Reads the keys of the rows of the file from the register.
    pub(super) async fn load(work: &Work) -> Result<Self, WorkEnd> {
        let mut found: HashMap<String, Option<String>> = HashMap::new();
        if !work.file.has_provider_keys() {
            return Ok(Self(found));
        }
        let mut wanted = HashSet::new();
        for row in work.file.rows_after(0) {
            let row = work.file.trainee_row(row);
            wanted.extend(row.field(provider_key_name()).map(str::to_owned));
        }
        let mut after = None;
        loop {
            let user = work.order.user.clone();
            let job = move |session: &mut Session<'_>| -> Result<ProviderKeyPage, WorkEnd> {
                let signed_in = user.authenticate(session)?;
                let opened = session.open_to_upload(&signed_in, Cause::new("upload"));
                Ok(opened.ok_or(WorkEnd::SignedOut)?.provider_keys(after)?)
            };
            let page = work.state.store.read(job).await?;
            for one in page.keys {
                if !wanted.contains(&one.key) {
                    continue;
                }
                let trainee = found
                    .entry(one.key)
                    .or_insert_with(|| Some(one.trainee_id.clone()));
                if trainee.as_ref() != Some(&one.trainee_id) {
                    *trainee = None;
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(Self(found));
            }
        }
    }

    /// The trainee that a row is about; `None` for a new one.
    fn find(&self, row: &TraineeRow) -> Result<Option<String>, CellProblem> {
        if let Some(id) = &row.trainee_id {
            return Ok(Some(id.clone()));
        }
        let key = row.field(provider_key_name()).filter(|key| !key.is_empty());
        match key.and_then(|key| self.0.get(key)) {
            None => Ok(None),
            Some(Some(id)) => Ok(Some(id.clone())),
            Some(None) => Err(CellProblem {
                heading: provider_key_name().to_owned(),
                words: "is the key of several trainees; add a column trainee_id".to_owned(),
            }),
        }
    }
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
    let kind = match trainees.find(&read) {
        Ok(None) => check_registration(work, row, &read, &mut details).await?,
        Ok(Some(id)) => check_change(work, row, &read, id, &mut details).await?,
        Err(problem) => {
            details.problems.push(problem);
            UploadRowKind::Refused
        }
    };
    if kind == UploadRowKind::Refused {
        details.cells.clone_from(&row.cells);
    }
    Ok(work.seal(line_of(row), kind, &details)?)
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
    let outcome = work.run(work.prepare(row, true).registration(read)).await?;
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
    let prepared = work.prepare(row, true);
    let shown = work.run(prepared.show(&trainee_id)).await?;
    if !shown.is_accepted() {
        for problem in &shown.problems {
            details.problems.push(cell_problem(work, "", problem));
        }
        return Ok(UploadRowKind::Refused);
    }
    let current = record(&shown);
    let found = differences(read, &current);
    for problem in &found.problems {
        details.problems.push(CellProblem {
            heading: work.file.heading(&problem.column),
            words: problem.message.clone(),
        });
    }
    if details.problems.is_empty() {
        check_fields(work, &prepared, &trainee_id, (&found, &current), details).await?;
        check_nested(work, &prepared, &trainee_id, &found, details).await?;
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
pub(super) async fn check_fields(
    work: &Work,
    prepared: &Prepared<'_>,
    trainee_id: &str,
    (found, current): (&Differences, &Value),
    details: &mut RowDetails,
) -> Result<(), WorkEnd> {
    if found.fields.is_empty() {
        return Ok(());
    }
    let request = prepared.change(trainee_id, &found.fields, None);
    let outcome = work.run(request).await?;
    for problem in &outcome.problems {
        details
            .problems
            .push(cell_problem(work, &problem.field, problem));
    }
    let changed = record(&outcome);
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
pub(super) async fn check_nested(
    work: &Work,
    prepared: &Prepared<'_>,
    trainee_id: &str,
    found: &Differences,
    details: &mut RowDetails,
) -> Result<(), WorkEnd> {
    for nested in &found.nested {
        let outcome = work.run(prepared.nested(trainee_id, nested, None)).await?;
        let (row, changes) = nested_fields(nested);
        for problem in &outcome.problems {
            let column = row.column_name(&problem.field);
            details.problems.push(cell_problem(work, &column, problem));
        }
        let changed = record(&outcome);
        let is_added = matches!(nested, NestedChange::Add(_));
        for change in &changes {
            if is_added || cell(at(&changed, &change.field)) != change.shown {
                let column = row.column_name(&change.field);
                details.changes.push(cell_change(work, &column, change));
            }
        }
    }
    Ok(())
}

/// The differences between a row and a record.
fn differences(row: &TraineeRow, current: &Value) -> Differences {
    let Ok(found) = compare::<NoMemory>(&NoMemory, row, current).map_err(|never: Infallible| never);
    found
}

/// The record in a reply; null if there is none.
pub(super) fn record(outcome: &RowOutcome) -> Value {
    let mut body: Value = serde_json::from_slice(&outcome.body).unwrap_or_default();
    body.get_mut("data").map(Value::take).unwrap_or_default()
}

/// A change as the page shows it.
pub(super) fn cell_change(work: &Work, column: &str, change: &FieldChange) -> CellChange {
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
