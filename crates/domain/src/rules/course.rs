//! The course: route, subjects, age range, study mode and aims.

use crate::lists::List;
use crate::problem::ProblemKind;
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::trainee::{
    FlatTrainee, Trainee, TraineeField as F, is_early_years, is_primary_course, route, start_date,
};
use crate::rules::{Findings, Run, found, found_if};
use crate::values::academic_year;

/// The subject "primary teaching", the first subject of all primary courses.
pub const PRIMARY_SUBJECT_CODE: &str = "100511";
/// The subject "early years teaching", the first subject of all early years courses.
pub const EARLY_YEARS_SUBJECT_CODE: &str = "100510";
/// The age range 0 to 5 of all early years courses.
pub const EARLY_YEARS_AGE_RANGE_CODE: &str = "13920";

required_rules! { Trainee:
    STUDY_MODE("2.1") = "study_mode_required": [F::study_mode, F::training_route];
}

rules! { Trainee:
    ROUTE_IN_YEAR("2.4") = "training_route_in_year": "existed in the academic year of the start",
        [F::training_route, F::trainee_start_date, F::itt_start_date] => Run::Check(route_in_year);
    PRIMARY_SUBJECT("2.4") = "primary_subject":
        "is 100511 when the oldest age is 11 or less, except on early years routes",
        [F::course_subject_1, F::course_age_range, F::training_route] => Run::Check(primary_subject);
    EARLY_YEARS_SUBJECT("2.4") = "early_years_subject": "is 100510 on early years routes",
        [F::course_subject_1, F::training_route] => Run::Check(early_years_subject);
    EARLY_YEARS_AGE_RANGE("2.4") = "early_years_age_range": "is 13920 on early years routes, and no other route has this code",
        [F::course_age_range, F::training_route] => Run::Check(early_years_age_range);
    SECOND_SUBJECT_DIFFERS("2.1") = "second_subject_differs":
        "differs from the first subject, except on early years routes",
        [F::course_subject_2, F::course_subject_1, F::training_route]
            => Run::CheckNeeding(&[F::course_subject_2, F::training_route], second_subject_differs);
    THIRD_SUBJECT_DIFFERS("2.1") = "third_subject_differs":
        "differs from the first and the second subject, except on early years routes",
        [F::course_subject_3, F::course_subject_1, F::course_subject_2, F::training_route]
            => Run::CheckNeeding(&[F::course_subject_3, F::training_route], third_subject_differs);
    COURSE_YEAR_NUMBER("2.1") = "course_year_whole_number": "is a whole number",
        [F::course_year] => Run::Check(course_year_number);
    STUDY_MODE_BY_ROUTE("2.4") = "study_mode_required_by_route": "is required, except on the two assessment only routes",
        [F::study_mode, F::training_route] => Run::Check(study_mode_by_route);
    QUALIFICATION_AIM("2.1") = "itt_qualification_aim_required": "is required if the aim is 202 or missing",
        [F::itt_qualification_aim, F::itt_aim] => Run::Check(qualification_aim);
    IQTS_COUNTRY("2.4") = "iqts_country_required": "is required on the iQTS route",
        [F::iqts_country, F::training_route] => Run::Check(iqts_country);
    NO_IQTS_COUNTRY("2.4") = "iqts_country_only_on_iqts": "must be blank on all routes except iQTS",
        [F::iqts_country, F::training_route] => Run::Check(no_iqts_country);
    IQTS_COUNTRY_LEAVES("2.4") = "iqts_country_leaves_with_route":
        "an update that moves the trainee off the iQTS route clears the country",
        [F::training_route, F::iqts_country] => Run::Adjust(iqts_country_leaves);
}

/// Reports a route that did not exist in the academic year of the start.
fn route_in_year(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let Some(code) = &candidate.record.training_route else {
        return Findings::new();
    };
    let first_year = context
        .lists
        .entry(List::TrainingRoute, code)
        .and_then(|route| route.start_year);
    let year = start_date(&candidate.record).map(academic_year::starting_year);
    match first_year.zip(year) {
        Some((from, year)) if year < from => found(
            F::training_route,
            ProblemKind::RouteNotInYear {
                route: code.clone(),
                from,
            },
        ),
        Some(_) | None => Findings::new(),
    }
}

/// Reports a primary course whose first subject is not primary teaching.
fn primary_subject(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let wrong = is_primary_course(trainee, context.lists)
        && trainee
            .course_subject_1
            .as_deref()
            .is_some_and(|subject| subject != PRIMARY_SUBJECT_CODE);
    found_if(wrong, F::course_subject_1, || {
        ProblemKind::SubjectForPhase {
            phase: "primary",
            subject: PRIMARY_SUBJECT_CODE,
        }
    })
}

/// Reports an early years course whose first subject is not early years teaching.
fn early_years_subject(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let wrong = is_early_years(trainee, context.lists)
        && trainee
            .course_subject_1
            .as_deref()
            .is_some_and(|subject| subject != EARLY_YEARS_SUBJECT_CODE);
    found_if(wrong, F::course_subject_1, || {
        ProblemKind::SubjectForPhase {
            phase: "early years",
            subject: EARLY_YEARS_SUBJECT_CODE,
        }
    })
}

/// Reports an age range other than 0 to 5 on an early years route, and the age range 0 to 5 on
/// another route.
fn early_years_age_range(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let Some(range) = trainee.course_age_range.as_deref() else {
        return Findings::new();
    };
    let Some(route) = route(trainee, context.lists) else {
        return Findings::new();
    };
    let code = EARLY_YEARS_AGE_RANGE_CODE;
    let is_zero_to_five = range == code;
    if route.early_years && !is_zero_to_five {
        found(F::course_age_range, ProblemKind::EarlyYearsDemand { code })
    } else if !route.early_years && is_zero_to_five {
        found(F::course_age_range, ProblemKind::EarlyYearsOnly { code })
    } else {
        Findings::new()
    }
}

/// Reports a second subject that equals the first one, except on early years routes.
fn second_subject_differs(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let wrong = trainee.course_subject_2.is_some()
        && trainee.course_subject_2 == trainee.course_subject_1
        && !is_early_years(trainee, context.lists);
    found_if(wrong, F::course_subject_2, || ProblemKind::SameAs {
        field: F::course_subject_1.into(),
    })
}

/// Reports a third subject that equals the first or the second one, except on early years routes.
fn third_subject_differs(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    if trainee.course_subject_3.is_none() || is_early_years(trainee, context.lists) {
        return Findings::new();
    }
    let other = if trainee.course_subject_3 == trainee.course_subject_1 {
        F::course_subject_1
    } else if trainee.course_subject_3 == trainee.course_subject_2 {
        F::course_subject_2
    } else {
        return Findings::new();
    };
    found(
        F::course_subject_3,
        ProblemKind::SameAs {
            field: other.into(),
        },
    )
}

/// Reports a year of the course that is not a whole number.
fn course_year_number(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let wrong = candidate
        .record
        .course_year
        .as_deref()
        .is_some_and(|year| !year.bytes().all(|byte| byte.is_ascii_digit()));
    found_if(wrong, F::course_year, || ProblemKind::NotWholeNumber)
}

/// Reports a missing study mode if the route requires one. A missing or unknown route requires one.
fn study_mode_by_route(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let needed = route(trainee, context.lists).is_none_or(|route| route.study_mode_required);
    found_if(
        needed && trainee.study_mode.is_none(),
        F::study_mode,
        || ProblemKind::Blank,
    )
}

/// Reports a missing academic award if the aim of the training requires one. A missing aim requires
/// one.
fn qualification_aim(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let needed = trainee
        .itt_aim
        .as_deref()
        .is_none_or(|aim| context.lists.aim_needs_qualification(aim));
    found_if(
        needed && trainee.itt_qualification_aim.is_none(),
        F::itt_qualification_aim,
        || ProblemKind::Blank,
    )
}

/// Reports a missing country of training on the iQTS route.
fn iqts_country(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    match &trainee.training_route {
        Some(code) if needs_iqts_country(trainee, context) && trainee.iqts_country.is_none() => {
            found(
                F::iqts_country,
                ProblemKind::RequiredOnRoute {
                    route: code.clone(),
                },
            )
        }
        Some(_) | None => Findings::new(),
    }
}

/// Reports a country of training on any route except iQTS.
fn no_iqts_country(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    match &trainee.training_route {
        Some(code) if !needs_iqts_country(trainee, context) && trainee.iqts_country.is_some() => {
            found(
                F::iqts_country,
                ProblemKind::NotOnRoute {
                    route: code.clone(),
                },
            )
        }
        Some(_) | None => Findings::new(),
    }
}

/// Clears the country of training if an update changes the route to one other than iQTS. A country
/// that the request changes is kept, so that another rule reports it.
fn iqts_country_leaves(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let moved = candidate.stored().is_some() && candidate.changes(F::training_route);
    if moved
        && !candidate.changes(F::iqts_country)
        && !needs_iqts_country(&candidate.record, context)
    {
        candidate.record.iqts_country = None;
    }
}

fn needs_iqts_country(trainee: &FlatTrainee, context: &Context<'_>) -> bool {
    route(trainee, context.lists).is_some_and(|route| route.iqts_country_required)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::Change;
    use crate::records::trainee::TraineeChanges;
    use crate::rules::testing::{apply, paths};

    /// An import can store a country on any route.
    #[test]
    fn country_is_cleared_with_iqts_route() {
        let on = |route: &str| FlatTrainee {
            training_route: Some(route.to_owned()),
            iqts_country: Some("FR".to_owned()),
            ..FlatTrainee::default()
        };
        let to = |route: &str| TraineeChanges {
            training_route: Change::Set(route.to_owned()),
            ..TraineeChanges::default()
        };
        let moved = |from: &str, route: &str| {
            apply((), Some(&on(from)), to(route), &[IQTS_COUNTRY_LEAVES])
                .record
                .iqts_country
        };
        assert_eq!(moved("15", "11"), None);
        assert_eq!(moved("11", "15"), Some("FR".to_owned()));
    }

    #[test]
    fn repeated_subjects_are_reported_beside_first() {
        let changes = TraineeChanges {
            course_subject_1: Change::Set("100403".to_owned()),
            course_subject_2: Change::Set("100403".to_owned()),
            course_subject_3: Change::Set("100403".to_owned()),
            course_age_range: Change::Set("13914".to_owned()),
            ..TraineeChanges::default()
        };
        let rules = [
            PRIMARY_SUBJECT,
            SECOND_SUBJECT_DIFFERS,
            THIRD_SUBJECT_DIFFERS,
        ];
        let reported = paths(&apply((), None, changes, &rules));
        assert_eq!(
            reported,
            [
                F::course_subject_1,
                F::course_subject_2,
                F::course_subject_3
            ]
            .map(Into::into)
        );
    }
}
