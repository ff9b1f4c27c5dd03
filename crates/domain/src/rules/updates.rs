//! Tests that an update of any field read by a rule runs the rule.

use TraineeField as F;

use super::testing::apply;
use super::{Rule, course, dates, diversity, funding, personal};
use crate::fields::value::{Input, Value};
use crate::problem::{Notice, NoticeKind};
use crate::records::record::{Changes as _, Stored as _};
use crate::records::trainee::{FlatTrainee, Trainee, TraineeChanges, TraineeField};

fn set(changes: &mut TraineeChanges, field: F, value: &str) {
    assert!(
        changes.set(field, Input::Text(value.into())),
        "{field:?} {value}"
    );
}

fn trainee(fields: &[(F, &str)]) -> FlatTrainee {
    let mut changes = TraineeChanges::default();
    for (field, value) in fields {
        set(&mut changes, *field, value);
    }
    let candidate = apply::<Trainee>((), None, changes, &[]);
    assert_eq!(candidate.problems(), []);
    candidate.record
}

/// Returns a change that sets `field` to its value in `record`.
fn change_to(record: &FlatTrainee, field: F) -> TraineeChanges {
    let mut changes = TraineeChanges::default();
    let stored = record.stored(field);
    if let Value::Date(day) = stored {
        set(&mut changes, field, &day.to_string());
    } else if let Some(text) = stored.as_text() {
        set(&mut changes, field, text);
    } else {
        assert_eq!(stored, Value::Null, "{field:?}");
        changes.clear(field);
    }
    changes
}

/// Asserts that `rule` refuses the record `wrong` with a problem at `at` after an update of any one
/// of the fields that differ between `wrong` and `other`. Before the update, the field has its
/// value in `other`.
#[track_caller]
fn refused_by_any(rule: Rule<Trainee>, at: F, wrong: &[(F, &str)], other: &[(F, &str)]) {
    let wrong = trainee(wrong);
    let other = trainee(other);
    let fields: Vec<F> = <F as crate::fields::field::RecordField>::ALL
        .iter()
        .copied()
        .filter(|field| wrong.stored(*field) != other.stored(*field))
        .collect();
    assert!(!fields.is_empty());
    for field in fields {
        let before = apply::<Trainee>((), Some(&wrong), change_to(&other, field), &[]).record;
        let candidate = apply((), Some(&before), change_to(&wrong, field), &[rule]);
        assert_eq!(candidate.record, wrong, "{} {field:?}", rule.name);
        let places: Vec<_> = candidate
            .problems()
            .iter()
            .map(|problem| problem.at.clone())
            .collect();
        assert_eq!(places, [at.into()], "{} {field:?}", rule.name);
    }
}

#[test]
fn rules_about_one_field_run_when_it_changes() {
    for (rule, field, wrong, right) in [
        (personal::BORN, F::date_of_birth, "2026-10-06", "1999-04-12"),
        (
            personal::OLD_ENOUGH,
            F::date_of_birth,
            "2010-10-06",
            "1999-04-12",
        ),
        (
            personal::NOT_TOO_OLD,
            F::date_of_birth,
            "1926-10-04",
            "1999-04-12",
        ),
        (personal::EMAIL, F::email, "trainee", "trainee@example.com"),
        (personal::AGENCY_ID, F::agency_id, "1", "0310261553101"),
        (personal::APPLICATION_ID, F::application_id, "12345678", "1"),
        (
            dates::START_NOT_TOO_LATE,
            F::itt_start_date,
            "2028-01-01",
            "2027-12-31",
        ),
        (
            dates::END_NOT_TOO_LATE,
            F::itt_end_date,
            "2032-01-01",
            "2031-12-31",
        ),
        (
            dates::END_NOT_TOO_EARLY,
            F::itt_end_date,
            "2016-10-04",
            "2016-10-05",
        ),
        (
            dates::STARTED_NOT_TOO_EARLY,
            F::itt_start_date,
            "2016-10-04",
            "2016-10-05",
        ),
        (
            dates::STARTED_NOT_TOO_EARLY,
            F::trainee_start_date,
            "2016-10-04",
            "2016-10-05",
        ),
        (
            dates::STARTED_NOT_IN_FUTURE,
            F::trainee_start_date,
            "2026-10-06",
            "2026-10-05",
        ),
        (course::COURSE_YEAR_NUMBER, F::course_year, "one", "1"),
    ] {
        refused_by_any(rule, field, &[(field, wrong)], &[(field, right)]);
    }
}

#[test]
fn rules_about_dates_run_when_either_changes() {
    refused_by_any(
        dates::END_AFTER_START,
        F::itt_end_date,
        &[
            (F::itt_start_date, "2026-09-02"),
            (F::itt_end_date, "2026-09-02"),
        ],
        &[
            (F::itt_start_date, "2026-09-01"),
            (F::itt_end_date, "2027-07-16"),
        ],
    );
    let route = (F::training_route, "12");
    for start in [F::itt_start_date, F::trainee_start_date] {
        let other = [(F::training_route, "11"), (start, "2022-08-01")];
        refused_by_any(
            course::ROUTE_IN_YEAR,
            F::training_route,
            &[route, (start, "2022-07-31")],
            &other,
        );
    }
}

#[test]
fn rules_about_subjects_and_ages_run_when_any_field_changes() {
    let (one, two, three) = (
        F::course_subject_1,
        F::course_subject_2,
        F::course_subject_3,
    );
    let (range, route) = (F::course_age_range, F::training_route);
    refused_by_any(
        course::PRIMARY_SUBJECT,
        one,
        &[(one, "100425"), (range, "13914"), (route, "11")],
        &[(one, "100511"), (range, "13918"), (route, "18")],
    );
    refused_by_any(
        course::EARLY_YEARS_SUBJECT,
        one,
        &[(one, "100403"), (route, "18")],
        &[(one, "100510"), (route, "11")],
    );
    refused_by_any(
        course::EARLY_YEARS_AGE_RANGE,
        range,
        &[(range, "13918"), (route, "18")],
        &[(range, "13920"), (route, "11")],
    );
    refused_by_any(
        course::EARLY_YEARS_AGE_RANGE,
        range,
        &[(range, "13920"), (route, "11")],
        &[(range, "13918"), (route, "18")],
    );
    refused_by_any(
        course::SECOND_SUBJECT_DIFFERS,
        two,
        &[(one, "100403"), (two, "100403"), (route, "11")],
        &[(one, "100425"), (two, "100346"), (route, "18")],
    );
    refused_by_any(
        course::THIRD_SUBJECT_DIFFERS,
        three,
        &[(one, "100403"), (three, "100403"), (route, "11")],
        &[(one, "100425"), (three, "100346"), (route, "18")],
    );
    refused_by_any(
        course::THIRD_SUBJECT_DIFFERS,
        three,
        &[(two, "100403"), (three, "100403"), (route, "11")],
        &[(two, "100425"), (three, "100346"), (route, "18")],
    );
}

#[test]
fn rules_about_routes_and_aims_run_when_any_field_changes() {
    let (route, country) = (F::training_route, F::iqts_country);
    refused_by_any(
        course::STUDY_MODE_BY_ROUTE,
        F::study_mode,
        &[(route, "11")],
        &[(route, "16"), (F::study_mode, "01")],
    );
    refused_by_any(
        course::STUDY_MODE,
        F::study_mode,
        &[(route, "11")],
        &[(route, "16"), (F::study_mode, "01")],
    );
    refused_by_any(
        course::QUALIFICATION_AIM,
        F::itt_qualification_aim,
        &[(F::itt_aim, "202")],
        &[(F::itt_aim, "201"), (F::itt_qualification_aim, "001")],
    );
    refused_by_any(
        course::IQTS_COUNTRY,
        country,
        &[(route, "15")],
        &[(route, "11"), (country, "FR")],
    );
    refused_by_any(
        course::NO_IQTS_COUNTRY,
        country,
        &[(route, "11"), (country, "FR")],
        &[(route, "15")],
    );
}

#[test]
fn rules_about_funding_run_when_any_field_changes() {
    let (route, fund, method, subject) = (
        F::training_route,
        F::fund_code,
        F::funding_method,
        F::course_subject_1,
    );
    for start in [F::itt_start_date, F::trainee_start_date] {
        refused_by_any(
            funding::STUDENT_FINANCE,
            fund,
            &[
                (fund, "7"),
                (route, "14"),
                (F::course_age_range, "13918"),
                (start, "2026-09-01"),
            ],
            &[
                (fund, "2"),
                (route, "11"),
                (F::course_age_range, "13918"),
                (start, "2026-09-01"),
            ],
        );
        refused_by_any(
            funding::STUDENT_FINANCE,
            fund,
            &[
                (fund, "7"),
                (route, "11"),
                (F::course_age_range, "13918"),
                (start, "2027-08-01"),
            ],
            &[
                (fund, "2"),
                (route, "11"),
                (F::course_age_range, "13918"),
                (start, "2026-09-01"),
            ],
        );
        refused_by_any(
            funding::FUNDING_WITH_FINANCE,
            method,
            &[
                (method, "D"),
                (fund, "2"),
                (subject, "100346"),
                (start, "2025-09-01"),
            ],
            &[
                (method, "6"),
                (fund, "7"),
                (subject, "100425"),
                (start, "2025-09-01"),
            ],
        );
        refused_by_any(
            funding::FUNDING_WITH_FINANCE,
            method,
            &[
                (method, "D"),
                (fund, "2"),
                (subject, "100425"),
                (start, "2026-09-01"),
            ],
            &[
                (method, "D"),
                (fund, "2"),
                (subject, "100425"),
                (start, "2025-09-01"),
            ],
        );
        refused_by_any(
            funding::FUNDING_EXISTS,
            method,
            &[
                (method, "B"),
                (route, "11"),
                (subject, "100425"),
                (start, "2026-09-01"),
            ],
            &[
                (method, "6"),
                (route, "12"),
                (subject, "100403"),
                (start, "2025-09-01"),
            ],
        );
        for (rule, field) in [
            (funding::INITIATIVE, F::training_initiative),
            (
                funding::ADDITIONAL_INITIATIVE,
                F::additional_training_initiative,
            ),
        ] {
            refused_by_any(
                rule,
                field,
                &[(field, "009"), (start, "2023-08-01")],
                &[(field, "026"), (start, "2023-07-31")],
            );
        }
    }
}

#[test]
fn repeated_disability_is_reported_when_either_changes() {
    let fields = crate::records::trainee::DISABILITIES;
    for (at, later) in fields.iter().enumerate() {
        for earlier in fields.iter().take(at) {
            refused_by_any(
                diversity::DISABILITIES_DIFFER,
                *later,
                &[(*earlier, "58"), (*later, "58")],
                &[(*earlier, "57"), (*later, "56")],
            );
        }
    }
}

#[test]
fn adjustments_run_when_any_of_their_fields_changes() {
    let planned = trainee(&[
        (F::itt_start_date, "2026-09-01"),
        (F::trainee_start_date, "2026-09-14"),
    ]);
    for (field, day) in [
        (F::itt_start_date, "2026-09-14"),
        (F::trainee_start_date, "2026-09-01"),
    ] {
        let mut changes = TraineeChanges::default();
        set(&mut changes, field, day);
        let candidate = apply((), Some(&planned), changes, &[dates::START_AS_PLANNED]);
        assert_eq!(candidate.record.trainee_start_date, None, "{field:?}");
    }
    let follows = trainee(&[(F::itt_start_date, "2026-09-01")]);
    for (sent, noticed) in [
        (Some("2026-09-01"), true),
        (Some("2026-09-02"), false),
        (None, false),
    ] {
        let mut changes = TraineeChanges::default();
        set(&mut changes, F::itt_start_date, "2026-09-08");
        sent.iter()
            .for_each(|day| set(&mut changes, F::trainee_start_date, day));
        let (record, notices) = apply((), Some(&follows), changes, &[dates::START_AS_PLANNED])
            .into_result()
            .unwrap();
        assert_eq!(
            record.trainee_start_date.is_some(),
            sent == Some("2026-09-02")
        );
        let kind = NoticeKind::MovesWith {
            field: F::itt_start_date.into(),
        };
        let notice = Notice {
            at: F::trainee_start_date.into(),
            kind,
        };
        assert_eq!(
            notices,
            if noticed { vec![notice] } else { vec![] },
            "{sent:?}"
        );
    }
    let veteran = trainee(&[(F::funding_method, "C"), (F::training_initiative, "026")]);
    let other = trainee(&[(F::funding_method, "6"), (F::training_initiative, "036")]);
    for field in [F::funding_method, F::training_initiative] {
        let before = apply::<Trainee>((), Some(&veteran), change_to(&other, field), &[]).record;
        let candidate = apply(
            (),
            Some(&before),
            change_to(&veteran, field),
            &[funding::VETERANS_INITIATIVE],
        );
        assert_eq!(candidate.record.training_initiative, None, "{field:?}");
    }
}
