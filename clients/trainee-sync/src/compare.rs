//! A row against the record of its trainee: what would have to change, and what forbids it.
//!
//! - A blank cell means that the field has no value; a field without a column is left alone.
//! - A value that the register shows otherwise than it was sent, such as one without superfluous
//!   white space, differs only until it was sent once.
//! - Where the row has an `updated_at`, a trainee that another user has changed since then is not
//!   changed.
//! - A nested record with an identifier is changed. One without is added, unless the trainee has an
//!   equal one, or this program has sent it before. Nothing is ever removed.

use anyhow::Result;
use serde_json::Value;

use crate::record::{at, cell};
use crate::register::{TRAINEE_ID, UPDATED_AT};
use crate::report::Problem;
use crate::store::Store;
use crate::table::{NestedRow, TraineeRow};

/// In the place of an identifier: the record is added also where the trainee has a similar one.
const NEW: &str = "new";

/// A field whose cell differs from what the register shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldChange {
    pub(crate) field: String,
    pub(crate) shown: String,
    pub(crate) cell: String,
}

/// What is to be done about a nested record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NestedChange {
    Add(NestedRow),
    Update {
        row: NestedRow,
        id: String,
        changes: Vec<FieldChange>,
    },
}

/// What a row differs in from the record of its trainee.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Differences {
    pub(crate) fields: Vec<FieldChange>,
    pub(crate) nested: Vec<NestedChange>,
    /// Reason for refusing the row. No part of it is sent.
    pub(crate) problems: Vec<Problem>,
}

impl Differences {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.nested.is_empty() && self.problems.is_empty()
    }
}

/// Compares a row with the record as it is now.
pub(crate) fn compare(store: &Store, row: &TraineeRow, current: &Value) -> Result<Differences> {
    let trainee_id = cell(&current[TRAINEE_ID]);
    let accepted = store.accepted(&trainee_id)?;
    let mut found = Differences {
        fields: changes(&row.fields, current, &accepted, ""),
        ..Differences::default()
    };
    // Which of the trainee's records a row has, so that two equal ones are two.
    let mut taken: Vec<&Value> = Vec::new();
    for nested in &row.nested {
        let there: Vec<&Value> = current[nested.list.name]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let is_taken =
            |record: &Value, taken: &[&Value]| taken.iter().any(|one| std::ptr::eq(*one, record));
        if let Some(id) = nested.id.as_deref().filter(|id| *id != NEW) {
            let Some(record) = there
                .into_iter()
                .find(|record| record[nested.list.id].as_str() == Some(id))
            else {
                let message = format!(
                    "the trainee has no such record; leave {} blank to add one",
                    nested.list.id
                );
                found.problems.push(Problem::new(
                    row.line,
                    &nested.column_of(nested.list.id),
                    "unknown_nested_record",
                    message,
                ));
                continue;
            };
            taken.push(record);
            let changes = changes(&nested.fields, record, &accepted, id);
            if !changes.is_empty() {
                found.nested.push(NestedChange::Update {
                    row: nested.clone(),
                    id: id.to_owned(),
                    changes,
                });
            }
            continue;
        }
        let sent = store.sent(&nested.digest(&trainee_id))?;
        let mut free = there.into_iter().filter(|record| !is_taken(record, &taken));
        let equal = free
            .clone()
            .find(|record| equal_cells(nested, record) == filled_cells(nested));
        if let Some(record) = equal {
            taken.push(record);
        } else if sent.as_ref().is_some_and(|sent| sent.trainee_id.is_some()) {
            // The register shows it otherwise than it was sent, or it was removed there.
        } else if let Some(similar) = free.find(|record| equal_cells(nested, record) > 0)
            && nested.id.is_none()
            && !sent.is_some_and(|sent| sent.is_remembered)
        {
            let id = cell(&similar[nested.list.id]);
            let message = format!(
                "the trainee has a similar record; write {id} here to change it, or {NEW} to add another one"
            );
            found.problems.push(Problem::new(
                row.line,
                &nested.column_of(nested.list.id),
                "similar_nested_record",
                message,
            ));
        } else {
            found.nested.push(NestedChange::Add(nested.clone()));
        }
    }
    refuse_conflicts(store, row, current, &mut found)?;
    Ok(found)
}

/// The fields whose cells differ from what the record shows. `of` is the identifier of a nested
/// record.
fn changes(
    fields: &[(String, String)],
    record: &Value,
    accepted: &[(String, String, String)],
    of: &str,
) -> Vec<FieldChange> {
    let differs = |(field, text): &(String, String)| {
        let shown = cell(&record[field]);
        let name = accepted_name(of, field);
        let is_accepted = accepted
            .iter()
            .any(|(field, sent, as_shown)| *field == name && sent == text && *as_shown == shown);
        (shown.trim() != text && !is_accepted).then(|| FieldChange {
            field: field.clone(),
            shown,
            cell: text.clone(),
        })
    };
    fields.iter().filter_map(differs).collect()
}

/// The key that stores how a field is shown. `of` is the identifier of a nested
/// record, or blank.
fn accepted_name(of: &str, field: &str) -> String {
    if of.is_empty() {
        field.to_owned()
    } else {
        format!("{of}.{field}")
    }
}

/// What the register shows otherwise than it was sent: trainee, field, text sent, text shown.
pub(crate) fn shown_otherwise(
    trainee_id: &str,
    of: &str,
    fields: &[(String, String)],
    record: &Value,
) -> Vec<(String, String, String, String)> {
    let differing = fields.iter().filter_map(|(field, sent)| {
        let shown = cell(&record[field]);
        (shown.trim() != sent).then(|| {
            (
                trainee_id.to_owned(),
                accepted_name(of, field),
                sent.clone(),
                shown,
            )
        })
    });
    differing.collect()
}

/// How many cells that are not blank equal what the record shows.
fn equal_cells(nested: &NestedRow, record: &Value) -> usize {
    nested
        .fields
        .iter()
        .filter(|(field, text)| !text.is_empty() && cell(&record[field]).trim() == text)
        .count()
}

fn filled_cells(nested: &NestedRow) -> usize {
    nested
        .fields
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .count()
}

/// Where the row was made from an older record, a field that has changed since then is not
/// overwritten. The record that a change of ours was begun on is known, so that our own change is
/// not taken for another user's after a kill.
fn refuse_conflicts(
    store: &Store,
    row: &TraineeRow,
    current: &Value,
    found: &mut Differences,
) -> Result<()> {
    let now = cell(&current[UPDATED_AT]);
    let Some(seen) = row.updated_at.as_deref().filter(|seen| *seen != now) else {
        return Ok(());
    };
    if found.fields.is_empty() && found.nested.is_empty() {
        return Ok(());
    }
    let base = store.base(&cell(&current[TRAINEE_ID]), seen)?;
    let message = format!(
        "the trainee has changed in the register since the file was made ({UPDATED_AT} is {now} there); make the change again in \
         a file of the present values"
    );
    let conflict =
        |column: &str| Problem::new(row.line, column, "changed_meanwhile", message.clone());
    let Some(base) = base else {
        found.problems.push(conflict(UPDATED_AT));
        return Ok(());
    };
    for change in &found.fields {
        if cell(at(&base, &change.field)) != change.shown {
            found.problems.push(conflict(&change.field));
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
        let before = at(&base, nested.list.name).as_array().into_iter().flatten();
        let before = before
            .clone()
            .find(|record| record[nested.list.id].as_str() == Some(id));
        for change in changes {
            if before.map(|record| cell(&record[&change.field])).as_ref() != Some(&change.shown) {
                found
                    .problems
                    .push(conflict(&nested.column_of(&change.field)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::register::LISTS;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("copy.db")).unwrap();
        (folder, store)
    }

    fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields
            .iter()
            .map(|(field, cell)| ((*field).to_owned(), (*cell).to_owned()))
            .collect()
    }

    /// The identifier of a nested record, and its cells.
    type Nested<'a> = (Option<&'a str>, &'a [(&'a str, &'a str)]);

    fn row(fields: &[(&str, &str)], nested: &[Nested<'_>]) -> TraineeRow {
        let nested = nested
            .iter()
            .enumerate()
            .map(|(number, (id, fields))| NestedRow {
                list: LISTS[0],
                number: number + 1,
                id: id.map(str::to_owned),
                fields: pairs(fields),
            });
        TraineeRow {
            line: 2,
            fields: pairs(fields),
            nested: nested.collect(),
            ..TraineeRow::default()
        }
    }

    fn record() -> Value {
        json!({
            "trainee_id": "T", "updated_at": "u1", "email": "a@x", "first_names": "Ayo", "sex": null,
            "placements": [{ "placement_id": "P", "urn": "990011", "name": "A School" }],
        })
    }

    #[test]
    fn cells_that_differ_are_changes() {
        let (_folder, store) = store();
        let found = compare(
            &store,
            &row(
                &[("email", "b@x"), ("first_names", "Ayo"), ("sex", "")],
                &[],
            ),
            &record(),
        )
        .unwrap();
        let change = FieldChange {
            field: "email".to_owned(),
            shown: "a@x".to_owned(),
            cell: "b@x".to_owned(),
        };
        assert_eq!(
            found,
            Differences {
                fields: vec![change],
                ..Differences::default()
            }
        );
        assert!(
            compare(&store, &row(&[("email", "a@x")], &[]), &record())
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn value_shown_in_another_form_differs_only_until_sent() {
        let (_folder, mut store) = store();
        let row = row(&[("first_names", "Ayo  Ola")], &[]);
        let mut shown = record();
        shown["first_names"] = "Ayo Ola".into();
        assert!(!compare(&store, &row, &shown).unwrap().is_empty());
        store
            .set_accepted(&shown_otherwise("T", "", &row.fields, &shown))
            .unwrap();
        assert!(compare(&store, &row, &shown).unwrap().is_empty());
        shown["first_names"] = "Changed".into();
        assert!(!compare(&store, &row, &shown).unwrap().is_empty());
    }

    #[test]
    fn row_from_an_older_record_is_rejected_where_it_differs() {
        let (_folder, store) = store();
        let mut old = row(&[("email", "b@x")], &[]);
        old.updated_at = Some("u0".to_owned());
        assert_eq!(
            compare(&store, &old, &record()).unwrap().problems[0].code,
            "changed_meanwhile"
        );
        old.fields = pairs(&[("email", "a@x")]);
        assert!(compare(&store, &old, &record()).unwrap().is_empty());
    }

    #[test]
    fn own_earlier_change_does_not_conflict_with_the_row() {
        let (_folder, store) = store();
        let mut old = row(&[("email", "a@x"), ("first_names", "Bea")], &[]);
        old.updated_at = Some("u0".to_owned());
        // The email was changed by an earlier run; the first names still are what they were.
        let mut base = record();
        base["email"] = "before@x".into();
        store.set_base("T", "u0", &base).unwrap();
        let found = compare(&store, &old, &record()).unwrap();
        assert!(found.problems.is_empty() && found.fields.len() == 1);
        base["first_names"] = "Cleo".into();
        store.set_base("T", "u0", &base).unwrap();
        assert_eq!(
            compare(&store, &old, &record()).unwrap().problems[0].column,
            "first_names"
        );
    }

    #[test]
    fn nested_record_is_changed_by_its_identifier() {
        let (_folder, store) = store();
        let found = compare(
            &store,
            &row(&[], &[(Some("P"), &[("urn", "990012")])]),
            &record(),
        )
        .unwrap();
        assert!(matches!(&found.nested[..], [NestedChange::Update { id, .. }] if id == "P"));
        let found = compare(
            &store,
            &row(&[], &[(Some("Q"), &[("urn", "990012")])]),
            &record(),
        )
        .unwrap();
        assert_eq!(found.problems[0].column, "placements.1.placement_id");
    }

    #[test]
    fn nested_record_without_identifier_is_added_once() {
        let (_folder, mut store) = store();
        let equal: Nested<'_> = (None, &[("urn", "990011")]);
        assert!(
            compare(&store, &row(&[], &[equal]), &record())
                .unwrap()
                .is_empty()
        );
        let twice = row(&[], &[equal, (None, &[("urn", "990012")])]);
        let found = compare(&store, &twice, &record()).unwrap();
        assert!(matches!(&found.nested[..], [NestedChange::Add(nested)] if nested.number == 2));
        let digest = twice.nested[1].digest("T");
        store.set_outcomes(&[(digest, "T".to_owned())]).unwrap();
        assert!(compare(&store, &twice, &record()).unwrap().is_empty());
    }

    #[test]
    fn similar_nested_record_is_a_problem_unless_the_row_decides() {
        let (_folder, store) = store();
        let cells: &[(&str, &str)] = &[("urn", "990011"), ("name", "Other")];
        let found = compare(&store, &row(&[], &[(None, cells)]), &record()).unwrap();
        assert_eq!(found.problems[0].code, "similar_nested_record");
        let found = compare(&store, &row(&[], &[(Some("new"), cells)]), &record()).unwrap();
        assert!(matches!(&found.nested[..], [NestedChange::Add(_)]));
    }
}
