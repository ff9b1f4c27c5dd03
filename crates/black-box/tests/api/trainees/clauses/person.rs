//! Who the trainee is: required fields, lengths, forms, ages and diversity.

use domain::TraineeField as F;
use serde_json::{Value, json};
use versions::SERVED;

use super::{Accepted, Case, Named, try_all};
use crate::api::support::{REQUIRED, requires};

#[test]
fn every_required_field_is_missed() {
    let missing = REQUIRED
        .iter()
        .map(|field| Case("missing", vec![(*field, Value::Null)], Named(*field)));
    let blank = REQUIRED
        .iter()
        .map(|field| Case("blank", vec![(*field, json!(" "))], Named(*field)));
    try_all(&missing.chain(blank).collect::<Vec<_>>());
}

#[test]
fn every_optional_field_can_be_left_out() {
    let fields = [
        F::nationality,
        F::provider_trainee_id,
        F::ethnicity,
        F::disability1,
        F::placements,
        F::degrees,
    ];
    let optional = fields
        .iter()
        .filter(|field| !SERVED.iter().any(|version| requires(version, **field)));
    try_all(
        &optional
            .map(|field| Case("left out", vec![(*field, Value::Null)], Accepted))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_length_has_its_limit_in_characters() {
    let limited = [
        (F::first_names, 60),
        (F::middle_names, 60),
        (F::last_name, 60),
        (F::previous_last_name, 60),
        (F::provider_trainee_id, 50),
    ];
    let cases = limited.iter().flat_map(|(field, max)| {
        [
            Case(
                "the longest",
                vec![(*field, json!("é".repeat(*max)))],
                Accepted,
            ),
            Case(
                "one too long",
                vec![(*field, json!("é".repeat(max + 1)))],
                Named(*field),
            ),
        ]
    });
    let email = |length: usize| {
        let host = format!(
            "@{}.{}.{}.uk",
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(50)
        );
        json!(format!("{}{host}", "a".repeat(length - host.len())))
    };
    let others = [
        Case(
            "the longest address",
            vec![(F::email, email(255))],
            Accepted,
        ),
        Case(
            "one too long",
            vec![(F::email, email(256))],
            Named(F::email),
        ),
        Case(
            "the longest year",
            vec![(F::course_year, json!("2026"))],
            Accepted,
        ),
        Case(
            "one too long",
            vec![(F::course_year, json!("20260"))],
            Named(F::course_year),
        ),
        Case(
            "13 characters",
            vec![(F::agency_id, json!("A".repeat(13)))],
            Accepted,
        ),
        Case(
            "17 characters",
            vec![(F::agency_id, json!("é".repeat(17)))],
            Accepted,
        ),
        Case(
            "13 and white space",
            vec![(F::agency_id, json!(" 1234567890123 "))],
            Accepted,
        ),
        Case(
            "12 characters",
            vec![(F::agency_id, json!("1".repeat(12)))],
            Named(F::agency_id),
        ),
        Case(
            "14 characters",
            vec![(F::agency_id, json!("1".repeat(14)))],
            Named(F::agency_id),
        ),
        Case(
            "16 characters",
            vec![(F::agency_id, json!("1".repeat(16)))],
            Named(F::agency_id),
        ),
        Case(
            "18 characters",
            vec![(F::agency_id, json!("1".repeat(18)))],
            Named(F::agency_id),
        ),
        Case(
            "7 digits",
            vec![(F::application_id, json!("1234567"))],
            Accepted,
        ),
        Case(
            "a number",
            vec![(F::application_id, json!(1_234_567))],
            Accepted,
        ),
        Case(
            "8 digits",
            vec![(F::application_id, json!("12345678"))],
            Named(F::application_id),
        ),
        Case(
            "a letter",
            vec![(F::application_id, json!("12a"))],
            Named(F::application_id),
        ),
        Case(
            "a sign",
            vec![(F::application_id, json!(-12))],
            Named(F::application_id),
        ),
        Case(
            "a fraction",
            vec![(F::application_id, json!("1.5"))],
            Named(F::application_id),
        ),
        Case(
            "wide digits",
            vec![(F::application_id, json!("１２"))],
            Named(F::application_id),
        ),
        Case(
            "any text",
            vec![(F::ni_number, json!("QQ 12 34 56 C or so"))],
            Accepted,
        ),
    ];
    try_all(&cases.chain(others).collect::<Vec<_>>());
}

#[test]
fn a_trainee_has_an_age() {
    let born = |what, day: &str, named: bool| {
        Case(
            what,
            vec![(F::date_of_birth, json!(day))],
            if named {
                Named(F::date_of_birth)
            } else {
                Accepted
            },
        )
    };
    // Today is 5 October 2026.
    try_all(&[
        born("tomorrow", "2026-10-06", true),
        born("today", "2026-10-05", true),
        born("16 tomorrow", "2010-10-06", true),
        born("16 today", "2010-10-05", false),
        born("100 today", "1926-10-05", false),
        born("100 yesterday", "1926-10-04", true),
        born("no day", "1999-02-29", true),
        born("no month", "2000-13-01", true),
        born("the day first", "05/10/2000", true),
        born("without hyphens", "20001005", true),
        born("a year", "2000", true),
        born("a date-time", "1999-04-12T10:00:00Z", false),
    ]);
}

#[test]
fn every_code_is_in_its_list() {
    let lists = [
        F::sex,
        F::nationality,
        F::ethnicity,
        F::disability1,
        F::disability2,
        F::disability9,
        F::training_route,
        F::course_subject_1,
        F::course_subject_2,
        F::course_subject_3,
        F::course_age_range,
        F::study_mode,
        F::itt_aim,
        F::itt_qualification_aim,
        F::fund_code,
        F::funding_method,
        F::training_initiative,
        F::additional_training_initiative,
    ];
    let unknown = lists
        .iter()
        .map(|field| Case("unknown", vec![(*field, json!("zz"))], Named(*field)));
    let others = [
        Case(
            "no leading zero",
            vec![(F::study_mode, json!(1))],
            Named(F::study_mode),
        ),
        Case(
            "two leading zeros",
            vec![(F::study_mode, json!("001"))],
            Named(F::study_mode),
        ),
        Case(
            "a space",
            vec![(F::study_mode, json!(" 01"))],
            Named(F::study_mode),
        ),
        Case(
            "a sign",
            vec![(F::study_mode, json!(-31))],
            Named(F::study_mode),
        ),
        Case("a number", vec![(F::itt_aim, json!(202))], Accepted),
        Case("a word", vec![(F::sex, json!("woman"))], Named(F::sex)),
        Case(
            "no nationality",
            vec![(F::nationality, json!("XM"))],
            Named(F::nationality),
        ),
        Case(
            "another British one",
            vec![(F::nationality, json!("JE"))],
            Accepted,
        ),
        Case(
            "lower case",
            vec![(F::nationality, json!("gb"))],
            Named(F::nationality),
        ),
        Case(
            "a range of elsewhere",
            vec![(F::course_age_range, json!("99801"))],
            Named(F::course_age_range),
        ),
        Case(
            "a range of elsewhere",
            vec![(F::course_age_range, json!("99803"))],
            Named(F::course_age_range),
        ),
    ];
    try_all(&unknown.chain(others).collect::<Vec<_>>());
}

#[test]
fn an_address_has_the_form_of_one() {
    let address = |text: &str, wrong: bool| {
        Case(
            "an address",
            vec![(F::email, json!(text))],
            if wrong { Named(F::email) } else { Accepted },
        )
    };
    try_all(&[
        address("o'neil+ite@mail.school.org.uk", false),
        address("a@xn--bcher-kva.example", false),
        address("trainee", true),
        address("@example.com", true),
        address("a@b@example.com", true),
        address("a..b@example.com", true),
        address("a b@example.com", true),
        address("a@example", true),
        address("a@-b.uk", true),
        address("a@b.u", true),
        address("zoë@example.com", true),
        address("!#$%&'*+/=?^_{}~-|`@example.com", false),
        address("a@ex--ample.com", true),
        address("a@exa_mple.com", true),
    ]);
}

#[test]
fn no_disability_stands_twice() {
    try_all(&[
        Case(
            "the same",
            vec![(F::disability2, json!("58"))],
            Named(F::disability2),
        ),
        Case(
            "the same, later",
            vec![(F::disability7, json!("58"))],
            Named(F::disability7),
        ),
        Case("another", vec![(F::disability2, json!("57"))], Accepted),
        Case(
            "both without answer",
            vec![(F::disability1, json!("98")), (F::disability2, json!("99"))],
            Accepted,
        ),
    ]);
}
