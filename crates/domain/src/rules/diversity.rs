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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::Change;
    use crate::rules::trial::judged;
    use crate::trainee::TraineeChanges;

    fn of(ethnicity: &str) -> Trainee {
        Trainee { ethnicity: Some(ethnicity.to_owned()), ..Trainee::default() }
    }

    fn pair(group: &str, background: &str) -> TraineeChanges {
        TraineeChanges {
            ethnic_group: Change::Set(group.to_owned()),
            ethnic_background: Change::Set(background.to_owned()),
            ..TraineeChanges::default()
        }
    }

    /// The ethnicity that a request leaves, and the fields that its notices are about.
    fn left(stored: Option<&Trainee>, changes: TraineeChanges) -> (Option<String>, Vec<crate::problem::Path>) {
        let (record, notices) = judged((), stored, changes, &[ETHNICITY]).verdict().unwrap();
        (record.ethnicity, notices.into_iter().map(|notice| notice.at).collect())
    }

    #[test]
    fn an_ethnicity_that_is_sent_decides_before_a_pair() {
        let both = TraineeChanges { ethnicity: Change::Set("120".to_owned()), ..pair("asian_ethnic_group", "Chinese") };
        assert_eq!(left(None, both.clone()), (Some("120".to_owned()), vec![]));
        assert_eq!(left(Some(&of("160")), both), (Some("120".to_owned()), vec![]));
    }

    #[test]
    fn an_ethnicity_that_is_cleared_leaves_it_to_the_pair() {
        let both = TraineeChanges { ethnicity: Change::Clear, ..pair("asian_ethnic_group", "Chinese") };
        assert_eq!(left(Some(&of("120")), both), (Some("101".to_owned()), vec![]));
    }

    #[test]
    fn half_a_pair_is_completed_by_what_is_shown() {
        let background =
            TraineeChanges { ethnic_background: Change::Set("Caribbean".to_owned()), ..TraineeChanges::default() };
        assert_eq!(left(Some(&of("120")), background), (Some("121".to_owned()), vec![]));
    }

    #[test]
    fn only_what_was_sent_is_said_to_match_nothing() {
        let background =
            TraineeChanges { ethnic_background: Change::Set("Martian".to_owned()), ..TraineeChanges::default() };
        let told = vec![TraineeField::ethnic_background.into()];
        assert_eq!(left(Some(&of("120")), background), (Some("120".to_owned()), told));
        let group =
            TraineeChanges { ethnic_group: Change::Set("asian_ethnic_group".to_owned()), ..TraineeChanges::default() };
        let told = vec![TraineeField::ethnic_group.into()];
        assert_eq!(left(Some(&of("120")), group), (Some("120".to_owned()), told));
        let told = vec![TraineeField::ethnic_group.into(), TraineeField::ethnic_background.into()];
        assert_eq!(left(None, pair("asian_ethnic_group", "African")), (None, told));
    }

    #[test]
    fn a_pair_that_matches_nothing_changes_nothing() {
        let stored = of("120");
        let candidate = judged((), Some(&stored), pair("asian_ethnic_group", "Martian"), &[ETHNICITY]);
        assert!(!candidate.changed());
    }

    #[test]
    fn a_disability_is_said_to_be_the_same_as_the_first_of_its_kind() {
        let disability = || Change::Set("58".to_owned());
        let changes = TraineeChanges {
            disability2: disability(),
            disability4: disability(),
            disability5: disability(),
            ..TraineeChanges::default()
        };
        let same = || ProblemKind::SameAs { field: TraineeField::disability2.into() };
        assert_eq!(
            judged((), None, changes, &[DISABILITIES_DIFFER]).problems(),
            [Problem::at(TraineeField::disability4, same()), Problem::at(TraineeField::disability5, same()),]
        );
    }
}
