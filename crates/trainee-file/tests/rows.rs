//! Rows by their columns: bodies, names of columns, and headings.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::Cell;

use chrono::NaiveDate;

use trainee_file::{
    CellKind, Codes, Column, LISTS, List, Names, RepairContext, Table, TraineeRow, find_repairs,
    find_repeated_column, spreadsheet_cell, write_csv,
};

/// The fields of the newest version that the tests use, with the names of an older one.
fn names() -> Names {
    let mut names = Names::default();
    for field in [
        "provider_trainee_id",
        "agency_id",
        "first_names",
        "email",
        "disability1",
        "itt_qualification_aim",
        "course_subject_1",
        "training_partner_urn",
    ] {
        names.add_field(field, field);
    }
    names.add_field("lead_partner_urn", "training_partner_urn");
    for field in ["urn", "name"] {
        names.add_nested("placements", field, field);
    }
    for field in ["uk_degree", "subject", "institution", "graduation_year"] {
        names.add_nested("degrees", field, field);
    }
    names.add_read_only("state");
    names
}

fn rows(text: &str) -> Vec<TraineeRow> {
    let table = Table::read(text.as_bytes()).unwrap();
    let columns: Vec<Column> = table
        .header
        .iter()
        .map(|heading| names().recognise(heading).unwrap())
        .collect();
    table
        .rows
        .iter()
        .map(|row| TraineeRow::new(row, &columns))
        .collect()
}

#[test]
fn rows_are_read_by_the_fields_of_the_version() {
    let rows = rows(
        "trainee_id,updated_at,first_names,email,state,degrees.1.subject,degrees.3.subject,degrees.3.degree_id\n\
         ,,\" Ayo\nOla \",,awarded,,x,\nT,2026,Bea,b@x,,,y,D\n",
    );
    assert_eq!(rows[0].line, 2);
    assert_eq!(rows[0].trainee_id, None);
    let body = serde_json::json!({
        "first_names": "Ayo\nOla", "degrees_attributes": [{ "subject": "x" }],
    });
    assert_eq!(serde_json::Value::Object(rows[0].body()), body);
    for (field, column) in [
        ("degrees_attributes[0].subject", "degrees.3.subject"),
        ("degrees_attributes[0]", "degrees.3"),
        ("degrees_attributes[7].subject", "degrees.7.subject"),
        ("placements_attributes", "placements"),
        ("email", "email"),
    ] {
        assert_eq!(rows[0].column_name(field), column);
    }
    assert_eq!(rows[1].line, 4);
    assert_eq!(rows[1].trainee_id.as_deref(), Some("T"));
    assert_eq!(rows[1].nested[0].id.as_deref(), Some("D"));
    assert_eq!(
        rows[1].nested[0].column_name("subject"),
        "degrees.3.subject"
    );
}

#[test]
fn headings_of_versions_and_of_the_template_are_recognised() {
    for (heading, column) in [
        ("first_names", "first_names"),
        (" First Names ", "first_names"),
        ("FIRST NAMES", "first_names"),
        ("firstNames", "first_names"),
        ("Provider Trainee ID", "provider_trainee_id"),
        ("HESA ID", "agency_id"),
        ("Disability 1", "disability1"),
        ("Qualification Aim", "itt_qualification_aim"),
        ("Course Subject One", "course_subject_1"),
        ("Lead Partner URN", "training_partner_urn"),
        ("lead_partner_urn", "training_partner_urn"),
        ("Placement 1 URN", "placements.1.urn"),
        ("Placement 3 URN", "placements.3.urn"),
        ("First Placement URN", "placements.1.urn"),
        ("placements.2.placement_id", "placements.2.placement_id"),
        ("UK Degree Type", "degrees.1.uk_degree"),
        ("Degree Subject", "degrees.1.subject"),
        ("Degree Graduation Year", "degrees.1.graduation_year"),
        ("Degree 2 subject", "degrees.2.subject"),
        ("Awarding Institution", "degrees.1.institution"),
        ("Trainee ID", "trainee_id"),
        ("State", "ignored"),
        ("Errors", "ignored"),
        (trainee_file::WHY_HEADING, "ignored"),
    ] {
        let found = names().recognise(heading).map(|column| column.to_string());
        assert_eq!(found.as_deref(), Some(column), "{heading}");
        let same = names().recognise(column).map(|column| column.to_string());
        assert_eq!(same.as_deref(), Some(column));
    }
    for heading in [
        "Title",
        "",
        "placements.0.urn",
        "Placement 100 URN",
        "degrees.1.x",
    ] {
        assert_eq!(names().recognise(heading), None, "{heading}");
    }
}

#[test]
fn column_of_a_field_that_another_column_has_is_found() {
    let columns = |headings: &[&str]| -> Vec<Column> {
        let columns = headings.iter().map(|heading| names().recognise(heading));
        columns.map(Option::unwrap).collect()
    };
    let repeated = columns(&["state", "errors", "email", "HESA ID", "agency_id"]);
    assert_eq!(find_repeated_column(&repeated), Some((3, 4)));
    assert_eq!(
        find_repeated_column(&columns(&["state", "errors", "email"])),
        None
    );
}

#[test]
fn nested_fields_are_listed_in_their_order() {
    assert_eq!(names().nested_fields(LISTS[0]), ["urn", "name"]);
    assert_eq!(names().fields()[0], "provider_trainee_id");
    assert_eq!(names().fields().len(), 8);
}

#[test]
fn written_file_is_read_back_as_it_was() {
    let cells = [
        "=1+1",
        "+44",
        "-1",
        "@x",
        "01",
        "7",
        "123456",
        "123456789012",
        "2026-09-01",
        "1E5",
        "'t Hooft",
        "Müller, Ö",
        "a\"b",
        "two\nlines",
        "O'Neil",
        "7-11",
        "",
    ];
    let header: Vec<String> = (0..cells.len()).map(|at| format!("c{at}")).collect();
    let header = header.iter().map(String::as_str);
    let file = write_csv(header, [cells, cells]).unwrap();
    let table = Table::read(file.as_bytes()).unwrap();
    assert_eq!(table.rows.len(), 2);
    assert!(table.rows.iter().all(|row| row.cells == cells));
}

#[test]
fn apostrophe_precedes_what_a_spreadsheet_would_change() {
    for changed in [
        "=1+1",
        "+44",
        "-1",
        "@x",
        "01",
        "2026-09-01",
        "01/09/2026",
        "1E5",
        "123456789012",
        "'",
        "'1",
        "''a",
        "\u{ff1d}1+1",
        "\u{ff0d}1",
        "\u{2212}1",
        "7-11",
    ] {
        assert_eq!(spreadsheet_cell(changed), format!("'{changed}"));
    }
    for unchanged in [
        "", "0", "7", "990011", "Ayo", "1@x.org", "O'Neil", "'t Hart",
    ] {
        assert_eq!(spreadsheet_cell(unchanged), unchanged);
    }
}

/// Codes that count how often they are searched.
#[derive(Default)]
struct CountedCodes {
    searches: Cell<usize>,
}

impl Codes for CountedCodes {
    fn kind(&self, _: Option<List>, _: &str) -> CellKind {
        CellKind::Code
    }

    fn code(&self, _: Option<List>, _: &str, text: &str) -> Option<String> {
        self.searches.set(self.searches.get() + 1);
        (text == "Female").then(|| "10".to_owned())
    }
}

#[test]
fn codes_are_searched_once_for_each_different_cell() {
    let file = format!("email\n{}", "Female\nunknown\n".repeat(100));
    let table = Table::read(file.as_bytes()).unwrap();
    let codes = CountedCodes::default();
    let repairs = find_repairs(
        &table,
        &[Column::Field("email".to_owned())],
        &codes,
        &RepairContext {
            today: NaiveDate::default(),
            date_order: None,
        },
    );
    assert_eq!(repairs.first().unwrap().cells.len(), 100);
    assert_eq!(codes.searches.get(), 2);
}
