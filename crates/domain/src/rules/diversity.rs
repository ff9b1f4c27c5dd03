//! Ethnicity and disabilities.

use crate::candidate::Candidate;
use crate::dictionary::Record as _;
use crate::problem::{NoticeKind, Problem, ProblemKind};
use crate::rules::{Context, Findings, Rule, Run};
use crate::trainee::{DISABILITIES, Trainee, TraineeField};

/// A group and a background that match one ethnicity stand for it.
pub const ETHNICITY: Rule<Trainee> = Rule {
    name: "ethnicity_from_group_and_background",
    demands: "a group and a background that match exactly one ethnicity set it, unless an ethnicity is sent",
    section: "4.8",
    reads: &[TraineeField::ethnicity, TraineeField::ethnic_group, TraineeField::ethnic_background],
    run: Run::Adjust(ethnicity),
};

/// No disability stands twice.
pub const DISABILITIES_DIFFER: Rule<Trainee> = Rule {
    name: "disabilities_differ",
    demands: "the disabilities of one trainee differ",
    section: "2.1",
    reads: &DISABILITIES,
    run: Run::Check(disabilities_differ),
};

fn ethnicity(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let group = candidate.record.ethnic_group.take();
    let background = candidate.record.ethnic_background.take();
    let decided = candidate.sent(TraineeField::ethnicity) && candidate.record.ethnicity.is_some();
    if decided || (group.is_none() && background.is_none()) {
        return;
    }
    let shown = |sent: Option<String>, field| {
        sent.or_else(|| candidate.record.value(field, context.lists).as_text().map(str::to_owned)).unwrap_or_default()
    };
    let (group, background) =
        (shown(group, TraineeField::ethnic_group), shown(background, TraineeField::ethnic_background));
    if let Some(code) = context.lists.ethnicity_of(&group, &background) {
        candidate.record.ethnicity = Some(code.to_owned());
        return;
    }
    for field in [TraineeField::ethnic_group, TraineeField::ethnic_background] {
        if candidate.sent(field) {
            candidate.notice(field, NoticeKind::NoMatch);
        }
    }
}

fn disabilities_differ(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let codes = candidate.record.disabilities();
    let mut findings = Findings::new();
    for (at, (field, code)) in DISABILITIES.iter().zip(codes).enumerate() {
        let earlier = DISABILITIES.iter().zip(codes).take(at).find(|(_, other)| code.is_some() && *other == code);
        if let Some((other, _)) = earlier {
            findings.push(Problem::at(*field, ProblemKind::SameAs { field: (*other).into() }));
        }
    }
    findings
}
