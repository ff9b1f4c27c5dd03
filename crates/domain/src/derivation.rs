//! What follows from a record: one function for each field that is computed where it is shown, wherever the record is stored.
//!
//! Nothing here is stored, so a value that follows from others cannot contradict them.

use std::borrow::Cow;

use crate::dictionary::Record as _;
use crate::lists::Lists;
use crate::stored::Stored;
use crate::trainee::{DISABILITIES, Trainee, TraineeField};
use crate::value::Value;

/// Phases of education.
pub const PHASES: &[&str] = &["early_years", "primary", "secondary"];
/// Levels of a course.
pub const LEVELS: &[&str] = &["undergrad", "postgrad"];
/// Professional statuses that a course leads to.
pub const QUALIFICATIONS: &[&str] = &["QTS", "EYTS"];
/// Tiers of a bursary.
pub const BURSARY_TIERS: &[&str] = &["tier_one", "tier_two", "tier_three"];
/// Whether ethnicity or disability was disclosed.
pub const DIVERSITY_DISCLOSURES: &[&str] = &["diversity_disclosed", "diversity_not_disclosed"];
/// Whether a disability was disclosed.
pub const DISABILITY_DISCLOSURES: &[&str] = &["disabled", "no_disability", "disability_not_provided"];

/// The ethnicity that stands for not provided.
pub const ETHNICITY_NOT_PROVIDED: &str = "997";
/// The group that stands for not provided.
const GROUP_NOT_PROVIDED: &str = "not_provided_ethnic_group";
/// The oldest age of the primary phase, in years.
pub const PRIMARY_MAX_AGE: i64 = 11;

pub(crate) fn ethnicity<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    Value::Text(ethnicity_code(trainee))
}

pub(crate) fn ethnic_group<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::optional(lists.ethnicity(&ethnicity_code(trainee)).map(|ethnicity| ethnicity.group.as_str()))
}

pub(crate) fn ethnic_background<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::optional(lists.ethnicity(&ethnicity_code(trainee)).map(|ethnicity| ethnicity.background.as_str()))
}

pub(crate) fn disability_disclosure<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(disclosed_disability(trainee, lists))
}

pub(crate) fn diversity_disclosure<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    let ethnicity = lists.ethnicity(&ethnicity_code(trainee)).is_some_and(|found| found.group != GROUP_NOT_PROVIDED);
    let disability = disclosed_disability(trainee, lists) != "disability_not_provided";
    Value::text(if ethnicity || disability { "diversity_disclosed" } else { "diversity_not_disclosed" })
}

pub(crate) fn trainee_start_date<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    trainee.stored(TraineeField::trainee_start_date).or_else(|| trainee.stored(TraineeField::itt_start_date))
}

pub(crate) fn course_itt_start_date<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    trainee.stored(TraineeField::itt_start_date)
}

pub(crate) fn course_min_age<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    let range = age_range(trainee, lists);
    range.map_or_else(|| trainee.stored(TraineeField::course_min_age), |range| Value::Integer(range.min_age))
}

pub(crate) fn course_max_age<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    max_age(trainee, lists).map_or(Value::Null, Value::Integer)
}

pub(crate) fn course_education_phase<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(if is_early_years(trainee, lists) {
        "early_years"
    } else if max_age(trainee, lists).is_some_and(|age| age <= PRIMARY_MAX_AGE) {
        "primary"
    } else {
        "secondary"
    })
}

pub(crate) fn course_qualification<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(route(trainee, lists).map_or("QTS", |route| route.qualification))
}

pub(crate) fn course_level<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(route(trainee, lists).map_or("postgrad", |route| route.level))
}

pub(crate) fn applying_for_bursary<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::Flag(funding_type(trainee, lists) == Some("bursary"))
}

pub(crate) fn applying_for_scholarship<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::Flag(funding_type(trainee, lists) == Some("scholarship"))
}

pub(crate) fn applying_for_grant<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::Flag(funding_type(trainee, lists) == Some("grant"))
}

pub(crate) fn bursary_tier<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::optional(funding_method(trainee, lists).and_then(|method| method.bursary_tier.as_deref()))
}

pub(crate) fn training_partner_not_applicable<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    Value::Flag(!trainee.has(TraineeField::training_partner_urn) && !trainee.has(TraineeField::training_partner_ukprn))
}

pub(crate) fn employing_school_not_applicable<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    Value::Flag(!trainee.has(TraineeField::employing_school_urn))
}

/// Every record that the API accepts is ready; an imported one is when it lacks no required value.
pub(crate) fn submission_ready<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    let lacks = |field: &TraineeField| Trainee::shown(trainee, *field, lists) == Value::Null;
    Value::Flag(!crate::rules::required::FIELDS.iter().any(lacks))
}

/// Whether the trainee trains for the early years, by the route.
#[must_use]
pub fn is_early_years(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    route(trainee, lists).is_some_and(|route| route.early_years)
}

/// Whether the ages alone are those of the primary phase; 0 to 5 is no part of it.
fn has_primary_ages(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    age_range(trainee, lists).is_some_and(|range| range.max_age <= PRIMARY_MAX_AGE && range.min_age > 0)
}

/// Whether the course is one of the primary phase, to which its first subject is tied: by its ages, but not on early years
/// routes (contract, section 2.1.5).
#[must_use]
pub fn is_primary_course(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    has_primary_ages(trainee, lists) && !is_early_years(trainee, lists)
}

/// The oldest age that the course prepares for, in years.
#[must_use]
pub fn max_age(trainee: &dyn Stored<Trainee>, lists: &Lists) -> Option<i64> {
    age_range(trainee, lists).map_or_else(|| trainee.get(TraineeField::course_max_age), |range| Some(range.max_age))
}

/// The type of the funding that the trainee applies for.
#[must_use]
pub fn funding_type<'a>(trainee: &dyn Stored<Trainee>, lists: &'a Lists) -> Option<&'a str> {
    funding_method(trainee, lists)?.funding_type.as_deref()
}

/// What follows from the trainee's route.
#[must_use]
pub fn route<'a>(trainee: &dyn Stored<Trainee>, lists: &'a Lists) -> Option<&'a crate::lists::Route> {
    lists.route(&trainee.text(TraineeField::training_route)?)
}

fn age_range(trainee: &dyn Stored<Trainee>, lists: &Lists) -> Option<crate::lists::AgeRange> {
    lists.age_range(&trainee.text(TraineeField::course_age_range)?)
}

fn funding_method<'a>(trainee: &dyn Stored<Trainee>, lists: &'a Lists) -> Option<&'a crate::lists::FundingMethod> {
    lists.funding_method(&trainee.text(TraineeField::funding_method)?)
}

fn ethnicity_code(trainee: &dyn Stored<Trainee>) -> Cow<'_, str> {
    trainee.text(TraineeField::ethnicity).unwrap_or(Cow::Borrowed(ETHNICITY_NOT_PROVIDED))
}

/// What the codes disclose together: the one thing that all of them say, else a disability.
fn disclosed_disability(trainee: &dyn Stored<Trainee>, lists: &Lists) -> &'static str {
    let all = |disclosure| {
        let mut codes = DISABILITIES.iter().filter_map(|field| trainee.text(*field));
        codes.all(|code| lists.disclosure(&code) == Some(disclosure))
    };
    ["disability_not_provided", "no_disability"].into_iter().find(|disclosure| all(disclosure)).unwrap_or("disabled")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(trainee: &Trainee, field: TraineeField) -> Value<'_> {
        trainee.value(field, Lists::embedded())
    }

    fn with_disabilities(codes: &[&str]) -> Trainee {
        let mut trainee = Trainee::default();
        for (held, code) in trainee.disabilities_mut().into_iter().zip(codes) {
            *held = Some((*code).to_owned());
        }
        trainee
    }

    #[test]
    fn disability_disclosure_follows_from_all_codes_together() {
        for (codes, disclosure) in [
            (&[][..], "disability_not_provided"),
            (&["98"], "disability_not_provided"),
            (&["98", "99"], "disability_not_provided"),
            (&["95"], "no_disability"),
            (&["95", "98"], "disabled"),
            (&["95", "58"], "disabled"),
            (&["98", "96"], "disabled"),
        ] {
            let trainee = with_disabilities(codes);
            assert_eq!(shown(&trainee, TraineeField::disability_disclosure), Value::text(disclosure), "{codes:?}");
        }
    }

    #[test]
    fn an_ethnicity_that_was_not_sent_is_shown_as_not_provided() {
        let trainee = Trainee::default();
        assert_eq!(shown(&trainee, TraineeField::ethnicity), Value::text("997"));
        assert_eq!(shown(&trainee, TraineeField::ethnic_group), Value::text("not_provided_ethnic_group"));
        assert_eq!(shown(&trainee, TraineeField::ethnic_background), Value::text("Not provided"));
        assert_eq!(shown(&trainee, TraineeField::diversity_disclosure), Value::text("diversity_not_disclosed"));
    }

    #[test]
    fn the_phase_follows_from_the_route_before_the_ages() {
        let trainee = |route: &str, range: &str| Trainee {
            training_route: Some(route.to_owned()),
            course_age_range: Some(range.to_owned()),
            ..Trainee::default()
        };
        for (route, range, phase) in [
            ("11", "13914", "primary"),
            ("11", "13916", "secondary"),
            ("18", "13920", "early_years"),
            ("17", "13918", "early_years"),
        ] {
            assert_eq!(
                shown(&trainee(route, range), TraineeField::course_education_phase),
                Value::text(phase),
                "{route} {range}"
            );
        }
    }

    #[test]
    fn the_start_follows_the_plan_until_another_day_is_sent() {
        let planned = chrono::NaiveDate::from_ymd_opt(2026, 9, 1);
        let mut trainee = Trainee { itt_start_date: planned, ..Trainee::default() };
        assert_eq!(shown(&trainee, TraineeField::trainee_start_date), Value::Date(planned.unwrap()));
        trainee.trainee_start_date = chrono::NaiveDate::from_ymd_opt(2026, 9, 8);
        assert_eq!(shown(&trainee, TraineeField::trainee_start_date), Value::Date(trainee.trainee_start_date.unwrap()));
    }

    #[test]
    fn imported_ages_are_shown_where_no_age_range_has_a_code() {
        let trainee = Trainee { course_min_age: Some(11), course_max_age: Some(18), ..Trainee::default() };
        assert_eq!(shown(&trainee, TraineeField::course_min_age), Value::Integer(11));
        assert_eq!(shown(&trainee, TraineeField::course_max_age), Value::Integer(18));
    }
}
