//! Recommendations for the award (contract, section 4.12).

use crate::candidate::Candidate;
use crate::derivation::route;
use crate::lifecycle::{Action, State, next};
use crate::problem::ProblemKind;
use crate::rules::{Context, Findings, Rule, Run, found, found_if};
use crate::trainee::TraineeField;
use crate::transition::{Recommendation, RecommendationField};

/// The standards were met on a day.
pub const DATE: Rule<Recommendation> = Rule {
    name: "qts_standards_met_date_required",
    demands: "must be there",
    section: "4.12",
    reads: &[RecommendationField::qts_standards_met_date],
    run: Run::Present,
};

/// The standards have been met.
pub const DATE_NOT_IN_FUTURE: Rule<Recommendation> = Rule {
    name: "qts_standards_met_date_not_in_future",
    demands: "is not later than today",
    section: "4.12",
    reads: &[RecommendationField::qts_standards_met_date],
    run: Run::Check(date_not_in_future),
};

/// The standards were met during the training.
pub const DATE_AFTER_START: Rule<Recommendation> = Rule {
    name: "qts_standards_met_date_after_start",
    demands: "is not earlier than the first day of the training",
    section: "4.12",
    reads: &[RecommendationField::qts_standards_met_date],
    run: Run::Check(date_after_start),
};

/// The route's degree is there.
pub const DEGREE: Rule<Recommendation> = Rule {
    name: "recommendation_degree",
    demands: "at least one on routes that need a degree",
    section: "4.12",
    reads: &[],
    run: Run::Check(degree),
};

/// The route's placements are there.
pub const PLACEMENTS: Rule<Recommendation> = Rule {
    name: "recommendation_placements",
    demands: "as many as the route needs",
    section: "4.12",
    reads: &[],
    run: Run::Check(placements),
};

/// The route's employing school is there.
pub const EMPLOYING_SCHOOL: Rule<Recommendation> = Rule {
    name: "recommendation_employing_school",
    demands: "must be there on the assessment only route",
    section: "2.4",
    reads: &[],
    run: Run::Check(employing_school),
};

/// The state of the record allows a recommendation.
pub const STATE: Rule<Recommendation> = Rule {
    name: "recommendation_state",
    demands: "is submitted_for_trn or trn_received",
    section: "3",
    reads: &[],
    run: Run::Check(state),
};

fn date_not_in_future(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let late = candidate.record.qts_standards_met_date.is_some_and(|day| day > context.today);
    found_if(late, RecommendationField::qts_standards_met_date, || ProblemKind::InFuture)
}

fn date_after_start(candidate: &Candidate<Recommendation>, _: &Context<'_>) -> Findings {
    let early = candidate
        .record
        .qts_standards_met_date
        .zip(candidate.owner.itt_start_date)
        .is_some_and(|(met, start)| met < start);
    found_if(early, RecommendationField::qts_standards_met_date, || ProblemKind::Before {
        field: TraineeField::itt_start_date.into(),
    })
}

fn degree(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let needed = route(&candidate.owner, context.lists).is_some_and(|route| route.degree_required);
    found_if(needed && candidate.owner.degrees.is_empty(), TraineeField::degrees, || ProblemKind::NoDegree)
}

fn placements(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let Some(route) = route(&candidate.owner, context.lists) else { return Findings::new() };
    if candidate.owner.placements.len() >= route.min_placements as usize {
        return Findings::new();
    }
    found(
        TraineeField::placements,
        ProblemKind::TooFewPlacements { min: route.min_placements, route: route.key.clone() },
    )
}

fn employing_school(candidate: &Candidate<Recommendation>, context: &Context<'_>) -> Findings {
    let needed = route(&candidate.owner, context.lists).is_some_and(|route| route.employing_school_required_for_award);
    found_if(needed && candidate.owner.employing_school_urn.is_none(), TraineeField::employing_school_urn, || {
        ProblemKind::NoEmployingSchool
    })
}

fn state(candidate: &Candidate<Recommendation>, _: &Context<'_>) -> Findings {
    let trainee = &candidate.owner;
    let refused = next(trainee.state.unwrap_or(State::Draft), Action::Recommend, trainee.trn.is_some()).is_err();
    found_if(refused, TraineeField::state, || ProblemKind::WrongState { action: Action::Recommend })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trainee;
    use crate::dictionary::Change;
    use crate::rules::trial::{judged, places};
    use crate::transition::RecommendationChanges;

    #[test]
    fn a_record_without_a_state_is_a_draft_which_has_no_recommendation() {
        let refused = |state| {
            let trainee = Trainee { state, ..Trainee::default() };
            places(&judged(trainee, None, RecommendationChanges::default(), &[STATE]))
        };
        assert_eq!(refused(None), [TraineeField::state.into()]);
        assert_eq!(refused(Some(State::SubmittedForTrn)), []);
    }

    #[test]
    fn the_standards_are_met_from_the_planned_start_on() {
        let day = |text: &str| text.parse::<chrono::NaiveDate>().unwrap();
        let trainee = Trainee {
            itt_start_date: Some(day("2026-09-01")),
            trainee_start_date: Some(day("2026-09-14")),
            ..Trainee::default()
        };
        let refused = |met| {
            let changes = RecommendationChanges { qts_standards_met_date: Change::Set(day(met)) };
            places(&judged(trainee.clone(), None, changes, &[DATE_AFTER_START]))
        };
        assert_eq!(refused("2026-09-01"), []);
        assert_eq!(refused("2026-08-31"), [RecommendationField::qts_standards_met_date.into()]);
    }
}
