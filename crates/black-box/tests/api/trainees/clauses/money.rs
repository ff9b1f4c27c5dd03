//! Student finance, bursaries, scholarships, grants, initiatives and organisations.

use domain::{RecordField as _, TraineeField as F};
use serde_json::{Value, json};

use super::{Accepted, Case, Named, NamedBefore, NamedFrom, try_all};

const BIOLOGY: &str = "100346";
const ENGLISH: &str = "100320";
const MATHEMATICS: &str = "100403";
const PHYSICS: &str = "100425";
const FRENCH: &str = "100321";
const LATIN: &str = "101420";

/// A route, a subject, the day of the start, and the two codes of the funding.
fn funded(
    route: &str,
    subject: &str,
    start: &str,
    fund_code: &str,
    method: &str,
) -> Vec<(F, Value)> {
    vec![
        (F::training_route, json!(route)),
        (F::course_subject_1, json!(subject)),
        (F::itt_start_date, json!(start)),
        (F::itt_end_date, json!("2028-07-31")),
        (F::fund_code, json!(fund_code)),
        (F::funding_method, json!(method)),
    ]
}

#[test]
fn student_finance_is_open_to_some_routes_in_some_years() {
    try_all(&[
        Case(
            "open",
            funded("11", MATHEMATICS, "2026-09-01", "7", "6"),
            Accepted,
        ),
        Case(
            "open",
            funded("09", MATHEMATICS, "2026-09-01", "7", "6"),
            Accepted,
        ),
        Case(
            "never open",
            funded("14", MATHEMATICS, "2026-09-01", "7", "6"),
            Named(F::fund_code),
        ),
        Case(
            "not open yet",
            funded("11", MATHEMATICS, "2020-07-31", "7", "6"),
            Named(F::fund_code),
        ),
        Case(
            "not known yet",
            funded("11", MATHEMATICS, "2027-08-01", "7", "6"),
            Named(F::fund_code),
        ),
        Case(
            "without finance",
            funded("14", MATHEMATICS, "2026-09-01", "2", "6"),
            Accepted,
        ),
    ]);
}

#[test]
fn funding_needs_student_finance_except_some_subjects_in_exception_years() {
    try_all(&[
        Case(
            "with finance",
            funded("12", PHYSICS, "2026-09-01", "7", "D"),
            Accepted,
        ),
        Case(
            "without",
            funded("12", BIOLOGY, "2026-09-01", "2", "D"),
            Named(F::funding_method),
        ),
        Case(
            "without, in 2025",
            funded("12", BIOLOGY, "2025-09-01", "2", "D"),
            Named(F::funding_method),
        ),
        Case(
            "an exception in 2025",
            funded("12", PHYSICS, "2025-09-01", "2", "D"),
            Accepted,
        ),
        Case(
            "an exception in 2025",
            funded("12", FRENCH, "2025-09-01", "2", "4"),
            Accepted,
        ),
        Case(
            "an exception in 2025",
            funded("12", LATIN, "2025-09-01", "2", "D"),
            Accepted,
        ),
        Case(
            "an exception in 2026",
            funded("12", PHYSICS, "2026-09-01", "2", "D"),
            NamedBefore("v2026.0", F::funding_method),
        ),
        Case(
            "none in 2024",
            funded("12", PHYSICS, "2024-09-01", "2", "D"),
            Named(F::funding_method),
        ),
        Case(
            "none without a row",
            funded("14", PHYSICS, "2025-09-01", "2", "D"),
            Named(F::funding_method),
        ),
    ]);
}

#[test]
fn funding_exists_for_a_year_a_route_and_a_subject() {
    let started = |planned: &str, day: &str| {
        let mut changes = funded("12", MATHEMATICS, planned, "7", "4");
        changes.push((F::trainee_start_date, json!(day)));
        changes
    };
    try_all(&[
        Case(
            "a bursary",
            funded("11", MATHEMATICS, "2026-09-01", "7", "B"),
            Accepted,
        ),
        Case(
            "a tier",
            funded("11", MATHEMATICS, "2026-09-01", "7", "9"),
            Accepted,
        ),
        Case(
            "another subject",
            funded("11", PHYSICS, "2026-09-01", "7", "B"),
            Named(F::funding_method),
        ),
        Case(
            "that subject a year before",
            funded("11", PHYSICS, "2025-09-01", "7", "B"),
            Accepted,
        ),
        Case(
            "new in 2026",
            funded("11", ENGLISH, "2026-09-01", "7", "B"),
            Accepted,
        ),
        Case(
            "a scholarship",
            funded("12", PHYSICS, "2026-09-01", "7", "4"),
            Accepted,
        ),
        Case(
            "dropped in 2026",
            funded("12", MATHEMATICS, "2026-09-01", "7", "4"),
            Named(F::funding_method),
        ),
        Case(
            "there in 2025",
            funded("12", MATHEMATICS, "2025-09-01", "7", "4"),
            Accepted,
        ),
        Case(
            "a grant",
            funded("03", BIOLOGY, "2026-09-01", "7", "E"),
            Accepted,
        ),
        Case(
            "a grant on another route",
            funded("12", BIOLOGY, "2026-09-01", "7", "E"),
            Named(F::funding_method),
        ),
        Case(
            "a bursary on a route of grants",
            funded("03", BIOLOGY, "2026-09-01", "7", "D"),
            Named(F::funding_method),
        ),
        Case(
            "the last day of a year",
            funded("12", MATHEMATICS, "2026-07-31", "7", "4"),
            Accepted,
        ),
        Case(
            "the first day of the next",
            funded("12", MATHEMATICS, "2026-08-01", "7", "4"),
            Named(F::funding_method),
        ),
        Case(
            "started in the year before the plan",
            started("2026-08-01", "2026-07-31"),
            Accepted,
        ),
        Case(
            "started in the year after the plan",
            started("2026-07-31", "2026-08-01"),
            Named(F::funding_method),
        ),
    ]);
}

/// What is not there is missed, and no rule about funding says so a second time.
#[test]
fn a_required_field_of_a_funded_trainee_is_missed_once() {
    let cases = F::ALL
        .iter()
        .filter(|field| field.info().required)
        .map(|field| {
            let mut changes = funded("12", PHYSICS, "2026-09-01", "7", "D");
            changes.retain(|(changed, _)| changed != field);
            changes.push((*field, Value::Null));
            Case("missing", changes, Named(*field))
        });
    try_all(&cases.collect::<Vec<_>>());
}

#[test]
fn an_initiative_was_available_in_the_year_of_the_start() {
    let with = |field: F, code: &str, start: &str| {
        vec![
            (F::itt_start_date, json!(start)),
            (F::itt_end_date, json!("2027-07-31")),
            (field, json!(code)),
        ]
    };
    let mut cases = Vec::new();
    for (code, start, available) in [
        ("009", "2022-09-01", true),
        ("009", "2023-08-01", false),
        ("011", "2025-07-31", false),
        ("011", "2025-08-01", true),
        ("025", "2024-07-31", true),
        ("025", "2024-08-01", false),
        ("026", "2026-09-01", true),
        ("036", "2023-07-31", false),
        ("036", "2023-08-01", true),
        ("036", "2026-07-31", true),
        ("036", "2026-08-01", false),
    ] {
        let first = if available {
            Accepted
        } else {
            Named(F::training_initiative)
        };
        cases.push(Case(
            "the first",
            with(F::training_initiative, code, start),
            first,
        ));
        let second = if available {
            Accepted
        } else {
            NamedFrom("v2026.0", F::additional_training_initiative)
        };
        cases.push(Case(
            "the second",
            with(F::additional_training_initiative, code, start),
            second,
        ));
    }
    cases.push(Case(
        "the same in both",
        vec![
            (F::training_initiative, json!("026")),
            (F::additional_training_initiative, json!("026")),
        ],
        Accepted,
    ));
    let mut veteran = funded("11", MATHEMATICS, "2026-09-01", "7", "C");
    veteran.push((F::training_initiative, json!("009")));
    cases.push(Case(
        "overridden by the veterans' bursary",
        veteran,
        Accepted,
    ));
    try_all(&cases);
}

#[test]
fn schools_and_training_partners_are_known() {
    let number = |field: F, number: &str, known: bool| {
        Case(
            "a number",
            vec![(field, json!(number))],
            if known { Accepted } else { Named(field) },
        )
    };
    try_all(&[
        number(F::employing_school_urn, "990001", true),
        number(F::employing_school_urn, "123456", false),
        number(F::employing_school_urn, "99000", false),
        number(F::employing_school_urn, "900010", true),
        number(F::training_partner_urn, "990004", true),
        number(F::training_partner_urn, "990001", false),
        number(F::training_partner_urn, "9900041", false),
        number(F::training_partner_urn, "900030", true),
        number(F::training_partner_ukprn, "10090101", true),
        number(F::training_partner_ukprn, "10099998", false),
        number(F::training_partner_ukprn, "1009010", false),
    ]);
}
