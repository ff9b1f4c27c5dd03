//! Student finance, bursaries, scholarships, grants and training initiatives.

use crate::lists::List;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::trainee::{FlatTrainee, Trainee, TraineeField as F, funding_type, start_date};
use crate::rules::{Findings, Run, found, found_if};
use crate::values::academic_year;

/// The fund code for "eligible for student finance".
pub const ELIGIBLE: &str = "7";
/// The funding method of the veterans' bursary, which implies the veterans' initiative.
pub const VETERANS_BURSARY: &str = "C";
/// The funding subjects with funding without student finance in exception years.
pub const EXCEPTION_SUBJECTS: [&str; 6] = [
    "Ancient languages",
    "Modern languages",
    "French language",
    "German language",
    "Spanish language",
    "Physics",
];

rules! { Trainee:
    STUDENT_FINANCE("2.1") = "student_finance":
        "is 7 only if the route is funded in the academic year and the age range is listed",
        [F::fund_code, F::training_route, F::course_age_range, F::trainee_start_date, F::itt_start_date] => Run::Check(student_finance);
    FUNDING_WITH_FINANCE("2.1") = "funding_with_student_finance":
        "is a bursary, scholarship or grant only with fund code 7, except for some subjects in exception years",
        [F::funding_method, F::fund_code, F::course_subject_1, F::trainee_start_date, F::itt_start_date] => Run::Check(funding_with_finance);
    FUNDING_EXISTS("2.1") = "funding_exists":
        "is a bursary, scholarship or grant only if one exists for the academic year, the route and the first \
         subject",
        [F::funding_method, F::training_route, F::course_subject_1, F::trainee_start_date, F::itt_start_date] => Run::Check(funding_exists);
    VETERANS_INITIATIVE("2.1") = "veterans_initiative":
        "is always the veterans' initiative, shown as null, if the funding method is C",
        [F::training_initiative, F::funding_method] => Run::Adjust(veterans_initiative);
    INITIATIVE("2.1") = "training_initiative_in_year": "was available in the academic year of the start",
        [F::training_initiative, F::trainee_start_date, F::itt_start_date] => Run::Check(initiative);
    ADDITIONAL_INITIATIVE("2.1") = "additional_training_initiative_in_year":
        "was available in the academic year of the start",
        [F::additional_training_initiative, F::trainee_start_date, F::itt_start_date] => Run::Check(additional_initiative);
}

/// Reports student finance that is not available for the route in the academic year of the start.
fn student_finance(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let Some(route) = trainee.training_route.as_deref() else {
        return Findings::new();
    };
    let year = year_of(trainee, context);
    // A request with a missing age range gets only the problem of the age range.
    let has_ages =
        trainee.course_age_range.is_some() || candidate.changes_any(&[F::course_age_range]);
    let is_available = has_ages && context.lists.is_funded(year, route);
    found_if(
        trainee.fund_code.as_deref() == Some(ELIGIBLE) && !is_available,
        F::fund_code,
        || ProblemKind::NoStudentFinance { year },
    )
}

/// Reports funding without student finance. Some subjects are exempt in exception years.
fn funding_with_finance(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let Some(method) = trainee.funding_method.as_deref() else {
        return Findings::new();
    };
    let is_exempt = context
        .accepted_codes
        .funding_exception_years
        .contains(&year_of(trainee, context))
        && funding_subjects(trainee, context)
            .iter()
            .any(|subject| EXCEPTION_SUBJECTS.contains(&subject.as_str()));
    let wrong = funding_type(trainee, context.lists).is_some()
        && trainee
            .fund_code
            .as_deref()
            .is_some_and(|code| code != ELIGIBLE)
        && !is_exempt;
    found_if(wrong, F::funding_method, || {
        ProblemKind::FundingNeedsFinance {
            method: method.to_owned(),
        }
    })
}

/// Reports funding that does not exist for the academic year, the route and the first subject. The
/// problem lists the funding methods that exist.
fn funding_exists(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let (Some(method), Some(kind), Some(route)) = (
        trainee.funding_method.as_deref(),
        funding_type(trainee, context.lists),
        trainee.training_route.as_deref(),
    ) else {
        return Findings::new();
    };
    let year = year_of(trainee, context);
    let exists = |kind: &str| {
        funding_subjects(trainee, context)
            .iter()
            .any(|subject| context.lists.has_funding(year, kind, route, subject))
    };
    let is_available = |code: &str| {
        let kind = context
            .lists
            .funding_method(code)
            .and_then(|method| method.funding_type.as_deref());
        context.accepted_codes.accepts(List::FundingMethod, code) && kind.is_none_or(exists)
    };
    found_if(
        trainee.course_subject_1.is_some() && !exists(kind),
        F::funding_method,
        || {
            let codes = context
                .lists
                .codes(List::FundingMethod)
                .filter(|code| is_available(code));
            ProblemKind::NoSuchFunding {
                method: method.to_owned(),
                year,
                available: codes.map(str::to_owned).collect(),
            }
        },
    )
}

/// Clears the training initiative if the funding method is the veterans' bursary, which implies the
/// initiative.
fn veterans_initiative(candidate: &mut Candidate<Trainee>, _: &Context<'_>) {
    if candidate.record.funding_method.as_deref() == Some(VETERANS_BURSARY) {
        let field = F::training_initiative;
        if candidate.record.training_initiative.take().is_some() && candidate.changes(field) {
            candidate.notice(
                field,
                NoticeKind::DecidedBy {
                    field: F::funding_method.into(),
                },
            );
        }
    }
}

/// Reports a training initiative that was not available in the academic year of the start.
fn initiative(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    in_year(
        candidate,
        context,
        candidate.record.training_initiative.as_deref(),
        F::training_initiative,
    )
}

fn additional_initiative(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let code = candidate.record.additional_training_initiative.as_deref();
    in_year(candidate, context, code, F::additional_training_initiative)
}

/// Reports the initiative `code` in a field if it was not available in the academic year of the
/// start. An unknown code is not reported, because the definition of the field refuses it.
fn in_year(
    candidate: &Candidate<Trainee>,
    context: &Context<'_>,
    code: Option<&str>,
    field: F,
) -> Findings {
    let Some(entry) = code.and_then(|code| context.lists.entry(List::TrainingInitiative, code))
    else {
        return Findings::new();
    };
    let year = year_of(&candidate.record, context);
    if entry.start_year.is_some_and(|first| year < first)
        || entry.end_year.is_some_and(|last| year > last)
    {
        return found(
            field,
            ProblemKind::InitiativeNotInYear {
                initiative: entry.code.clone(),
                year,
            },
        );
    }
    Findings::new()
}

/// Returns the academic year that decides about the trainee's funding.
fn year_of(trainee: &FlatTrainee, context: &Context<'_>) -> i32 {
    academic_year::training_year(start_date(trainee), context.today)
}

/// Returns the funding subjects of the first subject of the course; empty without a subject.
fn funding_subjects<'a>(trainee: &FlatTrainee, context: &Context<'a>) -> &'a [String] {
    trainee
        .course_subject_1
        .as_deref()
        .map_or(&[], |subject| context.lists.funding_subjects(subject))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::Change;
    use crate::records::trainee::TraineeChanges;
    use crate::rules::testing::{apply, paths};

    /// An import can store ages without a code.
    #[test]
    fn student_finance_requires_an_age_range_code() {
        let imported = FlatTrainee {
            training_route: Some("11".to_owned()),
            course_min_age: Some(11),
            course_max_age: Some(18),
            fund_code: Some("2".to_owned()),
            itt_start_date: "2026-09-01".parse().ok(),
            ..FlatTrainee::default()
        };
        let eligible = || TraineeChanges {
            fund_code: Change::Set(ELIGIBLE.to_owned()),
            ..TraineeChanges::default()
        };
        let refused = apply((), Some(&imported), eligible(), &[STUDENT_FINANCE]);
        assert_eq!(paths(&refused), [F::fund_code.into()]);
        let coded = TraineeChanges {
            course_age_range: Change::Set("13918".to_owned()),
            ..eligible()
        };
        assert_eq!(
            paths(&apply((), Some(&imported), coded, &[STUDENT_FINANCE])),
            []
        );
        let listed = FlatTrainee {
            course_age_range: Some("13918".to_owned()),
            ..imported
        };
        assert_eq!(
            paths(&apply((), Some(&listed), eligible(), &[STUDENT_FINANCE])),
            []
        );
    }
}
