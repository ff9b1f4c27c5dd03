//! Every clause of every rule, once in each version.

use domain::{RecordField as _, TraineeField as F};

use crate::api::support::{REQUIRED, requires, run_cases};

/// A degree of the United Kingdom, and one of another country.
const KINDS_OF_DEGREES: [(&str, &str); 2] = [
    (
        "uk",
        r#""subject":"100302","uk_degree":"083","grade":"02","graduation_year":"2018""#,
    ),
    (
        "foreign",
        r#""subject":"100302","country":"FR","non_uk_degree":"083","graduation_year":"2018""#,
    ),
];

#[test]
fn clauses_about_person_hold() {
    run_cases(include_str!("clauses/person.txt"));
}

#[test]
fn clauses_about_course_hold() {
    run_cases(include_str!("clauses/course.txt"));
}

#[test]
fn clauses_about_money_hold() {
    run_cases(include_str!("clauses/money.txt"));
}

#[test]
fn clauses_about_transitions_hold() {
    run_cases(include_str!("clauses/transitions.txt"));
}

#[test]
fn clauses_about_placements_hold() {
    let cases = include_str!("clauses/placements.txt");
    run_cases(&nest_and_add(
        "placements",
        cases.lines().map(str::to_owned),
    ));
}

#[test]
fn clauses_about_degrees_hold() {
    let cases = include_str!("clauses/degrees.txt").lines().map(|line| {
        let whole = KINDS_OF_DEGREES
            .iter()
            .fold(line.to_owned(), |line, (kind, fields)| {
                line.replace(&format!("{kind} {{"), &format!("{{{fields},"))
            });
        whole.replace(",}", "}")
    });
    run_cases(&nest_and_add("degrees", cases));
}

/// Cases that try each record in a new trainee and by itself.
fn nest_and_add(list: &str, cases: impl Iterator<Item = String>) -> String {
    let mut text = "== nested records\nPOST /trainees -> 201\n".to_owned();
    for case in cases.filter(|case| !case.starts_with('#')) {
        let (record, fields) = case.split_once(" ->").unwrap();
        let (condition, record) = record.split_at(record.find('{').unwrap());
        let status = if fields.is_empty() { 201 } else { 422 };
        let places: Vec<String> = fields
            .split_whitespace()
            .map(|field| format!("{list}.1.{field}"))
            .collect();
        text += &format!("{condition} try POST $/{list} {record} -> {status}{fields}\n");
        text += &format!(
            "{condition} try POST /trainees last_name=Nested {list}:=[{record}] -> {status} {}\n",
            places.join(" ")
        );
    }
    text
}

#[test]
fn required_fields_are_missed() {
    let invisible = r#"" "|"\u200b"|"\u3164\u115f"|"\u2800 \u2800"|"\u202e\ufe0f"|"\u0600""#;
    let mut cases = "== required fields\n".to_owned();
    for name in REQUIRED.map(|field| field.info().name) {
        cases += &format!("try POST /trainees -{name} -> 422 {name}\n");
        cases += &format!("try POST /trainees {name}:=({invisible}) -> 422 {name} ~\"blank\"\n");
    }
    cases += "POST /trainees -> 201\n";
    for name in REQUIRED.map(|field| field.info().name) {
        cases += &format!("(PUT|PATCH) $ {name}:=(null|\"  \") -> 422 {name} ~\"blank\"\n");
    }
    // No rule about funding reports it a second time.
    for name in F::ALL
        .iter()
        .map(|field| field.info())
        .filter(|info| info.required)
    {
        let funded = "training_route=12 course_subject_1=100425 fund_code=7 funding_method=D";
        cases += &format!(
            "try POST /trainees {funded} -{} -> 422 {}\n",
            name.name, name.name
        );
    }
    run_cases(&cases);
}

#[test]
fn fields_without_rule_can_be_missing() {
    let optional = [
        F::nationality,
        F::provider_trainee_id,
        F::ethnicity,
        F::disability1,
        F::placements,
        F::degrees,
    ];
    let is_required = |field: &F| {
        versions::SERVED
            .iter()
            .any(|version| requires(version, *field))
    };
    let mut cases = "== optional fields\n".to_owned();
    for field in optional.iter().filter(|field| !is_required(field)) {
        cases += &format!("try POST /trainees -{} -> 201\n", field.info().name);
    }
    run_cases(&cases);
}
