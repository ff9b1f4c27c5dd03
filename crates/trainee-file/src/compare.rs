//! Compares a row with the record of its trainee: finds the necessary changes, and the problems
//! that prevent them.
//!
//! - A blank cell means that the field has no value. A field without a column does not change.
//! - The register shows some values in another form than sent, for example without superfluous
//!   white space. Such a value counts as different only until it was sent once. [`Memory`] knows
//!   these values.
//! - A nested record without an identifier is added, unless the trainee has an equal one.
//! - Nothing is removed.

use serde_json::Value;

use crate::columns::{TRAINEE_ID, UPDATED_AT};
use crate::record::{at, cell};
use crate::trainee_row::{NestedRow, TraineeRow};

/// Text in the column of an identifier: the record is added even if the trainee has a similar one.
const NEW: &str = "new";

/// A problem of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The first line of the row in the file, from 1.
    pub line: u64,
    /// The name of the column; blank for the row as a whole.
    pub column: String,
    /// The code of the register or of this crate.
    pub code: String,
    /// The problem, and what to do about it.
    pub message: String,
}

impl Problem {
    /// A problem in a column.
    #[must_use]
    pub fn new(line: u64, column: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            line,
            column: column.to_owned(),
            code: code.to_owned(),
            message: message.into(),
        }
    }
}

/// A field whose cell differs from what the register shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The name of the field.
    pub field: String,
    /// The value in the register, in the form of a cell.
    pub shown: String,
    /// The cell.
    pub cell: String,
}

/// The change of a nested record that a row requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NestedChange {
    /// The record is added.
    Add(NestedRow),
    /// Fields of the record change.
    Update {
        /// The record in the row.
        row: NestedRow,
        /// The identifier of the record.
        id: String,
        /// The fields that change; at least one.
        changes: Vec<FieldChange>,
    },
}

impl NestedChange {
    #[must_use]
    pub fn row(&self) -> &NestedRow {
        match self {
            Self::Add(row) | Self::Update { row, .. } => row,
        }
    }
}

/// The differences between a row and the record of its trainee.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The fields of the trainee that change.
    pub fields: Vec<FieldChange>,
    /// The nested records that change.
    pub nested: Vec<NestedChange>,
    /// Reasons for refusing the row. No part of it is sent.
    pub problems: Vec<Problem>,
}

impl Differences {
    /// Whether the row equals the record, without problems.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.nested.is_empty() && self.problems.is_empty()
    }
}

/// A value that the register shows in another form than sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedValue {
    /// The field; for a nested record, its identifier, a dot and the field.
    pub field: String,
    /// The cell that was sent.
    pub sent: String,
    /// The value that the register shows since then.
    pub shown: String,
}

/// Whether a nested record was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentNested {
    /// The record was not sent, or its idempotency key has expired, so that sending the record
    /// again would add a second one.
    No,
    /// The record was sent, but no reply arrived. Sending it again with the same idempotency key
    /// adds at most one record.
    Unanswered,
    /// The register has added the record.
    Added,
}

/// The earlier requests that a program remembers.
pub trait Memory {
    /// The reason that the memory cannot be read.
    type Error;

    /// Returns the values of a trainee that the register shows in another form than sent.
    ///
    /// # Errors
    ///
    /// If the memory cannot be read.
    fn accepted(&self, trainee_id: &str) -> Result<Vec<AcceptedValue>, Self::Error>;

    /// Returns whether a nested record of a row was sent before.
    ///
    /// # Errors
    ///
    /// If the memory cannot be read.
    fn sent_nested(&self, trainee_id: &str, nested: &NestedRow) -> Result<SentNested, Self::Error>;

    /// Returns the record that an earlier change of the trainee was based on, if this record had
    /// the given `updated_at`.
    ///
    /// # Errors
    ///
    /// If the memory cannot be read.
    fn base(&self, trainee_id: &str, updated_at: &str) -> Result<Option<Value>, Self::Error>;
}

/// The memory of a program that remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    type Error = std::convert::Infallible;

    fn accepted(&self, _: &str) -> Result<Vec<AcceptedValue>, Self::Error> {
        Ok(Vec::new())
    }

    fn sent_nested(&self, _: &str, _: &NestedRow) -> Result<SentNested, Self::Error> {
        Ok(SentNested::No)
    }

    fn base(&self, _: &str, _: &str) -> Result<Option<Value>, Self::Error> {
        Ok(None)
    }
}

/// Compares a row with `current`, the present record of its trainee.
///
/// # Errors
///
/// If the memory cannot be read.
pub fn compare<M: Memory>(
    memory: &M,
    row: &TraineeRow,
    current: &Value,
) -> Result<Differences, M::Error> {
    let trainee_id = cell(at(current, TRAINEE_ID));
    let accepted = memory.accepted(&trainee_id)?;
    let mut found = Differences {
        fields: find_changes(&row.fields, current, &accepted, ""),
        ..Differences::default()
    };
    // The trainee's nested records that match one of the row, so that each matches only one.
    let mut taken: Vec<&Value> = Vec::new();
    for nested in &row.nested {
        let records = at(current, nested.list.name).as_array();
        let records = records.map(Vec::as_slice).unwrap_or_default();
        let Some(id) = nested.id.as_deref().filter(|id| *id != NEW) else {
            let sent = memory.sent_nested(&trainee_id, nested)?;
            compare_unidentified(row, nested, records, sent, &mut taken, &mut found);
            continue;
        };
        let Some(record) = find_nested(records, nested, id) else {
            let message = format!(
                "the trainee has no such record; leave {} blank to add one",
                nested.list.id
            );
            let column = nested.column_name(nested.list.id);
            let problem = Problem::new(row.line, &column, "unknown_nested_record", message);
            found.problems.push(problem);
            continue;
        };
        taken.push(record);
        let changes = find_changes(&nested.fields, record, &accepted, id);
        if !changes.is_empty() {
            found.nested.push(NestedChange::Update {
                row: nested.clone(),
                id: id.to_owned(),
                changes,
            });
        }
    }
    refuse_conflicts(memory, row, current, &mut found)?;
    Ok(found)
}

/// The nested record with this identifier.
fn find_nested<'a>(records: &'a [Value], nested: &NestedRow, id: &str) -> Option<&'a Value> {
    records
        .iter()
        .find(|record| at(record, nested.list.id).as_str() == Some(id))
}

/// Compares a nested record without an identifier with the `records` of the trainee, except those
/// in `taken`, which match another one of the row. A record with equal cells is taken. Otherwise
/// the record is added, or refused because the trainee has a similar one.
fn compare_unidentified<'a>(
    row: &TraineeRow,
    nested: &NestedRow,
    records: &'a [Value],
    sent: SentNested,
    taken: &mut Vec<&'a Value>,
    found: &mut Differences,
) {
    let free: Vec<&Value> = records
        .iter()
        .filter(|record| !taken.iter().any(|other| std::ptr::eq(*other, *record)))
        .collect();
    let filled = filled_cells(nested);
    if let Some(record) = free
        .iter()
        .find(|record| equal_cells(nested, record) == filled)
    {
        taken.push(record);
        return;
    }
    if sent == SentNested::Added {
        // The register shows the record in another form than sent, or has removed it.
        return;
    }
    let similar = free.iter().find(|record| equal_cells(nested, record) > 0);
    if let Some(similar) = similar
        && nested.id.is_none()
        && sent == SentNested::No
    {
        let id = cell(at(similar, nested.list.id));
        let message = format!(
            "the trainee has a similar record; write {id} here to change it, or {NEW} to add \
             another one"
        );
        let column = nested.column_name(nested.list.id);
        let problem = Problem::new(row.line, &column, "similar_nested_record", message);
        found.problems.push(problem);
        return;
    }
    found.nested.push(NestedChange::Add(nested.clone()));
}

/// The fields whose cells differ from the values in the record. `nested_id` is the identifier of a
/// nested record, or blank for a trainee.
fn find_changes(
    fields: &[(String, String)],
    record: &Value,
    accepted: &[AcceptedValue],
    nested_id: &str,
) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    for (field, text) in fields {
        let shown = cell(at(record, field));
        let name = accepted_name(nested_id, field);
        let is_accepted = accepted
            .iter()
            .any(|value| value.field == name && value.sent == *text && value.shown == shown);
        if shown.trim() != text && !is_accepted {
            changes.push(FieldChange {
                field: field.clone(),
                shown,
                cell: text.clone(),
            });
        }
    }
    changes
}

/// The text for [`AcceptedValue::field`]. `nested_id` is the identifier of a nested record, or
/// blank for a trainee.
fn accepted_name(nested_id: &str, field: &str) -> String {
    if nested_id.is_empty() {
        field.to_owned()
    } else {
        format!("{nested_id}.{field}")
    }
}

/// Returns the sent values that `record` shows in another form. `nested_id` is the identifier of a
/// nested record, or blank for a trainee.
#[must_use]
pub fn shown_otherwise(
    nested_id: &str,
    fields: &[(String, String)],
    record: &Value,
) -> Vec<AcceptedValue> {
    let mut values = Vec::new();
    for (field, sent) in fields {
        let shown = cell(at(record, field));
        if shown.trim() != sent {
            values.push(AcceptedValue {
                field: accepted_name(nested_id, field),
                sent: sent.clone(),
                shown,
            });
        }
    }
    values
}

/// The number of cells that are not blank and equal the values in the record.
fn equal_cells(nested: &NestedRow, record: &Value) -> usize {
    nested
        .fields
        .iter()
        .filter(|(field, text)| !text.is_empty() && cell(at(record, field)).trim() == text)
        .count()
}

/// The number of cells that are not blank.
fn filled_cells(nested: &NestedRow) -> usize {
    nested
        .fields
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .count()
}

/// Adds a problem for each field that has changed in the register since the row was made, so that
/// the row does not overwrite newer values. `updated_at` of the row shows this. An interrupted
/// earlier run may have changed the record itself: [`Memory::base`] is the record before this
/// change, so that only changes by others are problems.
fn refuse_conflicts<M: Memory>(
    memory: &M,
    row: &TraineeRow,
    current: &Value,
    found: &mut Differences,
) -> Result<(), M::Error> {
    let now = cell(at(current, UPDATED_AT));
    let Some(seen) = row.updated_at.as_deref().filter(|seen| *seen != now) else {
        return Ok(());
    };
    if found.fields.is_empty() && found.nested.is_empty() {
        return Ok(());
    }
    let Some(base) = memory.base(&cell(at(current, TRAINEE_ID)), seen)? else {
        // The changed fields are not known, so the row is refused as a whole.
        found
            .problems
            .push(changed_meanwhile(row, UPDATED_AT, &now));
        return Ok(());
    };
    for change in &found.fields {
        if cell(at(&base, &change.field)) != change.shown {
            let problem = changed_meanwhile(row, &change.field, &now);
            found.problems.push(problem);
        }
    }
    for nested in &found.nested {
        let NestedChange::Update {
            row: nested,
            id,
            changes,
        } = nested
        else {
            continue;
        };
        let records = at(&base, nested.list.name).as_array();
        let before = find_nested(records.map(Vec::as_slice).unwrap_or_default(), nested, id);
        for change in changes {
            let shown = before.map(|record| cell(at(record, &change.field)));
            if shown.as_ref() != Some(&change.shown) {
                let column = nested.column_name(&change.field);
                found.problems.push(changed_meanwhile(row, &column, &now));
            }
        }
    }
    Ok(())
}

/// The problem of a column that has changed in the register since the file was made.
fn changed_meanwhile(row: &TraineeRow, column: &str, now: &str) -> Problem {
    let message = format!(
        "the trainee has changed in the register since the file was made ({UPDATED_AT} is {now} \
         there); make the change again in a file of the present values"
    );
    Problem::new(row.line, column, "changed_meanwhile", message)
}

#[cfg(test)]
mod tests;
