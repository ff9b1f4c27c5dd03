//! What binds this version alone: one adjustment, and two fields that left with the next version.

use std::collections::BTreeSet;

use adapter_kit::OwnField;
use domain::derivation::is_primary_course;
use domain::problem::NoticeKind;
use domain::rules::{Context, Rule, Run, course::PRIMARY_SUBJECT_CODE};
use domain::trainee::{DISABILITIES, SUBJECTS};
use domain::{Candidate, Kind, Lists, RecordField as _, Trainee, TraineeField, Value};

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
    // A course without a first subject is for the rule that demands one.
    if !is_primary_course(trainee, context.lists) || trainee.course_subject_1.is_none() {
        return;
    }
    let mut subjects = Vec::new();
    for (subject, sent) in trainee.subjects().into_iter().zip(sent) {
        // One that was held already may have been moved there before, and does not come again.
        subjects.extend(subject.map(str::to_owned).filter(|subject| sent || !subjects.contains(subject)));
    }
    // Subjects that repeat one another are for the rules that demand distinct ones, where they were sent.
    if BTreeSet::from_iter(&subjects).len() < subjects.len() {
        return;
    }
    let mut others = subjects.into_iter().filter(|subject| subject != PRIMARY_SUBJECT_CODE);
    trainee.course_subject_1 = Some(PRIMARY_SUBJECT_CODE.to_owned());
    (trainee.course_subject_2, trainee.course_subject_3) = (others.next(), others.next());
    for field in SUBJECTS {
        candidate.touch(field);
    }
    if let Some(code) = others.next() {
        candidate.notice(TraineeField::course_subject_3, NoticeKind::FellAway { code });
    }
}

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
