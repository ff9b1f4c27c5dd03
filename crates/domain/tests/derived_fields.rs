//! The fields of a trainee that are derived from others.

use domain::records::trainee::DISABILITIES;
use domain::{Lists, Record as _, Trainee, TraineeField, Value};

fn shown(trainee: &Trainee, field: TraineeField) -> Value<'_> {
    trainee.value(field, Lists::embedded())
}

fn with_disabilities(codes: &[&str]) -> Trainee {
    let mut trainee = Trainee::default();
    for (field, code) in DISABILITIES.into_iter().zip(codes) {
        assert!(trainee.set_stored(field, Value::text(code)));
    }
    trainee
}

#[test]
fn disability_disclosure_follows_from_all_codes_together() {
    for (codes, disclosure) in [
        (&[][..], "disability_not_provided"),
        (&["98"], "disability_not_provided"),
        (&["98", "99"], "disability_not_provided"),
        (&["95"], "no_disability"),
        (&["95", "98"], "disabled"),
        (&["95", "58"], "disabled"),
        (&["98", "96"], "disabled"),
    ] {
        let trainee = with_disabilities(codes);
        assert_eq!(
            shown(&trainee, TraineeField::disability_disclosure),
            Value::text(disclosure),
            "{codes:?}"
        );
    }
}

#[test]
fn missing_ethnicity_is_shown_as_not_provided() {
    let trainee = Trainee::default();
    assert_eq!(shown(&trainee, TraineeField::ethnicity), Value::text("997"));
    assert_eq!(
        shown(&trainee, TraineeField::ethnic_group),
        Value::text("not_provided_ethnic_group")
    );
    assert_eq!(
        shown(&trainee, TraineeField::ethnic_background),
        Value::text("Not provided")
    );
    assert_eq!(
        shown(&trainee, TraineeField::diversity_disclosure),
        Value::text("diversity_not_disclosed")
    );
}

#[test]
fn phase_follows_from_route_before_ages() {
    let trainee = |route: &str, range: &str| Trainee {
        training_route: Some(route.to_owned()),
        course_age_range: Some(range.to_owned()),
        ..Trainee::default()
    };
    for (route, range, phase) in [
        ("11", "13914", "primary"),
        ("11", "13916", "secondary"),
        ("18", "13920", "early_years"),
        ("17", "13918", "early_years"),
    ] {
        assert_eq!(
            shown(&trainee(route, range), TraineeField::course_education_phase),
            Value::text(phase),
            "{route} {range}"
        );
    }
}

#[test]
fn start_follows_plan_until_sent() {
    let planned = chrono::NaiveDate::from_ymd_opt(2026, 9, 1);
    let mut trainee = Trainee {
        itt_start_date: planned,
        ..Trainee::default()
    };
    assert_eq!(
        shown(&trainee, TraineeField::trainee_start_date),
        Value::Date(planned.unwrap())
    );
    trainee.trainee_start_date = chrono::NaiveDate::from_ymd_opt(2026, 9, 8);
    assert_eq!(
        shown(&trainee, TraineeField::trainee_start_date),
        Value::Date(trainee.trainee_start_date.unwrap())
    );
}

#[test]
fn imported_ages_are_shown_without_code() {
    let trainee = Trainee {
        course_min_age: Some(11),
        course_max_age: Some(18),
        ..Trainee::default()
    };
    assert_eq!(
        shown(&trainee, TraineeField::course_min_age),
        Value::Integer(11)
    );
    assert_eq!(
        shown(&trainee, TraineeField::course_max_age),
        Value::Integer(18)
    );
}
