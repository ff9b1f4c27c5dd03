//! Ethnicity and disabilities.

use crate::fields::value::Value;
use crate::problem::{NoticeKind, Problem, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::{Changes as _, Record as _, Stored as _};
use crate::records::trainee::{
    DISABILITIES, Trainee, TraineeField as F, is_ethnicity_not_provided,
};
use crate::rules::{Findings, Run};

rules! { Trainee:
    ETHNICITY("4.8") = "ethnicity_from_group_and_background":
        "is set by a group and background that match exactly one ethnicity, unless an ethnicity is sent",
        [F::ethnicity, F::ethnic_group, F::ethnic_background] => Run::Adjust(ethnicity);
    DISABILITIES_DIFFER("2.1") = "disabilities_differ": "all disabilities of a trainee must differ",
        DISABILITIES => Run::CheckNeeding(&[], disabilities_differ);
}

/// Sets the ethnicity to the one with the sent group and background. If only one of the two is
/// sent, the stored ethnicity provides the other. A sent ethnicity has priority.
fn ethnicity(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let group = candidate.record.ethnic_group.take();
    let background = candidate.record.ethnic_background.take();
    let sends_ethnicity = candidate.changes(F::ethnicity) && candidate.record.ethnicity.is_some();
    if sends_ethnicity || (group.is_none() && background.is_none()) {
        report_ignored_pair(candidate, context);
        return;
    }
    let group = group.unwrap_or_else(|| shown(candidate, F::ethnic_group, context));
    let background = background.unwrap_or_else(|| shown(candidate, F::ethnic_background, context));
    if let Some(code) = context.lists.ethnicity_of(&group, &background) {
        candidate.record.ethnicity = Some(code.to_owned());
        return;
    }
    for field in [F::ethnic_group, F::ethnic_background] {
        if candidate.changes(field) {
            candidate.notice(field, NoticeKind::NoMatch);
        }
    }
}

/// Adds a notice for a sent group or background that does not match the ethnicity. Null means "not
/// provided".
fn report_ignored_pair(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    for field in [F::ethnic_group, F::ethnic_background] {
        let Some(sent) = candidate.requested().requested(field) else {
            continue;
        };
        let is_ignored = match sent.as_text() {
            Some(text) => text != shown(candidate, field, context),
            // In a new record, null counts as not sent.
            None => {
                !candidate.is_new() && !is_ethnicity_not_provided(&candidate.record, context.lists)
            }
        };
        if is_ignored {
            candidate.notice(
                field,
                NoticeKind::DecidedBy {
                    field: F::ethnicity.into(),
                },
            );
        }
    }
}

/// Returns the text that responses show in a field; empty if the field has no text.
fn shown(candidate: &Candidate<Trainee>, field: F, context: &Context<'_>) -> String {
    Trainee::shown(&candidate.record, field, context.lists)
        .as_text()
        .map(str::to_owned)
        .unwrap_or_default()
}

/// Reports each disability that an earlier field of the trainee already has.
fn disabilities_differ(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let codes = DISABILITIES.map(|field| (field, candidate.record.stored(field)));
    let mut findings = Findings::new();
    for (index, (field, code)) in codes.iter().enumerate() {
        if *code == Value::Null {
            continue;
        }
        if let Some((earlier, _)) = codes.iter().take(index).find(|(_, other)| other == code) {
            findings.push(Problem::at(
                *field,
                ProblemKind::SameAs {
                    field: (*earlier).into(),
                },
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::Change;
    use crate::records::trainee::{FlatTrainee, TraineeChanges};
    use crate::rules::testing::{apply, paths};

    fn trainee_with_ethnicity(ethnicity: &str) -> FlatTrainee {
        FlatTrainee {
            ethnicity: Some(ethnicity.to_owned()),
            ..FlatTrainee::default()
        }
    }

    fn pair(group: &str, background: &str) -> TraineeChanges {
        TraineeChanges {
            ethnic_group: Change::Set(group.to_owned()),
            ethnic_background: Change::Set(background.to_owned()),
            ..TraineeChanges::default()
        }
    }

    /// Returns the ethnicity after a request, and the paths of the notices.
    fn left(
        stored: Option<&FlatTrainee>,
        changes: TraineeChanges,
    ) -> (Option<String>, Vec<crate::problem::Path>) {
        let (record, notices) = apply((), stored, changes, &[ETHNICITY])
            .into_result()
            .unwrap();
        (
            record.ethnicity,
            notices.into_iter().map(|notice| notice.at).collect(),
        )
    }

    #[test]
    fn sent_ethnicity_has_priority_over_pair() {
        let both = TraineeChanges {
            ethnicity: Change::Set("120".to_owned()),
            ..pair("asian_ethnic_group", "Chinese")
        };
        let noticed = vec![F::ethnic_group.into(), F::ethnic_background.into()];
        assert_eq!(
            left(None, both.clone()),
            (Some("120".to_owned()), noticed.clone())
        );
        assert_eq!(
            left(Some(&trainee_with_ethnicity("160")), both),
            (Some("120".to_owned()), noticed)
        );
    }

    #[test]
    fn pair_decides_if_ethnicity_is_cleared() {
        let both = TraineeChanges {
            ethnicity: Change::Clear,
            ..pair("asian_ethnic_group", "Chinese")
        };
        assert_eq!(
            left(Some(&trainee_with_ethnicity("120")), both),
            (Some("101".to_owned()), vec![])
        );
    }

    #[test]
    fn half_pair_is_completed_as_shown() {
        let background = TraineeChanges {
            ethnic_background: Change::Set("Caribbean".to_owned()),
            ..TraineeChanges::default()
        };
        assert_eq!(
            left(Some(&trainee_with_ethnicity("120")), background),
            (Some("121".to_owned()), vec![])
        );
    }

    #[test]
    fn unmatched_sent_fields_get_a_notice() {
        let background = TraineeChanges {
            ethnic_background: Change::Set("Martian".to_owned()),
            ..TraineeChanges::default()
        };
        let noticed = vec![F::ethnic_background.into()];
        assert_eq!(
            left(Some(&trainee_with_ethnicity("120")), background),
            (Some("120".to_owned()), noticed)
        );
        let group = TraineeChanges {
            ethnic_group: Change::Set("asian_ethnic_group".to_owned()),
            ..TraineeChanges::default()
        };
        let noticed = vec![F::ethnic_group.into()];
        assert_eq!(
            left(Some(&trainee_with_ethnicity("120")), group),
            (Some("120".to_owned()), noticed)
        );
        let noticed = vec![F::ethnic_group.into(), F::ethnic_background.into()];
        assert_eq!(
            left(None, pair("asian_ethnic_group", "African")),
            (None, noticed)
        );
    }

    #[test]
    fn pair_without_match_leaves_record_unchanged() {
        let stored = trainee_with_ethnicity("120");
        let candidate = apply(
            (),
            Some(&stored),
            pair("asian_ethnic_group", "Martian"),
            &[ETHNICITY],
        );
        assert!(!candidate.is_changed());
    }

    #[test]
    fn repeated_disability_is_reported_with_first_field() {
        let disability = || Change::Set("58".to_owned());
        let changes = TraineeChanges {
            disability2: disability(),
            disability4: disability(),
            disability5: disability(),
            ..TraineeChanges::default()
        };
        let same = || ProblemKind::SameAs {
            field: F::disability2.into(),
        };
        assert_eq!(
            apply((), None, changes, &[DISABILITIES_DIFFER]).problems(),
            [
                Problem::at(F::disability4, same()),
                Problem::at(F::disability5, same()),
            ]
        );
    }

    #[test]
    fn repeated_and_unknown_disabilities_are_reported_together() {
        let changes = TraineeChanges {
            disability1: Change::Set("unknown".to_owned()),
            disability2: Change::Set("58".to_owned()),
            disability3: Change::Set("58".to_owned()),
            ..TraineeChanges::default()
        };
        let reported = paths(&apply((), None, changes, &[DISABILITIES_DIFFER]));
        assert_eq!(reported, [F::disability1.into(), F::disability3.into()]);
    }
}
