//! The rule and the fields of this version only. The next version removed them.

use std::collections::BTreeSet;

use adapter_kit::VersionField;
use domain::problem::NoticeKind;
use domain::records::context::Context;
use domain::records::trainee::{DISABILITIES, SUBJECTS, is_primary_course, subject_codes};
use domain::rules::{Rule, Run, course::PRIMARY_SUBJECT_CODE};
use domain::{Candidate, Kind, Lists, RecordField as _, Stored, Trainee, TraineeField, Value};

/// Inserts primary teaching as the first subject of a primary course. The other subjects follow in
/// order, and a fourth subject is dropped (contract, section 9.2). Later versions report an error.
pub(crate) const PRIMARY_SUBJECT_FIRST: Rule<Trainee> = Rule {
    name: "primary_subject_first",
    description: "is set to 100511 if the oldest age is 11 or less, except on early years routes; the sent subjects follow it",
    section: "9.2",
    reads: &[
        SUBJECTS[0],
        SUBJECTS[1],
        SUBJECTS[2],
        TraineeField::course_age_range,
        TraineeField::training_route,
    ],
    run: Run::Adjust(primary_subject_first),
};

/// Moves the subjects of a primary course behind primary teaching. Adds a notice about a fourth
/// subject, which is dropped.
fn primary_subject_first(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let sent = SUBJECTS.map(|field| candidate.changes_any(&[field]));
    let trainee = &mut candidate.record;
    // Another rule reports a missing first subject.
    if !is_primary_course(trainee, context.lists) || trainee.course_subject_1.is_none() {
        return;
    }
    let mut subjects = Vec::new();
    for (subject, sent) in subject_codes(trainee).into_iter().zip(sent) {
        // Skips a stored subject that an earlier field has: a former request may have moved it.
        subjects.extend(subject.filter(|subject| sent || !subjects.contains(subject)));
    }
    // Other rules report repeated subjects.
    if BTreeSet::from_iter(&subjects).len() < subjects.len() {
        return;
    }
    let mut others = subjects
        .into_iter()
        .filter(|subject| subject != PRIMARY_SUBJECT_CODE);
    trainee.course_subject_1 = Some(PRIMARY_SUBJECT_CODE.to_owned());
    trainee.course_subject_2 = others.next();
    trainee.course_subject_3 = others.next();
    for field in SUBJECTS {
        candidate.mark_changed(field);
    }
    if let Some(code) = others.next() {
        candidate.notice(TraineeField::course_subject_3, NoticeKind::Dropped { code });
    }
}

/// The field with the trainee's disabilities as an object.
pub(crate) const AGENCY_DISABILITIES: VersionField<Trainee> = VersionField::new(
    "The disabilities that were sent; null when there are none.",
    Kind::Document,
    agency_disabilities,
);

/// A field that never has a value.
pub(crate) const WITHDRAW_REASONS_DFE_DETAILS: VersionField<Trainee> =
    VersionField::new("Always null.", Kind::Text, |_, _| Value::Null);

/// Returns the codes of the trainee's disabilities, by the canonical names of their fields; null if
/// there are none.
fn agency_disabilities<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    let codes: Vec<_> = DISABILITIES
        .iter()
        .filter_map(|field| Some((field.info().name, trainee.text(*field)?)))
        .collect();
    if codes.is_empty() {
        Value::Null
    } else {
        Value::Codes(codes)
    }
}

#[cfg(test)]
mod tests {
    use domain::ParsedRecord;
    use domain::commands::update;
    use domain::fields::value::Input;
    use domain::records::organisations::Organisations;
    use domain::records::record::Changes as _;
    use domain::records::trainee::TraineeChanges;
    use fixtures::example;

    use super::*;

    /// Returns a trainee as imported from an older system: a primary course with another first
    /// subject.
    fn imported() -> Trainee {
        Trainee {
            course_age_range: Some("13914".to_owned()),
            ..example::trainee()
        }
    }

    /// Returns the subjects after an update of one field.
    fn updated(stored: &Trainee, field: TraineeField, code: &str) -> [Option<String>; 3] {
        let mut changes = TraineeChanges::default();
        assert!(changes.set(field, Input::Text(code.into())));
        let version = &crate::V2025_0;
        let context = Context {
            today: example::AFTERWARDS,
            lists: Lists::embedded(),
            accepted_codes: &version.accepted_codes,
            organisations: &Organisations::default(),
        };
        let now = stored.updated_at.unwrap();
        let decision = update(
            stored,
            ParsedRecord::from_changes(changes),
            &version.rules,
            &context,
            now,
        )
        .unwrap();
        subject_codes(&decision.record)
    }

    #[test]
    fn change_of_any_course_field_inserts_primary_subject() {
        let subjects = |codes: [&str; 2]| {
            [
                Some(PRIMARY_SUBJECT_CODE.to_owned()),
                Some(codes[0].to_owned()),
                Some(codes[1].to_owned()),
            ]
        };
        let held = "100403";
        assert_eq!(imported().course_subject_1.as_deref(), Some(held));
        assert_eq!(
            updated(&imported(), TraineeField::course_subject_2, "100425"),
            subjects([held, "100425"])
        );
        assert_eq!(
            updated(&imported(), TraineeField::course_subject_3, "100425"),
            subjects([held, "100425"])
        );
        for (field, code) in [
            (TraineeField::training_route, "09"),
            (TraineeField::course_age_range, "13913"),
        ] {
            let [first, second, _] = updated(&imported(), field, code);
            assert_eq!(
                (first.as_deref(), second.as_deref()),
                (Some(PRIMARY_SUBJECT_CODE), Some(held)),
                "{field:?}"
            );
        }
    }

    #[test]
    fn change_of_other_field_leaves_subjects_unchanged() {
        let [first, second, _] = updated(&imported(), TraineeField::middle_names, "Ola");
        assert_eq!((first.as_deref(), second), (Some("100403"), None));
    }
}
