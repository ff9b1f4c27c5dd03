//! The course: routes, subjects, age ranges and dates.

use domain::TraineeField as F;
use serde_json::{Value, json};

use super::{Accepted, Case, Named, NamedBefore, NamedFrom, Want, try_all};

/// A trainee on a route, with what the route needs.
fn on_route(route: &str, more: &[(F, &str)]) -> Vec<(F, Value)> {
    let mut changes = vec![(F::training_route, json!(route))];
    match route {
        "15" => changes.push((F::iqts_country, json!("FR"))),
        "17" | "18" | "19" | "20" => {
            changes.push((F::course_subject_1, json!("100510")));
            changes.push((F::course_age_range, json!("13920")));
        }
        _ => {}
    }
    for (field, value) in more {
        changes.retain(|(held, _)| held != field);
        changes.push((*field, json!(value)));
    }
    changes
}

#[test]
fn every_version_accepts_its_routes() {
    let newest = || NamedBefore("v2026.1", F::training_route);
    let mut cases: Vec<Case> = ["03", "09", "10", "11", "12", "14"]
        .map(|route| Case("a route", on_route(route, &[]), Accepted))
        .into();
    cases.extend(
        ["15", "16", "21"].map(|route| Case("a newer route", on_route(route, &[]), newest())),
    );
    cases.push(Case(
        "an older route",
        on_route("02", &[]),
        NamedFrom("v2026.0", F::training_route),
    ));
    cases.extend(
        ["13", "22", "1"]
            .map(|route| Case("no route", on_route(route, &[]), Named(F::training_route))),
    );
    try_all(&cases);
}

#[test]
fn a_route_exists_from_its_first_year_on() {
    let starts = |day: &str| on_route("12", &[(F::itt_start_date, day)]);
    try_all(&[
        Case("the first day", starts("2022-08-01"), Accepted),
        Case(
            "the day before",
            starts("2022-07-31"),
            Named(F::training_route),
        ),
        Case(
            "started later than planned",
            on_route(
                "12",
                &[
                    (F::itt_start_date, "2022-07-31"),
                    (F::trainee_start_date, "2022-08-01"),
                ],
            ),
            Accepted,
        ),
        Case(
            "started earlier than planned",
            on_route(
                "12",
                &[
                    (F::itt_start_date, "2022-08-01"),
                    (F::trainee_start_date, "2022-07-31"),
                ],
            ),
            Named(F::training_route),
        ),
    ]);
}

#[test]
fn the_subjects_of_a_course_differ() {
    let subjects = |two: Option<&str>, three: Option<&str>| {
        let fields = [(F::course_subject_2, two), (F::course_subject_3, three)];
        fields
            .into_iter()
            .filter_map(|(field, code)| Some((field, json!(code?))))
            .collect::<Vec<_>>()
    };
    try_all(&[
        Case("three", subjects(Some("100425"), Some("100346")), Accepted),
        Case("a gap", subjects(None, Some("100346")), Accepted),
        Case(
            "second as first",
            subjects(Some("100403"), None),
            Named(F::course_subject_2),
        ),
        Case(
            "third as first",
            subjects(None, Some("100403")),
            Named(F::course_subject_3),
        ),
        Case(
            "third as second",
            subjects(Some("100425"), Some("100425")),
            Named(F::course_subject_3),
        ),
        Case(
            "early years as second",
            subjects(Some("100510"), None),
            Accepted,
        ),
        Case(
            "early years as first",
            vec![(F::course_subject_1, json!("100510"))],
            Accepted,
        ),
    ]);
}

#[test]
fn a_primary_course_begins_with_primary_teaching() {
    let course = |range: &str, subject: &str| {
        vec![
            (F::course_age_range, json!(range)),
            (F::course_subject_1, json!(subject)),
        ]
    };
    let mut cases = Vec::new();
    for range in ["13909", "13911", "13912", "13913", "13914", "13915"] {
        cases.push(Case(
            "another subject",
            course(range, "100425"),
            NamedFrom("v2026.0", F::course_subject_1),
        ));
        cases.push(Case(
            "early years teaching",
            course(range, "100510"),
            NamedFrom("v2026.0", F::course_subject_1),
        ));
        cases.push(Case("primary teaching", course(range, "100511"), Accepted));
    }
    for range in ["13916", "13917", "13918", "13919"] {
        cases.push(Case("a secondary range", course(range, "100425"), Accepted));
        cases.push(Case(
            "primary teaching in a secondary range",
            course(range, "100511"),
            Accepted,
        ));
    }
    cases.push(Case(
        "zero to five on another route",
        course("13920", "100425"),
        Named(F::course_age_range),
    ));
    try_all(&cases);
}

/// On the newer routes, what older versions say is that they have no such route.
#[test]
fn early_years_routes_have_their_own_subject_and_age_range() {
    for (what, route, more, want) in [
        ("as it must be", "17", &[][..], None),
        ("as it must be", "18", &[], None),
        ("as it must be", "19", &[], None),
        ("as it must be", "20", &[], None),
        (
            "another subject",
            "18",
            &[(F::course_subject_1, "100403")],
            Some(F::course_subject_1),
        ),
        (
            "primary teaching",
            "18",
            &[(F::course_subject_1, "100511")],
            Some(F::course_subject_1),
        ),
        (
            "another range",
            "18",
            &[(F::course_age_range, "13918")],
            Some(F::course_age_range),
        ),
        (
            "the same subject twice",
            "18",
            &[(F::course_subject_2, "100510")],
            None,
        ),
        ("no study mode", "17", &[(F::study_mode, "")], None),
        ("no study mode", "16", &[(F::study_mode, "")], None),
        (
            "no study mode",
            "18",
            &[(F::study_mode, "")],
            Some(F::study_mode),
        ),
        (
            "no study mode",
            "15",
            &[(F::study_mode, "")],
            Some(F::study_mode),
        ),
        (
            "no country",
            "15",
            &[(F::iqts_country, "")],
            Some(F::iqts_country),
        ),
        (
            "no such country",
            "15",
            &[(F::iqts_country, "QQ")],
            Some(F::iqts_country),
        ),
        (
            "a country",
            "16",
            &[(F::iqts_country, "FR")],
            Some(F::iqts_country),
        ),
        (
            "a country",
            "11",
            &[(F::iqts_country, "FR")],
            Some(F::iqts_country),
        ),
    ] {
        newest_only(what, on_route(route, more), want);
    }
}

/// A case for the versions that have the newer routes.
fn newest_only(what: &'static str, changes: Vec<(F, Value)>, want: Option<F>) {
    let register = crate::api::support::Register::start();
    for version in versions::SERVED {
        if version.inputs.trainee.name_of(F::iqts_country).is_none() {
            continue;
        }
        let want: Want = want.map_or(Accepted, Named);
        super::check(&register.api(version), &Case(what, changes.clone(), want));
    }
}

#[test]
fn the_year_of_a_course_is_a_number() {
    let year = |what, year: Value, want| Case(what, vec![(F::course_year, year)], want);
    try_all(&[
        year("a number", json!(2), Accepted),
        year("digits", json!("0"), Accepted),
        year("a word", json!("one"), NamedFrom("v2026.0", F::course_year)),
        year("a sign", json!("-1"), NamedFrom("v2026.0", F::course_year)),
        year(
            "a fraction",
            json!("1.5"),
            NamedFrom("v2026.0", F::course_year),
        ),
        year("a fraction", json!(1.5), Named(F::course_year)),
    ]);
}

#[test]
fn an_aim_with_an_award_says_which() {
    let aims =
        |aim: Value, award: Value| vec![(F::itt_aim, aim), (F::itt_qualification_aim, award)];
    try_all(&[
        Case(
            "needed",
            aims(json!("202"), Value::Null),
            Named(F::itt_qualification_aim),
        ),
        Case("not needed", aims(json!("201"), Value::Null), Accepted),
        Case(
            "not needed and there",
            aims(json!("201"), json!("001")),
            Accepted,
        ),
    ]);
}

/// Today is 5 October 2026.
#[test]
fn a_training_runs_within_its_bounds() {
    let dates = |start: &str, end: &str| {
        vec![
            (F::itt_start_date, json!(start)),
            (F::itt_end_date, json!(end)),
        ]
    };
    let started = |day: &str| vec![(F::trainee_start_date, json!(day))];
    let mut long_ago = dates("2015-01-01", "2016-10-04");
    long_ago.extend(started("2016-10-05"));
    let mut just_not = dates("2015-01-01", "2016-10-05");
    just_not.extend(started("2016-10-05"));
    try_all(&[
        Case(
            "ends a day later",
            dates("2026-09-01", "2026-09-02"),
            Accepted,
        ),
        Case(
            "ends the same day",
            dates("2026-09-01", "2026-09-01"),
            Named(F::itt_end_date),
        ),
        Case(
            "ends before",
            dates("2026-09-01", "2026-08-31"),
            Named(F::itt_end_date),
        ),
        Case(
            "starts next year",
            dates("2027-12-31", "2028-07-01"),
            Accepted,
        ),
        Case(
            "starts the year after",
            dates("2028-01-01", "2028-07-01"),
            Named(F::itt_start_date),
        ),
        Case(
            "ends in five years",
            dates("2026-09-01", "2031-12-31"),
            Accepted,
        ),
        Case(
            "ends in six years",
            dates("2026-09-01", "2032-01-01"),
            NamedFrom("v2026.0", F::itt_end_date),
        ),
        Case("ended ten years ago", just_not, Accepted),
        Case(
            "ended more than ten years ago",
            long_ago,
            NamedFrom("v2026.0", F::itt_end_date),
        ),
        Case("started today", started("2026-10-05"), Accepted),
        Case(
            "starts tomorrow",
            started("2026-10-06"),
            Named(F::trainee_start_date),
        ),
        Case("started ten years ago", started("2016-10-05"), Accepted),
        Case(
            "started more than ten years ago",
            started("2016-10-04"),
            Named(F::trainee_start_date),
        ),
        Case(
            "planned more than ten years ago",
            dates("2016-10-04", "2026-11-01"),
            Named(F::itt_start_date),
        ),
        Case(
            "starts as planned, tomorrow",
            {
                let mut changes = dates("2026-10-06", "2027-07-01");
                changes.extend(started("2026-10-06"));
                changes
            },
            Accepted,
        ),
        Case(
            "no day",
            dates("2026-02-30", "2027-07-01"),
            Named(F::itt_start_date),
        ),
        Case(
            "no apprenticeship",
            vec![(F::pg_apprenticeship_start_date, json!("soon"))],
            Named(F::pg_apprenticeship_start_date),
        ),
        Case(
            "any apprenticeship",
            vec![(F::pg_apprenticeship_start_date, json!("1999-01-01"))],
            Accepted,
        ),
    ]);
}
