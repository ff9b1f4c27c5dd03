//! Invented trainees: valid, varied, and the same again for the same seed.
//!
//! They serve the proofs of what holds for every record, and registers that are filled for trying
//! things out. A specimen is made as a real record is: a request for it goes through
//! [`decide::create`], under rules and terms that the caller gives, and then through the
//! transitions to its state; only what the registry and the operators do is written down directly.
//! It satisfies the rules of every version by its making, and takes whatever routes and age ranges
//! the terms accept: terms that accept all codes give records on routes too that no request takes
//! any more.
//!
//! Nobody in it exists: names come from short lists, addresses are those kept for examples. It
//! knows neither clock nor chance: the same seed on the same day gives the same records.

use crate::candidate::Sent;
use crate::decide::{self, Origin};
use crate::dictionary::Change;
use crate::lists::{List, Lists};
use crate::problem::{Path, Problem, ProblemKind};
use crate::rules::{Context, Rules};
use crate::trainee::{Trainee, TraineeChanges};

mod course;
pub mod example;
mod experience;
mod life;
mod money;
mod names;
mod person;
pub mod random;
mod untidy;

use course::Course;
use life::Life;
use random::Random;

/// Invents trainees.
///
/// Schools and training partners are those of the context; without any, specimens have none.
#[derive(Debug)]
pub struct Specimens<'a> {
    random: Random,
    rules: &'a Rules,
    context: Context<'a>,
    made: u64,
}

impl<'a> Specimens<'a> {
    /// The specimens of a seed, under rules and in a context.
    #[must_use]
    pub fn new(seed: u64, rules: &'a Rules, context: Context<'a>) -> Self {
        Self { random: Random::new(seed), rules, context, made: 0 }
    }

    /// The next trainee, registered by the provider with that UKPRN.
    ///
    /// # Errors
    ///
    /// What the rules object to. A set of rules that is stricter than those of the contract can
    /// object to a specimen; terms that accept no route object to all.
    pub fn trainee(&mut self, ukprn: &str) -> Result<Trainee, Vec<Problem>> {
        self.made += 1;
        let (random, context) = (&self.random, &self.context);
        let Some(course) = Course::invent(random, context) else {
            return Err(vec![Problem::at(Path::Data, ProblemKind::NoData)]);
        };
        let fate = life::fate(random, context, &course);
        let mut changes = TraineeChanges::default();
        let known_from = course.start.min(context.today);
        let birth = person::birth(random, course.is_undergraduate(), known_from);
        person::describe(&mut changes, random, context.lists, birth, known_from, self.made);
        course.describe(&mut changes, random, context);
        money::describe(&mut changes, random, context, &course);
        let least = if life::needs_award(fate) { course.facts.min_placements as usize } else { 0 };
        changes.placements = experience::placements(random, context, least);
        let least = usize::from(life::needs_award(fate) && course.facts.degree_required);
        changes.degrees = experience::degrees(random, context, &course, birth, least);

        let life = Life { random, rules: self.rules, context, course: &course };
        let next_id = || Some(random.identifier());
        let origin = Origin { now: life.registered_at(), ukprn, next_id: &next_id };
        let registered = decide::create(Sent::of(changes), self.rules, context, &origin)?;
        life.lead(registered.record, fate)
    }

    /// The next trainee, as a careless client would send it: with white space around names, codes
    /// that are recorded as others, a country on a degree of the United Kingdom, and the like.
    ///
    /// # Errors
    ///
    /// As [`Specimens::trainee`].
    pub fn untidy(&mut self, ukprn: &str) -> Result<Trainee, Vec<Problem>> {
        let mut trainee = self.trainee(ukprn)?;
        untidy::roughen(&mut trainee, &self.random);
        Ok(trainee)
    }
}

/// One of the usual codes of a list; where the list has no such code, any that it has.
fn usual<const N: usize>(random: &Random, lists: &Lists, list: List, codes: [&'static str; N]) -> Option<String> {
    listed_or_any(random, lists, list, random.one_of(codes))
}

/// The code, where the list has it, else any that it has.
fn listed_or_any(random: &Random, lists: &Lists, list: List, code: &str) -> Option<String> {
    if lists.contains(list, code) { Some(code.to_owned()) } else { any(random, lists, list) }
}

/// Any code of a list.
fn any(random: &Random, lists: &Lists, list: List) -> Option<String> {
    random.pick(lists.entries(list)).map(|entry| entry.code.clone())
}

/// Takes the entry at that place out of the list; `None` when there is none.
fn taken<T>(entries: &mut Vec<T>, at: usize) -> Option<T> {
    (at < entries.len()).then(|| entries.swap_remove(at))
}

/// A value that is sent, or left out.
fn asked<T>(value: Option<T>) -> Change<T> {
    value.map_or(Change::Keep, Change::Set)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chrono::NaiveDate;

    use super::*;
    use crate::organisations::{Organisations, School, TrainingPartner};
    use crate::rules::{Terms, degree, placement, recommendation, withdrawal};
    use crate::value::Moment;

    const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 3, 25).unwrap();
    const ALL_CODES: Terms = Terms { accepted: &[], exception_years: &[2025, 2026] };
    const RULES: Rules = Rules {
        trainee: &[],
        placement: &[placement::URN, placement::SCHOOL, placement::NAME, placement::POSTCODE],
        degree: &[degree::KIND, degree::UK_DEGREE, degree::NON_UK_DEGREE, degree::GRADE, degree::COUNTRY],
        withdrawal: &[
            withdrawal::STARTED,
            withdrawal::DATE_AFTER_START,
            withdrawal::REASONS,
            withdrawal::ANOTHER_REASON,
        ],
        deferral: &[],
        recommendation: &[
            recommendation::DATE_NOT_IN_FUTURE,
            recommendation::DEGREE,
            recommendation::PLACEMENTS,
            recommendation::EMPLOYING_SCHOOL,
        ],
        gates: &[],
    };

    fn organisations() -> Organisations {
        Organisations {
            schools: vec![School {
                id: 1,
                urn: "100001".to_owned(),
                name: "Elmfield Primary School".to_owned(),
                postcode: Some("AB1 2CD".to_owned()),
                open: true,
            }],
            training_partners: vec![TrainingPartner {
                id: 1,
                urn: None,
                ukprn: Some("10000001".to_owned()),
                name: "University of Elmfield".to_owned(),
            }],
            ..Organisations::default()
        }
    }

    fn specimens(seed: u64, organisations: &Organisations, count: usize) -> Vec<Trainee> {
        let context = Context { today: TODAY, lists: Lists::embedded(), terms: &ALL_CODES, organisations };
        let mut specimens = Specimens::new(seed, &RULES, context);
        (0..count).map(|_| specimens.trainee("10000571").unwrap()).collect()
    }

    fn count<T: Ord>(trainees: &[Trainee], of: impl Fn(&Trainee) -> T) -> usize {
        trainees.iter().map(of).collect::<BTreeSet<T>>().len()
    }

    #[test]
    fn the_same_seed_gives_the_same_trainees() {
        let organisations = organisations();
        assert_eq!(specimens(7, &organisations, 20), specimens(7, &organisations, 20));
        assert_ne!(specimens(7, &organisations, 1), specimens(8, &organisations, 1));
    }

    #[test]
    fn a_few_hundred_cover_all_routes_age_ranges_states_and_cycles() {
        let trainees = specimens(1, &organisations(), 600);
        let lists = Lists::embedded();
        assert_eq!(count(&trainees, |t| t.training_route.clone()), lists.entries(List::TrainingRoute).len());
        assert_eq!(count(&trainees, |t| t.course_age_range.clone()), lists.entries(List::CourseAgeRange).len());
        assert_eq!(count(&trainees, |t| t.funding_method.clone()), lists.entries(List::FundingMethod).len());
        assert_eq!(count(&trainees, |t| t.state), 6);
        assert_eq!(count(&trainees, |t| t.start_date().map(crate::academic_year::of)), 7);
        assert_eq!(count(&trainees, |t| t.placements.len()), 4);
        assert_eq!(count(&trainees, |t| t.degrees.len()), 4);
        assert!(trainees.iter().any(|t| t.disability9.is_some()));
        assert!(trainees.iter().any(|t| t.training_initiative.is_some() && t.additional_training_initiative.is_some()));
        assert!(trainees.iter().flat_map(|t| &t.degrees).any(|degree| degree.country.is_some()));
    }

    #[test]
    fn identifiers_and_addresses_are_those_of_one_trainee_alone() {
        let trainees = specimens(1, &organisations(), 300);
        assert_eq!(count(&trainees, |t| t.trainee_id.clone()), 300);
        assert_eq!(count(&trainees, |t| t.email.clone()), 300);
        assert_eq!(count(&trainees, |t| t.agency_id.clone()), 300);
    }

    #[test]
    fn nothing_has_happened_after_today() {
        for trainee in specimens(3, &organisations(), 300) {
            let moments = [trainee.created_at, trainee.recommended_for_award_at, trainee.updated_at];
            let mut last = Moment::MIN_UTC;
            for moment in moments.into_iter().flatten() {
                assert!(moment >= last && moment.date_naive() <= TODAY, "{trainee:?}");
                last = moment;
            }
            assert!(trainee.awarded_at.is_none_or(|at| Some(at.date_naive()) == trainee.outcome_date), "{trainee:?}");
        }
    }

    #[test]
    fn without_organisations_there_are_no_links() {
        for trainee in specimens(1, &Organisations::default(), 200) {
            assert_eq!(trainee.employing_school_urn, None);
            assert_eq!((trainee.training_partner_urn, trainee.training_partner_ukprn), (None, None));
        }
    }

    /// Every table cut down to one of its rows.
    #[test]
    fn lists_of_ones_own_give_trainees_however_short_they_are() {
        let organisations = organisations();
        for table in Lists::tables() {
            let (header, rows) = table.text.split_once('\n').unwrap();
            let rows: Vec<&str> = rows.lines().collect();
            for row in [rows.first(), rows.get(rows.len() / 2), rows.last()].into_iter().flatten() {
                let text = format!("{header}\n{row}\n");
                let lists = Lists::replaced(|name| (name == table.name).then_some(&text)).unwrap();
                let context = Context { today: TODAY, lists: &lists, terms: &ALL_CODES, organisations: &organisations };
                let mut specimens = Specimens::new(11, &RULES, context);
                for _ in 0..60 {
                    let made = specimens.trainee("10000571");
                    assert!(made.is_ok(), "{} {row}: {made:?}", table.name);
                }
            }
        }
    }

    #[test]
    fn a_trigger_with_one_reason_or_none_leaves_people_withdrawing() {
        let organisations = organisations();
        let header = "code,name,trigger,requires_another_reason,requires_safeguarding_concern_reasons";
        for rows in ["one,One,provider,true,false\ntwo,Two,trainee,false,true\n", "one,One,trainee,false,false\n"] {
            let text = format!("{header}\n{rows}");
            let lists = Lists::replaced(|name| (name == "withdrawal_reason").then_some(&text)).unwrap();
            let context = Context { today: TODAY, lists: &lists, terms: &ALL_CODES, organisations: &organisations };
            let mut specimens = Specimens::new(11, &RULES, context);
            let made: Vec<_> = (0..200).map(|_| specimens.trainee("10000571").unwrap()).collect();
            assert!(made.iter().any(|trainee| trainee.withdrawal_date.is_some()), "{rows}");
        }
    }

    #[test]
    fn terms_that_accept_no_route_leave_nothing_to_invent() {
        let terms = Terms { accepted: &[(List::TrainingRoute, &[])], exception_years: &[] };
        let organisations = Organisations::default();
        let context = Context { today: TODAY, lists: Lists::embedded(), terms: &terms, organisations: &organisations };
        assert!(Specimens::new(1, &RULES, context).trainee("10000571").is_err());
    }
}
