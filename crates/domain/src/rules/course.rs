//! The course: route, subjects, age range, study mode and aims.

use crate::academic_year;
use crate::candidate::Candidate;
use crate::derivation::{is_early_years, is_primary_course, route};
use crate::lists::List;
use crate::problem::ProblemKind;
use crate::rules::{Context, Findings, Rule, Run, found, found_if};
use crate::trainee::{Trainee, TraineeField};

/// Primary teaching, the first subject of every course of the primary phase.
pub const PRIMARY_SUBJECT_CODE: &str = "100511";
/// Early years teaching, the first subject of every early years course.
pub const EARLY_YEARS_SUBJECT_CODE: &str = "100510";
/// Zero to five, the age range of every early years course.
pub const EARLY_YEARS_AGE_RANGE_CODE: &str = "13920";

/// A route exists in the academic year of the start.
pub const ROUTE_IN_YEAR: Rule<Trainee> = Rule {
    name: "training_route_in_year",
    demands: "existed in the academic year of the start",
    section: "2.4",
    reads: &[TraineeField::training_route, TraineeField::trainee_start_date, TraineeField::itt_start_date],
    run: Run::Check(route_in_year),
};

/// A course of the primary phase has primary teaching as its first subject.
pub const PRIMARY_SUBJECT: Rule<Trainee> = Rule {
    name: "primary_subject",
    demands: "is 100511 when the oldest age is 11 or less, but on early years routes",
    section: "2.4",
    reads: &[TraineeField::course_subject_1, TraineeField::course_age_range, TraineeField::training_route],
    run: Run::Check(primary_subject),
};

/// An early years course has early years teaching as its first subject.
pub const EARLY_YEARS_SUBJECT: Rule<Trainee> = Rule {
    name: "early_years_subject",
    demands: "is 100510 on early years routes",
    section: "2.4",
    reads: &[TraineeField::course_subject_1, TraineeField::training_route],
    run: Run::Check(early_years_subject),
};

/// The age range zero to five and the early years routes go together.
pub const EARLY_YEARS_AGE_RANGE: Rule<Trainee> = Rule {
    name: "early_years_age_range",
    demands: "is 13920 on early years routes and on no other",
    section: "2.4",
    reads: &[TraineeField::course_age_range, TraineeField::training_route],
    run: Run::Check(early_years_age_range),
};

/// The second subject differs from the first.
pub const SECOND_SUBJECT_DIFFERS: Rule<Trainee> = Rule {
    name: "second_subject_differs",
    demands: "differs from the first subject, but on early years routes",
    section: "2.1",
    reads: &[TraineeField::course_subject_2, TraineeField::course_subject_1, TraineeField::training_route],
    run: Run::Check(second_subject_differs),
};

/// The third subject differs from the others.
pub const THIRD_SUBJECT_DIFFERS: Rule<Trainee> = Rule {
    name: "third_subject_differs",
    demands: "differs from the first and the second subject, but on early years routes",
    section: "2.1",
    reads: &[
        TraineeField::course_subject_3,
        TraineeField::course_subject_1,
        TraineeField::course_subject_2,
        TraineeField::training_route,
    ],
    run: Run::Check(third_subject_differs),
};

/// The year of the course is a number.
pub const COURSE_YEAR_NUMBER: Rule<Trainee> = Rule {
    name: "course_year_whole_number",
    demands: "is a whole number",
    section: "2.1",
    reads: &[TraineeField::course_year],
    run: Run::Check(course_year_number),
};

/// The study mode must be given on every route, also when a trainee comes from one on which it need not be.
pub const STUDY_MODE: Rule<Trainee> = Rule {
    name: "study_mode_required",
    demands: "must be there",
    section: "2.1",
    reads: &[TraineeField::study_mode, TraineeField::training_route],
    run: Run::Present,
};

/// The study mode must be given where the route asks for it.
pub const STUDY_MODE_BY_ROUTE: Rule<Trainee> = Rule {
    name: "study_mode_required_by_route",
    demands: "must be there, but on the two assessment only routes",
    section: "2.4",
    reads: &[TraineeField::study_mode, TraineeField::training_route],
    run: Run::Check(study_mode_by_route),
};

/// An aim with an academic award says which.
pub const QUALIFICATION_AIM: Rule<Trainee> = Rule {
    name: "itt_qualification_aim_required",
    demands: "must be there when the aim is 202, or is not there",
    section: "2.1",
    reads: &[TraineeField::itt_qualification_aim, TraineeField::itt_aim],
    run: Run::Check(qualification_aim),
};

/// An iQTS trainee trains in a country.
pub const IQTS_COUNTRY: Rule<Trainee> = Rule {
    name: "iqts_country_required",
    demands: "must be there on the iQTS route",
    section: "2.4",
    reads: &[TraineeField::iqts_country, TraineeField::training_route],
    run: Run::Check(iqts_country),
};

/// Only an iQTS trainee has a country of training.
pub const NO_IQTS_COUNTRY: Rule<Trainee> = Rule {
    name: "iqts_country_only_on_iqts",
    demands: "must be blank on every route but iQTS",
    section: "2.4",
    reads: &[TraineeField::iqts_country, TraineeField::training_route],
    run: Run::Check(no_iqts_country),
};

/// A trainee who leaves the iQTS route leaves its country behind.
pub const IQTS_COUNTRY_LEAVES: Rule<Trainee> = Rule {
    name: "iqts_country_leaves_with_route",
    demands: "is cleared when an update takes the trainee off the iQTS route",
    section: "2.4",
    reads: &[TraineeField::training_route, TraineeField::iqts_country],
    run: Run::Adjust(iqts_country_leaves),
};

fn route_in_year(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let Some(code) = &candidate.record.training_route else { return Findings::new() };
    let first = context.lists.entry(List::TrainingRoute, code).and_then(|route| route.start_year);
    let year = candidate.record.start_date().map(academic_year::of);
    match first.zip(year) {
        Some((from, year)) if year < from => {
            found(TraineeField::training_route, ProblemKind::RouteNotInYear { route: code.clone(), from })
        }
        Some(_) | None => Findings::new(),
    }
}

fn primary_subject(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let wrong = is_primary_course(trainee, context.lists)
        && trainee.course_subject_1.as_deref().is_some_and(|subject| subject != PRIMARY_SUBJECT_CODE);
    found_if(wrong, TraineeField::course_subject_1, || ProblemKind::SubjectForPhase {
        phase: "primary",
        subject: PRIMARY_SUBJECT_CODE,
    })
}

fn early_years_subject(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let wrong = is_early_years(trainee, context.lists)
        && trainee.course_subject_1.as_deref().is_some_and(|subject| subject != EARLY_YEARS_SUBJECT_CODE);
    found_if(wrong, TraineeField::course_subject_1, || ProblemKind::SubjectForPhase {
        phase: "early years",
        subject: EARLY_YEARS_SUBJECT_CODE,
    })
}

fn early_years_age_range(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let Some(range) = trainee.course_age_range.as_deref() else { return Findings::new() };
    let is_zero_to_five = range == EARLY_YEARS_AGE_RANGE_CODE;
    match (route(trainee, context.lists).map(|route| route.early_years), is_zero_to_five) {
        (Some(true), false) => {
            found(TraineeField::course_age_range, ProblemKind::EarlyYearsDemand { code: EARLY_YEARS_AGE_RANGE_CODE })
        }
        (Some(false), true) => {
            found(TraineeField::course_age_range, ProblemKind::EarlyYearsOnly { code: EARLY_YEARS_AGE_RANGE_CODE })
        }
        (Some(true), true) | (Some(false), false) | (None, _) => Findings::new(),
    }
}

fn second_subject_differs(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let wrong = trainee.course_subject_2.is_some()
        && trainee.course_subject_2 == trainee.course_subject_1
        && !is_early_years(trainee, context.lists);
    found_if(wrong, TraineeField::course_subject_2, || ProblemKind::SameAs {
        field: TraineeField::course_subject_1.into(),
    })
}

fn third_subject_differs(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    if trainee.course_subject_3.is_none() || is_early_years(trainee, context.lists) {
        return Findings::new();
    }
    let other = if trainee.course_subject_3 == trainee.course_subject_1 {
        TraineeField::course_subject_1
    } else if trainee.course_subject_3 == trainee.course_subject_2 {
        TraineeField::course_subject_2
    } else {
        return Findings::new();
    };
    found(TraineeField::course_subject_3, ProblemKind::SameAs { field: other.into() })
}

fn course_year_number(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let wrong =
        candidate.record.course_year.as_deref().is_some_and(|year| !year.bytes().all(|byte| byte.is_ascii_digit()));
    found_if(wrong, TraineeField::course_year, || ProblemKind::NotWholeNumber)
}

fn study_mode_by_route(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let needed = route(trainee, context.lists).is_none_or(|route| route.study_mode_required);
    found_if(needed && trainee.study_mode.is_none(), TraineeField::study_mode, || ProblemKind::Blank)
}

fn qualification_aim(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let needed = trainee.itt_aim.as_deref().is_none_or(|aim| context.lists.aim_needs_qualification(aim));
    found_if(needed && trainee.itt_qualification_aim.is_none(), TraineeField::itt_qualification_aim, || {
        ProblemKind::Blank
    })
}

fn iqts_country(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    match &trainee.training_route {
        Some(code) if needs_iqts_country(trainee, context) && trainee.iqts_country.is_none() => {
            found(TraineeField::iqts_country, ProblemKind::RequiredOnRoute { route: code.clone() })
        }
        Some(_) | None => Findings::new(),
    }
}

fn no_iqts_country(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    match &trainee.training_route {
        Some(code) if !needs_iqts_country(trainee, context) && trainee.iqts_country.is_some() => {
            found(TraineeField::iqts_country, ProblemKind::NotOnRoute { route: code.clone() })
        }
        Some(_) | None => Findings::new(),
    }
}

fn iqts_country_leaves(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let moved = candidate.stored().is_some() && candidate.sent(TraineeField::training_route);
    if moved && !candidate.sent(TraineeField::iqts_country) && !needs_iqts_country(&candidate.record, context) {
        candidate.record.iqts_country = None;
    }
}

fn needs_iqts_country(trainee: &Trainee, context: &Context<'_>) -> bool {
    route(trainee, context.lists).is_some_and(|route| route.iqts_country_required)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::Change;
    use crate::rules::trial::judged;
    use crate::trainee::TraineeChanges;

    /// An import may hold a country on any route.
    #[test]
    fn a_country_leaves_with_the_iqts_route_and_stays_when_the_trainee_comes_to_it() {
        let on = |route: &str| Trainee {
            training_route: Some(route.to_owned()),
            iqts_country: Some("FR".to_owned()),
            ..Trainee::default()
        };
        let to =
            |route: &str| TraineeChanges { training_route: Change::Set(route.to_owned()), ..TraineeChanges::default() };
        let moved = |from: &str, route: &str| {
            judged((), Some(&on(from)), to(route), &[IQTS_COUNTRY_LEAVES]).record.iqts_country
        };
        assert_eq!(moved("15", "11"), None);
        assert_eq!(moved("11", "15"), Some("FR".to_owned()));
    }
}
