//! Tests that an update of any field read by a rule runs the rule.

use super::testing::apply;
use super::{Rule, course, dates, diversity, funding, personal};
use crate::fields::field::RecordField as _;
use crate::fields::value::{Input, Value};
use crate::problem::{Notice, NoticeKind};
use crate::records::record::{Changes as _, Stored as _};
use crate::records::trainee::{FlatTrainee, Trainee, TraineeChanges, TraineeField as F};

/// The rules of the cases.
const RULES: &[Rule<Trainee>] = &[
    personal::BORN,
    personal::OLD_ENOUGH,
    personal::NOT_TOO_OLD,
    personal::EMAIL,
    personal::AGENCY_ID,
    personal::APPLICATION_ID,
    dates::START_NOT_TOO_LATE,
    dates::END_NOT_TOO_LATE,
    dates::END_NOT_TOO_EARLY,
    dates::END_AFTER_START,
    dates::STARTED_NOT_TOO_EARLY,
    dates::STARTED_NOT_IN_FUTURE,
    course::ROUTE_IN_YEAR,
    course::COURSE_YEAR_NUMBER,
    course::PRIMARY_SUBJECT,
    course::EARLY_YEARS_SUBJECT,
    course::EARLY_YEARS_AGE_RANGE,
    course::SECOND_SUBJECT_DIFFERS,
    course::THIRD_SUBJECT_DIFFERS,
    course::STUDY_MODE,
    course::STUDY_MODE_BY_ROUTE,
    course::QUALIFICATION_AIM,
    course::IQTS_COUNTRY,
    course::NO_IQTS_COUNTRY,
    funding::STUDENT_FINANCE,
    funding::FUNDING_WITH_FINANCE,
    funding::FUNDING_EXISTS,
    funding::INITIATIVE,
    funding::ADDITIONAL_INITIATIVE,
];

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
    let fields: Vec<F> = F::ALL
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
fn update_of_read_field_runs_rule() {
    for line in include_str!("updates.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        for start in ["itt_start_date", "trainee_start_date"] {
            let line = line.replace("START", start);
            let parts: Vec<&str> = line.split(" | ").collect();
            let (rule, at) = parts[0].split_once(' ').unwrap();
            let rule = RULES.iter().find(|known| known.name == rule);
            let fields = [parts[1], parts[2]].map(parse_fields);
            refused_by_any(*rule.unwrap(), find_field(at), &fields[0], &fields[1]);
        }
    }
}

/// Parses fields such as `fund_code=7`.
fn parse_fields(words: &str) -> Vec<(F, &str)> {
    let fields = words.split(' ').map(|word| {
        let (name, value) = word.split_once('=').unwrap();
        (find_field(name), value)
    });
    fields.collect()
}

fn find_field(name: &str) -> F {
    let mut fields = F::ALL.iter();
    *fields.find(|field| field.info().name == name).unwrap()
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
fn adjustments_run_when_any_field_changes() {
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
