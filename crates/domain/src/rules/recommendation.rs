//! Recommendations for the award (contract, section 4.12).

use crate::lifecycle::Action;
use crate::problem::ProblemKind;
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::trainee::{TraineeField, route};
use crate::records::transition::{Recommendation, RecommendationField as F};
use crate::rules::{Findings, Run, found, found_if};

required_rules! { Recommendation:
    DATE("4.12") = "qts_standards_met_date_required": [F::qts_standards_met_date];
}

rules! { Recommendation:
    DATE_NOT_IN_FUTURE("4.12") = "qts_standards_met_date_not_in_future": "is not later than today",
        [F::qts_standards_met_date] => Run::Check(date_not_in_future);
    DATE_AFTER_START("4.12") = "qts_standards_met_date_after_start":
        "is not earlier than the first day of the training",
        [F::qts_standards_met_date] => Run::CheckNeeding(&[], date_after_start);
    DEGREE("4.12") = "recommendation_degree": "a trainee has at least one degree on routes that need one", [] => Run::Check(degree);
    PLACEMENTS("4.12") = "recommendation_placements": "a trainee has as many placements as the route needs", [] => Run::Check(placements);
    EMPLOYING_SCHOOL("2.4") = "recommendation_employing_school": "the assessment only route requires an employing school",
        [] => Run::Check(employing_school);
    STATE("3") = "recommendation_state": "the state is submitted_for_trn or trn_received", [] => Run::Check(state);
}

/// Reports a day of meeting the standards in the future.
fn date_not_in_future(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let late = candidate
        .record
        .qts_standards_met_date
        .is_some_and(|day| day > context.today);
    found_if(late, F::qts_standards_met_date, || ProblemKind::InFuture)
}

/// Reports a day of meeting the standards before the planned start of the training.
fn date_after_start(candidate: &Candidate<Recommendation>, _: &Context<'_>) -> Findings {
    let early = candidate
        .record
        .qts_standards_met_date
        .zip(candidate.owner.itt_start_date)
        .is_some_and(|(met, start)| met < start);
    found_if(early, F::qts_standards_met_date, || ProblemKind::Before {
        field: TraineeField::itt_start_date.into(),
    })
}

/// Reports a trainee without a degree on a route that requires one for the award.
fn degree(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let needed = route(&candidate.owner, context.lists).is_some_and(|route| route.degree_required);
    found_if(
        needed && candidate.owner.degrees.is_empty(),
        TraineeField::degrees,
        || ProblemKind::NoDegree,
    )
}

/// Reports a trainee with fewer placements than the route requires for the award.
fn placements(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let Some(route) = route(&candidate.owner, context.lists) else {
        return Findings::new();
    };
    if candidate.owner.placements.len() >= route.min_placements as usize {
        return Findings::new();
    }
    found(
        TraineeField::placements,
        ProblemKind::TooFewPlacements {
            min: route.min_placements,
            route: route.key.clone(),
        },
    )
}

/// Reports a trainee without an employing school on a route that requires one for the award.
fn employing_school(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let needed = route(&candidate.owner, context.lists)
        .is_some_and(|route| route.employing_school_required_for_award);
    found_if(
        needed && candidate.owner.employing_school_urn.is_none(),
        TraineeField::employing_school_urn,
        || ProblemKind::NoEmployingSchool,
    )
}

/// Reports a state of the trainee that does not allow a recommendation.
fn state(candidate: &Candidate<Recommendation>, _: &Context<'_>) -> Findings {
    let refused = candidate.owner.next_state(Action::Recommend).is_err();
    found_if(refused, TraineeField::state, || ProblemKind::WrongState {
        action: Action::Recommend,
    })
}

#[cfg(test)]
mod tests {
    use chrono::Months;

    use super::*;
    use crate::lifecycle::State;
    use crate::records::record::Change;
    use crate::records::trainee::Trainee;
    use crate::records::transition::RecommendationChanges;
    use crate::rules::testing::{TODAY, apply, paths};

    #[test]
    fn draft_cannot_be_recommended() {
        let refused = |state| {
            let trainee = Trainee {
                state,
                ..Trainee::default()
            };
            paths(&apply(
                trainee,
                None,
                RecommendationChanges::default(),
                &[STATE],
            ))
        };
        assert_eq!(refused(None), [TraineeField::state.into()]);
        assert_eq!(refused(Some(State::SubmittedForTrn)), []);
    }

    #[test]
    fn standards_are_met_from_planned_start() {
        let day = |text: &str| text.parse::<chrono::NaiveDate>().unwrap();
        let trainee = Trainee {
            itt_start_date: Some(day("2026-09-01")),
            trainee_start_date: Some(day("2026-09-14")),
            ..Trainee::default()
        };
        let refused = |met| {
            let changes = RecommendationChanges {
                qts_standards_met_date: Change::Set(day(met)),
            };
            paths(&apply(trainee.clone(), None, changes, &[DATE_AFTER_START]))
        };
        assert_eq!(refused("2026-09-01"), []);
        assert_eq!(refused("2026-08-31"), [F::qts_standards_met_date.into()]);
    }

    #[test]
    fn future_date_before_start_has_two_problems() {
        let trainee = Trainee {
            itt_start_date: Some(TODAY + Months::new(10)),
            ..Trainee::default()
        };
        let tomorrow = RecommendationChanges {
            qts_standards_met_date: Change::Set(TODAY.succ_opt().unwrap()),
        };
        let candidate = apply(
            trainee,
            None,
            tomorrow,
            &[DATE_NOT_IN_FUTURE, DATE_AFTER_START],
        );
        let kinds: Vec<_> = candidate
            .problems()
            .iter()
            .map(|problem| problem.kind.clone())
            .collect();
        let before = ProblemKind::Before {
            field: TraineeField::itt_start_date.into(),
        };
        assert_eq!(kinds, [ProblemKind::InFuture, before]);
    }
}
