//! Tests of the comparison of rows with records.

use std::convert::Infallible;

use serde_json::json;

use super::*;
use crate::columns::LISTS;

/// The memory of one program, with what the tests put into it.
#[derive(Debug, Default)]
struct TestMemory {
    accepted: Vec<AcceptedValue>,
    sent: Option<SentNested>,
    base: Option<(&'static str, Value)>,
}

impl Memory for TestMemory {
    type Error = Infallible;

    fn accepted(&self, _: &str) -> Result<Vec<AcceptedValue>, Infallible> {
        Ok(self.accepted.clone())
    }

    /// What was sent is the second record of a row.
    fn sent_nested(&self, _: &str, nested: &NestedRow) -> Result<SentNested, Infallible> {
        let sent = self.sent.filter(|_| nested.number == 2);
        Ok(sent.unwrap_or(SentNested::No))
    }

    fn base(&self, _: &str, updated_at: &str) -> Result<Option<Value>, Infallible> {
        let base = self.base.as_ref().filter(|(seen, _)| *seen == updated_at);
        Ok(base.map(|(_, record)| record.clone()))
    }
}

fn compare_rows(memory: &TestMemory, row: &TraineeRow) -> Differences {
    compare(memory, row, &record()).unwrap()
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
    let fields = [("email", "b@x"), ("first_names", "Ayo"), ("sex", "")];
    let change = FieldChange {
        field: "email".to_owned(),
        shown: "a@x".to_owned(),
        cell: "b@x".to_owned(),
    };
    let found = compare(&NoMemory, &row(&fields, &[]), &record()).unwrap();
    let expected = Differences {
        fields: vec![change],
        ..Differences::default()
    };
    assert_eq!(found, expected);
    let equal = row(&[("email", "a@x")], &[]);
    assert!(compare_rows(&TestMemory::default(), &equal).is_empty());
}

#[test]
fn value_shown_in_another_form_differs_only_until_sent() {
    let mut memory = TestMemory::default();
    let row = row(&[("first_names", "Ayo  Ola")], &[]);
    let mut shown = record();
    shown["first_names"] = "Ayo Ola".into();
    assert!(!compare(&memory, &row, &shown).unwrap().is_empty());
    memory.accepted = shown_otherwise("", &row.fields, &shown);
    assert!(compare(&memory, &row, &shown).unwrap().is_empty());
    shown["first_names"] = "Changed".into();
    assert!(!compare(&memory, &row, &shown).unwrap().is_empty());
}

#[test]
fn row_from_an_older_record_is_rejected_where_it_differs() {
    let mut old = row(&[("email", "b@x")], &[]);
    old.updated_at = Some("u0".to_owned());
    let memory = TestMemory::default();
    let problems = compare_rows(&memory, &old).problems;
    assert_eq!(problems[0].code, "changed_meanwhile");
    old.fields = pairs(&[("email", "a@x")]);
    assert!(compare_rows(&memory, &old).is_empty());
}

#[test]
fn own_earlier_change_does_not_conflict_with_the_row() {
    let mut old = row(&[("email", "a@x"), ("first_names", "Bea")], &[]);
    old.updated_at = Some("u0".to_owned());
    // The email was changed by an earlier run; the first names still are what they were.
    let mut base = record();
    base["email"] = "before@x".into();
    let mut memory = TestMemory {
        base: Some(("u0", base.clone())),
        ..TestMemory::default()
    };
    let found = compare_rows(&memory, &old);
    assert!(found.problems.is_empty() && found.fields.len() == 1);
    base["first_names"] = "Cleo".into();
    memory.base = Some(("u0", base));
    assert_eq!(
        compare_rows(&memory, &old).problems[0].column,
        "first_names"
    );
}

#[test]
fn nested_record_is_changed_by_its_identifier() {
    let memory = TestMemory::default();
    let found = compare_rows(&memory, &row(&[], &[(Some("P"), &[("urn", "990012")])]));
    assert!(matches!(&found.nested[..], [NestedChange::Update { id, .. }] if id == "P"));
    let found = compare_rows(&memory, &row(&[], &[(Some("Q"), &[("urn", "990012")])]));
    assert_eq!(found.problems[0].column, "placements.1.placement_id");
}

#[test]
fn nested_record_without_identifier_is_added_once() {
    let mut memory = TestMemory::default();
    let equal: Nested<'_> = (None, &[("urn", "990011")]);
    assert!(compare_rows(&memory, &row(&[], &[equal])).is_empty());
    let twice = row(&[], &[equal, (None, &[("urn", "990012")])]);
    let found = compare_rows(&memory, &twice);
    assert!(matches!(&found.nested[..], [NestedChange::Add(nested)] if nested.number == 2));
    memory.sent = Some(SentNested::Added);
    assert!(compare_rows(&memory, &twice).is_empty());
}

#[test]
fn similar_nested_record_is_a_problem_unless_the_row_decides() {
    let mut memory = TestMemory::default();
    let cells: &[(&str, &str)] = &[("urn", "990011"), ("name", "Other")];
    let found = compare_rows(&memory, &row(&[], &[(None, cells)]));
    assert_eq!(found.problems[0].code, "similar_nested_record");
    let found = compare_rows(&memory, &row(&[], &[(Some("new"), cells)]));
    assert!(matches!(&found.nested[..], [NestedChange::Add(_)]));
    // A request without a reply decides too: it is sent again with the same key.
    memory.sent = Some(SentNested::Unanswered);
    let first: Nested<'_> = (None, &[("name", "First")]);
    let found = compare_rows(&memory, &row(&[], &[first, (None, cells)]));
    assert!(found.problems.is_empty() && found.nested.len() == 2);
}
