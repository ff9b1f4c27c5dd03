//! What binds this version alone: one adjustment, and four fields that left with the next version.

use std::collections::BTreeSet;

use adapter_kit::OwnField;
use domain::derivation::{has_primary_ages, is_early_years};
use domain::problem::NoticeKind;
use domain::rules::{Context, Rule, Run, course::PRIMARY_SUBJECT_CODE};
use domain::trainee::DISABILITIES;
use domain::{Candidate, Kind, Lists, Record as _, RecordField as _, Trainee, TraineeField, Value};

/// The three subjects of a course.
const SUBJECTS: [TraineeField; 3] =
    [TraineeField::course_subject_1, TraineeField::course_subject_2, TraineeField::course_subject_3];

/// A primary course gets primary teaching as its first subject; the others follow in order, and a
/// fourth falls away (contract, section 9.2: an error from the next version on).
pub(crate) const PRIMARY_SUBJECT_FIRST: Rule<Trainee> = Rule {
    name: "primary_subject_first",
    demands: "puts 100511 first when the oldest age is 11 or less, but on early years routes",
    section: "9.2",
    reads: &[SUBJECTS[0], SUBJECTS[1], SUBJECTS[2], TraineeField::course_age_range, TraineeField::training_route],
    run: Run::Adjust(primary_subject_first),
};

fn primary_subject_first(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let sent = SUBJECTS.map(|field| candidate.touches(&[field]));
    let trainee = &mut candidate.record;
    let primary = has_primary_ages(trainee, context.lists) && !is_early_years(trainee, context.lists);
    // A course without a first subject is for the rule that demands one.
    if !primary || trainee.course_subject_1.is_none() {
        return;
    }
    let held = [&trainee.course_subject_1, &trainee.course_subject_2, &trainee.course_subject_3];
    let mut subjects = Vec::new();
    for (subject, sent) in held.into_iter().zip(sent) {
        // One that was held already may have been moved there before, and does not come again.
        subjects.extend(subject.clone().filter(|subject| sent || !subjects.contains(subject)));
    }
    // Subjects that repeat one another are for the rules that demand distinct ones, where they were sent.
    if BTreeSet::from_iter(&subjects).len() < subjects.len() {
        return;
    }
    let mut others = subjects.into_iter().filter(|subject| subject != PRIMARY_SUBJECT_CODE);
    trainee.course_subject_1 = Some(PRIMARY_SUBJECT_CODE.to_owned());
    (trainee.course_subject_2, trainee.course_subject_3) = (others.next(), others.next());
    let left_out = others.next();
    for field in SUBJECTS {
        candidate.touch(field);
    }
    if let Some(code) = left_out {
        candidate.notice(TraineeField::course_subject_3, NoticeKind::FellAway { code });
    }
}

/// A copy of the planned last day.
pub(crate) const EXPECTED_END_DATE: OwnField<Trainee> =
    OwnField::new("Last day of the training as planned, a copy of itt_end_date.", Kind::Date, |trainee, lists| {
        trainee.value(TraineeField::itt_end_date, lists)
    });

/// A copy of the funding method.
pub(crate) const BURSARY_LEVEL: OwnField<Trainee> =
    OwnField::new("Bursary, scholarship or grant, a copy of funding_method.", Kind::Text, |trainee, lists| {
        trainee.value(TraineeField::funding_method, lists)
    });

/// The disabilities once more.
pub(crate) const AGENCY_DISABILITIES: OwnField<Trainee> =
    OwnField::new("The disabilities that were sent; null when there are none.", Kind::Document, agency_disabilities);

/// Never filled.
pub(crate) const WITHDRAW_REASONS_DFE_DETAILS: OwnField<Trainee> =
    OwnField::new("Always null.", Kind::Text, |_, _| Value::Null);

fn agency_disabilities<'a>(trainee: &'a Trainee, _: &'a Lists) -> Value<'a> {
    let sent = DISABILITIES.iter().zip(trainee.disabilities());
    let codes: Vec<_> = sent.filter_map(|(field, code)| Some((field.info().name, code?))).collect();
    if codes.is_empty() { Value::Null } else { Value::Codes(codes) }
}
