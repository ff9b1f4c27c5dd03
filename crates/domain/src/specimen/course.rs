//! The training of an invented trainee: route, dates, subjects and aims.

use chrono::{Days, NaiveDate};

use super::random::Random;
use super::{any, asked, taken, usual};
use crate::academic_year;
use crate::derivation::PRIMARY_MAX_AGE;
use crate::dictionary::Change;
use crate::lists::{List, Lists, Route};
use crate::rules::Context;
use crate::rules::course::{EARLY_YEARS_AGE_RANGE_CODE, EARLY_YEARS_SUBJECT_CODE, PRIMARY_SUBJECT_CODE};
use crate::trainee::TraineeChanges;

/// Routes that most trainees take.
const COMMON_ROUTES: [&str; 3] = ["03", "11", "12"];
/// Routes on which a school employs the trainee.
const EMPLOYING_ROUTES: [&str; 5] = ["03", "10", "14", "16", "20"];
/// Routes that a provider delivers together with a training partner.
const PARTNER_ROUTES: [&str; 9] = ["02", "03", "10", "11", "12", "14", "15", "18", "20"];
/// The apprenticeship after a first degree.
const POSTGRADUATE_APPRENTICESHIP: &str = "10";
/// Academic awards of undergraduates and of graduates.
const UNDERGRADUATE_AIMS: [&str; 5] = ["002", "003", "004", "007", "008"];
const POSTGRADUATE_AIMS: [&str; 4] = ["020", "021", "031", "032"];
/// Subjects that most teachers of the secondary phase train in.
const COMMON_SUBJECTS: [&str; 8] = ["100320", "100321", "100332", "100346", "100366", "100403", "100417", "100425"];
/// How many academic years ago a training starts at the earliest.
const CYCLES_BACK: i32 = 5;

/// A course that somebody takes.
pub(super) struct Course<'a> {
    /// The code of the route.
    pub(super) route: &'a str,
    /// What follows from the route.
    pub(super) facts: &'a Route,
    /// The first day as planned.
    pub(super) start: NaiveDate,
    /// The day on which the trainee started, when it was another.
    pub(super) started: Option<NaiveDate>,
    /// The last day as planned.
    pub(super) end: NaiveDate,
    /// The subjects, of which the first is always there.
    pub(super) subjects: [Option<&'a str>; 3],
    /// The URN of the employing school.
    pub(super) school: Option<&'a str>,
    age_range: &'a str,
    part_time: bool,
    years: i32,
}

impl<'a> Course<'a> {
    /// A course that the terms of the context accept; `None` when they accept none.
    pub(super) fn invent(random: &Random, context: &Context<'a>) -> Option<Self> {
        let current = academic_year::of(context.today);
        let (route, first_year) = route(random, context, current)?;
        let facts = context.lists.route(route)?;
        let part_time = random.chance(15);
        let years = if facts.level == "undergrad" { 3 } else { 1 } + i32::from(part_time);
        let earliest = (current - CYCLES_BACK).max(first_year);
        // Half of the trainings are those of the present year.
        let cycle = if random.chance(50) {
            current
        } else {
            earliest + i32::try_from(random.below(usize::try_from(current + 2 - earliest).unwrap_or(1))).unwrap_or(0)
        };
        let start = start(random, cycle, cycle <= current)?;
        let end = NaiveDate::from_ymd_opt(cycle + years, 7, 1)?;
        let end = random.day(end, end.checked_add_days(Days::new(30))?);
        let started = start.checked_add_days(Days::new(1 + random.below(20) as u64));
        let schools = &context.organisations.schools;
        let (age_range, subjects) = subjects(random, context, facts)?;
        Some(Self {
            route,
            facts,
            start,
            started: started.filter(|day| *day <= context.today && random.chance(25)),
            end,
            subjects,
            school: random
                .pick(schools)
                .filter(|_| EMPLOYING_ROUTES.contains(&route) && random.chance(90))
                .map(|school| school.urn.as_str()),
            age_range,
            part_time,
            years,
        })
    }

    /// Whether the course leads to a first degree.
    pub(super) fn is_undergraduate(&self) -> bool {
        self.facts.level == "undergrad"
    }

    /// The academic year of the start, whose funding applies.
    pub(super) fn academic_year(&self) -> i32 {
        academic_year::of(self.started.unwrap_or(self.start))
    }

    /// Describes the course.
    pub(super) fn describe(&self, changes: &mut TraineeChanges, random: &Random, context: &Context<'_>) {
        let [first, second, third] = self.subjects.map(|subject| asked(subject.map(str::to_owned)));
        changes.training_route = Change::Set(self.route.to_owned());
        (changes.course_subject_1, changes.course_subject_2, changes.course_subject_3) = (first, second, third);
        changes.course_age_range = Change::Set(self.age_range.to_owned());
        changes.course_year = Change::Set((1 + random.below(usize::try_from(self.years).unwrap_or(1))).to_string());
        let lists = context.lists;
        let mode = if self.part_time {
            usual(random, lists, List::StudyMode, ["31", "31", "64"])
        } else {
            usual(random, lists, List::StudyMode, ["01", "01", "02", "63"])
        };
        changes.study_mode = asked(mode.filter(|_| self.facts.study_mode_required || random.chance(50)));
        let aim = usual(random, lists, List::IttAim, ["201", "202"]);
        let award = match self.is_undergraduate() {
            true => usual(random, lists, List::IttQualificationAim, UNDERGRADUATE_AIMS),
            false => usual(random, lists, List::IttQualificationAim, POSTGRADUATE_AIMS),
        };
        let needs_award = aim.as_deref().is_none_or(|aim| lists.aim_needs_qualification(aim));
        changes.itt_qualification_aim = asked(award.filter(|_| needs_award || random.chance(20)));
        changes.itt_aim = asked(aim);
        changes.itt_start_date = Change::Set(self.start);
        changes.itt_end_date = Change::Set(self.end);
        changes.trainee_start_date = asked(self.started);
        changes.pg_apprenticeship_start_date =
            asked((self.route == POSTGRADUATE_APPRENTICESHIP && random.chance(80)).then_some(self.start));
        let country = || abroad(random, context).or_else(|| any(random, lists, List::Country));
        changes.iqts_country = asked(self.facts.iqts_country_required.then(country).flatten());
        changes.employing_school_urn = asked(self.school.map(str::to_owned));
        if PARTNER_ROUTES.contains(&self.route)
            && random.chance(70)
            && let Some(partner) = random.pick(&context.organisations.training_partners)
        {
            changes.training_partner_urn = asked(partner.urn.clone());
            changes.training_partner_ukprn = asked(partner.ukprn.clone().filter(|_| partner.urn.is_none()));
        }
    }
}

/// A country that is not the United Kingdom.
pub(super) fn abroad(random: &Random, context: &Context<'_>) -> Option<String> {
    let countries: Vec<&str> = context.lists.codes(List::Country).filter(|code| !context.lists.is_uk(code)).collect();
    random.pick(&countries).map(|code| (*code).to_owned())
}

/// An accepted route that exists this year, and the first year in which it does.
fn route<'a>(random: &Random, context: &Context<'a>, current: i32) -> Option<(&'a str, i32)> {
    let accepted: Vec<(&str, i32)> = context
        .lists
        .entries(List::TrainingRoute)
        .iter()
        .map(|entry| (entry.code.as_str(), entry.start_year.unwrap_or(i32::MIN)))
        .filter(|(code, first)| context.terms.accepts(List::TrainingRoute, code) && *first <= current)
        .filter(|(code, _)| context.lists.route(code).is_some_and(|facts| !age_ranges(context, facts).is_empty()))
        .collect();
    let common: Vec<_> = accepted.iter().filter(|(code, _)| COMMON_ROUTES.contains(code)).copied().collect();
    let usual = random.chance(40).then(|| random.pick(&common)).flatten();
    usual.or_else(|| random.pick(&accepted)).copied()
}

/// A first day in the academic year: in September, or now and then in the next January.
fn start(random: &Random, cycle: i32, january_too: bool) -> Option<NaiveDate> {
    let first = if january_too && random.chance(10) {
        NaiveDate::from_ymd_opt(cycle + 1, 1, 4)
    } else {
        NaiveDate::from_ymd_opt(cycle, 9, 1)
    }?;
    Some(random.day(first, first.checked_add_days(Days::new(24))?))
}

/// The accepted age ranges of courses on a route for which there are subjects.
fn age_ranges<'a>(context: &Context<'a>, facts: &Route) -> Vec<&'a str> {
    let lists = context.lists;
    let has_subject = |range: &str| match first_subject(lists, facts, range) {
        Some(subject) => lists.contains(List::CourseSubject, subject),
        None => other_subjects(lists).next().is_some(),
    };
    lists
        .codes(List::CourseAgeRange)
        .filter(|code| (*code == EARLY_YEARS_AGE_RANGE_CODE) == facts.early_years)
        .filter(|code| context.terms.accepts(List::CourseAgeRange, code) && has_subject(code))
        .collect()
}

/// The first subject that a course must have; `None` when it can be any that is tied to no phase.
fn first_subject(lists: &Lists, facts: &Route, range: &str) -> Option<&'static str> {
    let is_primary = || lists.age_range(range).is_some_and(|range| range.max_age <= PRIMARY_MAX_AGE);
    if facts.early_years { Some(EARLY_YEARS_SUBJECT_CODE) } else { is_primary().then_some(PRIMARY_SUBJECT_CODE) }
}

/// The subjects that are tied to no phase.
fn other_subjects(lists: &Lists) -> impl Iterator<Item = &str> {
    lists.codes(List::CourseSubject).filter(|code| ![EARLY_YEARS_SUBJECT_CODE, PRIMARY_SUBJECT_CODE].contains(code))
}

/// An age range and subjects that go with it.
fn subjects<'a>(random: &Random, context: &Context<'a>, facts: &Route) -> Option<(&'a str, [Option<&'a str>; 3])> {
    let lists = context.lists;
    let range = *random.pick(&age_ranges(context, facts))?;
    let mut others: Vec<&str> = other_subjects(lists).collect();
    let first = match first_subject(lists, facts, range) {
        Some(subject) => subject,
        None => {
            let common = random.chance(60).then(|| random.one_of(COMMON_SUBJECTS));
            let at = common.and_then(|subject| others.iter().position(|code| *code == subject));
            let at = at.unwrap_or_else(|| random.below(others.len()));
            taken(&mut others, at)?
        }
    };
    let mut another = |percent| {
        let at = random.chance(percent).then(|| random.below(others.len()))?;
        taken(&mut others, at)
    };
    Some((range, [Some(first), another(30), another(10)]))
}
