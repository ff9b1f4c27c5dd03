//! Student finance, bursaries, scholarships, grants and training initiatives.

use crate::academic_year;
use crate::candidate::Candidate;
use crate::derivation::funding_type;
use crate::lists::List;
use crate::problem::ProblemKind;
use crate::rules::{Context, Findings, Rule, Run, found, found_if};
use crate::trainee::{Trainee, TraineeField};

/// Eligible for student finance.
pub const ELIGIBLE: &str = "7";
/// The bursary that is the veterans' initiative too.
pub const VETERANS_BURSARY: &str = "C";
/// Funding subjects that are funded without student finance in exception years.
pub const EXCEPTION_SUBJECTS: [&str; 6] =
    ["Ancient languages", "Modern languages", "French language", "German language", "Spanish language", "Physics"];

/// The funding rules read the start, which decides the academic year.
const START: [TraineeField; 2] = [TraineeField::trainee_start_date, TraineeField::itt_start_date];

/// Student finance needs a funded route and a listed age range.
pub const STUDENT_FINANCE: Rule<Trainee> = Rule {
    name: "student_finance",
    demands: "is 7 only if the route is funded in the academic year and the age range is listed",
    section: "2.1",
    reads: &[TraineeField::fund_code, TraineeField::training_route, TraineeField::course_age_range, START[0], START[1]],
    run: Run::Check(student_finance),
};

/// Funding goes with student finance, but for a few subjects in exception years.
pub const FUNDING_WITH_FINANCE: Rule<Trainee> = Rule {
    name: "funding_with_student_finance",
    demands: "is a bursary, scholarship or grant only with fund code 7, but for some subjects in exception years",
    section: "2.1",
    reads: &[TraineeField::funding_method, TraineeField::fund_code, TraineeField::course_subject_1, START[0], START[1]],
    run: Run::Check(funding_with_finance),
};

/// Funding exists for the year, the route and the subject.
pub const FUNDING_EXISTS: Rule<Trainee> = Rule {
    name: "funding_exists",
    demands: "is a bursary, scholarship or grant only where one exists for the academic year, the route and the first subject",
    section: "2.1",
    reads: &[
        TraineeField::funding_method,
        TraineeField::training_route,
        TraineeField::course_subject_1,
        START[0],
        START[1],
    ],
    run: Run::Check(funding_exists),
};

/// The veterans' bursary is the trainee's initiative.
pub const VETERANS_INITIATIVE: Rule<Trainee> = Rule {
    name: "veterans_initiative",
    demands: "is the veterans' initiative, shown as null, whatever was sent, when the funding method is C",
    section: "2.1",
    reads: &[TraineeField::training_initiative, TraineeField::funding_method],
    run: Run::Adjust(veterans_initiative),
};

/// The initiative was available in the year of the start.
pub const INITIATIVE: Rule<Trainee> = Rule {
    name: "training_initiative_in_year",
    demands: "was available in the academic year of the start",
    section: "2.1",
    reads: &[TraineeField::training_initiative, START[0], START[1]],
    run: Run::Check(initiative),
};

/// The second initiative was available in the year of the start.
pub const ADDITIONAL_INITIATIVE: Rule<Trainee> = Rule {
    name: "additional_training_initiative_in_year",
    demands: "was available in the academic year of the start",
    section: "2.1",
    reads: &[TraineeField::additional_training_initiative, START[0], START[1]],
    run: Run::Check(additional_initiative),
};

fn student_finance(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let Some(route) = trainee.training_route.as_deref() else { return Findings::new() };
    let year = year_of(trainee, context);
    // Where the request leaves it out, that is the one mistake.
    let has_ages = trainee.course_age_range.is_some() || candidate.touches(&[TraineeField::course_age_range]);
    let open = has_ages && context.lists.is_funded(year, route);
    found_if(trainee.fund_code.as_deref() == Some(ELIGIBLE) && !open, TraineeField::fund_code, || {
        ProblemKind::NoStudentFinance { year }
    })
}

fn funding_with_finance(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let Some(method) = trainee.funding_method.as_deref() else { return Findings::new() };
    let exception = context.terms.exception_years.contains(&year_of(trainee, context))
        && funding_subjects(trainee, context).iter().any(|subject| EXCEPTION_SUBJECTS.contains(&subject.as_str()));
    let wrong = funding_type(trainee, context.lists).is_some()
        && trainee.fund_code.as_deref().is_some_and(|code| code != ELIGIBLE)
        && !exception;
    found_if(wrong, TraineeField::funding_method, || ProblemKind::FundingNeedsFinance { method: method.to_owned() })
}

fn funding_exists(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.record;
    let (Some(method), Some(kind), Some(route)) =
        (trainee.funding_method.as_deref(), funding_type(trainee, context.lists), trainee.training_route.as_deref())
    else {
        return Findings::new();
    };
    let year = year_of(trainee, context);
    let exists = |kind: &str| {
        funding_subjects(trainee, context).iter().any(|subject| context.lists.has_funding(year, kind, route, subject))
    };
    let is_available = |code: &str| {
        let kind = context.lists.funding_method(code).and_then(|method| method.funding_type.as_deref());
        context.terms.accepts(List::FundingMethod, code) && kind.is_none_or(exists)
    };
    found_if(trainee.course_subject_1.is_some() && !exists(kind), TraineeField::funding_method, || {
        let codes = context.lists.codes(List::FundingMethod).filter(|code| is_available(code));
        ProblemKind::NoSuchFunding { method: method.to_owned(), year, available: codes.map(str::to_owned).collect() }
    })
}

fn veterans_initiative(candidate: &mut Candidate<Trainee>, _: &Context<'_>) {
    if candidate.record.funding_method.as_deref() == Some(VETERANS_BURSARY) {
        candidate.record.training_initiative = None;
    }
}

fn initiative(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    in_year(candidate, context, candidate.record.training_initiative.as_deref(), TraineeField::training_initiative)
}

fn additional_initiative(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let code = candidate.record.additional_training_initiative.as_deref();
    in_year(candidate, context, code, TraineeField::additional_training_initiative)
}

fn in_year(candidate: &Candidate<Trainee>, context: &Context<'_>, code: Option<&str>, field: TraineeField) -> Findings {
    let Some(entry) = code.and_then(|code| context.lists.entry(List::TrainingInitiative, code)) else {
        return Findings::new();
    };
    let year = year_of(&candidate.record, context);
    if entry.start_year.is_some_and(|first| year < first) || entry.end_year.is_some_and(|last| year > last) {
        return found(field, ProblemKind::InitiativeNotInYear { initiative: entry.code.clone(), year });
    }
    Findings::new()
}

/// The academic year whose funding applies.
fn year_of(trainee: &Trainee, context: &Context<'_>) -> i32 {
    academic_year::of_start(trainee.start_date(), context.today)
}

fn funding_subjects<'a>(trainee: &Trainee, context: &Context<'a>) -> &'a [String] {
    trainee.course_subject_1.as_deref().map_or(&[], |subject| context.lists.funding_subjects(subject))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::Change;
    use crate::rules::trial::{judged, places};
    use crate::trainee::TraineeChanges;

    /// An import may hold ages that no code stands for.
    #[test]
    fn student_finance_is_not_open_to_ages_without_a_code() {
        let imported = Trainee {
            training_route: Some("11".to_owned()),
            course_min_age: Some(11),
            course_max_age: Some(18),
            fund_code: Some("2".to_owned()),
            itt_start_date: "2026-09-01".parse().ok(),
            ..Trainee::default()
        };
        let eligible = || TraineeChanges { fund_code: Change::Set(ELIGIBLE.to_owned()), ..TraineeChanges::default() };
        let refused = judged((), Some(&imported), eligible(), &[STUDENT_FINANCE]);
        assert_eq!(places(&refused), [TraineeField::fund_code.into()]);
        let coded = TraineeChanges { course_age_range: Change::Set("13918".to_owned()), ..eligible() };
        assert_eq!(places(&judged((), Some(&imported), coded, &[STUDENT_FINANCE])), []);
        let listed = Trainee { course_age_range: Some("13918".to_owned()), ..imported };
        assert_eq!(places(&judged((), Some(&listed), eligible(), &[STUDENT_FINANCE])), []);
    }
}
