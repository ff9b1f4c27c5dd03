//! The funding of an invented trainee: student finance, funding method and initiatives.

use super::course::Course;
use super::random::Random;
use super::{asked, listed_or_any};
use crate::dictionary::Change;
use crate::lists::List;
use crate::rules::Context;
use crate::rules::funding::{ELIGIBLE, EXCEPTION_SUBJECTS, VETERANS_BURSARY};
use crate::trainee::TraineeChanges;

/// Not eligible for student finance.
const NOT_ELIGIBLE: &str = "2";
/// Neither bursary nor scholarship nor grant.
const NO_FUNDING: &str = "6";

/// Describes the funding: only what exists for the year, the route and the first subject.
pub(super) fn describe(changes: &mut TraineeChanges, random: &Random, context: &Context<'_>, course: &Course<'_>) {
    let lists = context.lists;
    let year = course.academic_year();
    let eligible = lists.is_funded(year, course.route) && random.chance(70) && lists.contains(List::FundCode, ELIGIBLE);
    let subjects = course.subjects[0].map_or(&[][..], |subject| lists.funding_subjects(subject));
    let exception = context.terms.exception_years.contains(&year)
        && subjects.iter().any(|subject| EXCEPTION_SUBJECTS.contains(&subject.as_str()));
    let exists = |kind: &str| subjects.iter().any(|subject| lists.has_funding(year, kind, course.route, subject));
    let methods: Vec<&str> = lists
        .codes(List::FundingMethod)
        .filter(|code| lists.funding_method(code).and_then(|method| method.funding_type.as_deref()).is_some_and(exists))
        .collect();
    let funded = (eligible || exception) && random.chance(80);
    let method = funded.then(|| random.pick(&methods)).flatten().map(|code| (*code).to_owned());
    let method = method.or_else(|| listed_or_any(random, lists, List::FundingMethod, NO_FUNDING));
    changes.fund_code = if eligible {
        Change::Set(ELIGIBLE.to_owned())
    } else {
        asked(listed_or_any(random, lists, List::FundCode, NOT_ELIGIBLE))
    };
    let is_veteran = method.as_deref() == Some(VETERANS_BURSARY);
    changes.funding_method = asked(method);

    let initiative = |percent| {
        let open: Vec<&str> = lists
            .entries(List::TrainingInitiative)
            .iter()
            .filter(|entry| entry.start_year.is_none_or(|first| first <= year))
            .filter(|entry| entry.end_year.is_none_or(|last| year <= last))
            .map(|entry| entry.code.as_str())
            .collect();
        random.chance(percent).then(|| random.pick(&open)).flatten().map(|code| (*code).to_owned())
    };
    // The veterans' bursary is an initiative by itself.
    changes.training_initiative = asked(initiative(15).filter(|_| !is_veteran));
    changes.additional_training_initiative = asked(initiative(5));
}
