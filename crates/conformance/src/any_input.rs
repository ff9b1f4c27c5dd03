//! Any bytes that a client sends as a body get a valid answer.

use std::fmt;

use adapter_kit::compose::Request as Composed;
use adapter_kit::read::{NestedLists, UnknownNames};
use adapter_kit::versions::{Served, Versions};
use adapter_kit::view::View;
use adapter_kit::wire::{WireNested, WireRecord};
use chrono::NaiveDate;
use domain::commands::{CreationContext, Decision};
use domain::problem::Problem;
use domain::{
    Deferral, FieldSet, Lists, NestedRecord, ParsedRecord, Recommendation, Record, Trainee,
    TraineeField, Withdrawal, commands, for_each_nested, invariants,
};
use fixtures::random::Random;

use crate::any_input::request::BodyCheck;
use crate::case::{Case, CheckFailure, NestedCase};
use crate::own_names::Names;
use crate::sample::Sample;
use crate::{round_trip, serialisation, untouched_fields};

mod request;

const CHECK: &str = "no_input_panics";

/// The seed of the records that are tried with any bytes, and how many of them the first byte can
/// choose.
const ANY_BYTES_SEED: u64 = 1;
const ANY_BYTES_RECORDS: usize = 14;
/// Spoilt bodies that are tried for each that a client could have meant.
const MUTATED: usize = 2;

/// Bodies of requests for the records of the sample, and the same bodies with bytes spoilt, keep
/// what [`Bodies::check`] says.
///
/// # Errors
///
/// The first case that fails.
pub fn no_input_panics(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    let random = sample.random();
    for served in versions.iter() {
        let bodies = Bodies::new(versions, served, sample);
        let seeds = bodies.seeds()?;
        for seed in &seeds {
            bodies.check(seed)?;
            for _ in 0..MUTATED {
                bodies.check(&mutated(seed, random.pick(&seeds), &random))?;
            }
        }
    }
    Ok(())
}

/// The body with some bytes replaced, doubled or left out, or with the end of another one.
fn mutated(body: &[u8], other: Option<&Vec<u8>>, random: &Random) -> Vec<u8> {
    let mut mutated = body.to_vec();
    let at = random.below(mutated.len().max(1));
    let until = (at + random.below(40)).min(mutated.len());
    match random.below(4) {
        0 => drop(mutated.drain(at..until)),
        1 => {
            let again: Vec<u8> = mutated.get(at..until).unwrap_or_default().to_vec();
            drop(mutated.splice(until..until, again));
        }
        2 => {
            let byte =
                *random.one_of([&b'"', &b'{', &b'}', &b'[', &b',', &b'0', &b'\\', &0, &0xff]);
            if let Some(place) = mutated.get_mut(at) {
                *place = byte;
            }
        }
        _ => {
            mutated.truncate(at);
            mutated.extend(other.into_iter().flatten().skip(at));
        }
    }
    mutated
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Create,
    Update,
    /// Adds a nested record of the kind with this position.
    Add(usize),
    /// Changes one.
    Change(usize),
    Withdraw,
    Defer,
    Recommend,
}

impl Request {
    /// All of them, in order.
    fn all() -> Vec<Self> {
        let kinds = for_each_nested!(one()).len();
        let nested = (0..kinds).flat_map(|kind| [Self::Add(kind), Self::Change(kind)]);
        let trainee = [Self::Create, Self::Update].into_iter();
        trainee
            .chain(nested)
            .chain([Self::Withdraw, Self::Defer, Self::Recommend])
            .collect()
    }
}

fn one<R: NestedRecord>() {}

/// Every body that a version can be sent, as bytes of which the first chooses the request, how
/// strictly it is read and the record that it is about.
pub struct Bodies<'a> {
    case: Case<'a>,
    versions: &'a Versions,
    names: Names,
    seen: FieldSet<TraineeField>,
}

impl fmt::Debug for Bodies<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Bodies")
            .field(&self.case.version().label)
            .finish()
    }
}

impl<'a> Bodies<'a> {
    /// Records about which any bytes are tried, on that day: as many as the first byte can choose.
    ///
    /// # Errors
    ///
    /// As [`Sample::new`].
    pub fn sample(today: NaiveDate) -> Result<Sample, Vec<Problem>> {
        Sample::new(ANY_BYTES_SEED, ANY_BYTES_RECORDS, today)
    }

    /// Bodies for one of the versions, about the records of the sample.
    #[must_use]
    pub fn new(versions: &'a Versions, served: &'a Served, sample: &'a Sample) -> Self {
        let case = Case::new(CHECK, served, sample);
        Self {
            case,
            versions,
            names: Names::new(served.version, versions),
            seen: untouched_fields::changeable(case),
        }
    }

    /// The names that mean something in this version or in another.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.all()
    }

    /// Bodies that a client could mean: each request for each record that can be chosen.
    ///
    /// # Errors
    ///
    /// When a record cannot be written.
    pub fn seeds(&self) -> Result<Vec<Vec<u8>>, CheckFailure> {
        let mut seeds = Vec::new();
        for choice in 0..=u8::MAX {
            let Some((request, _, trainee)) = self.select_request(choice) else {
                continue;
            };
            let body = match request {
                Request::Create | Request::Update => self.body(Some(trainee))?,
                Request::Add(kind) | Request::Change(kind) => {
                    let bodies = for_each_nested!(first_body(self, trainee));
                    bodies.into_iter().nth(kind).unwrap_or(Ok(None))?
                }
                Request::Withdraw => self.body(Withdrawal::from_trainee(trainee).as_ref())?,
                Request::Defer => self.body(Deferral::from_trainee(trainee).as_ref())?,
                Request::Recommend => self.body(Recommendation::from_trainee(trainee).as_ref())?,
            };
            seeds.extend(body.map(|body| [vec![choice], body].concat()));
        }
        Ok(seeds)
    }

    fn body<R: WireRecord>(&self, record: Option<&R>) -> Result<Option<Vec<u8>>, CheckFailure> {
        let Some(record) = record else {
            return Ok(None);
        };
        let request = Composed {
            version: self.case.version(),
            record,
            lists: Lists::embedded(),
        };
        match request.body() {
            Ok(body) => Ok(Some(body)),
            Err(error) => self
                .case
                .fail(R::NAME, format!("cannot be written: {error}")),
        }
    }

    fn select_request(&self, choice: u8) -> Option<(Request, UnknownNames, &'a Trainee)> {
        let all = Request::all();
        let (rest, request) = (
            usize::from(choice) / all.len(),
            usize::from(choice) % all.len(),
        );
        let unknown = if rest.is_multiple_of(2) {
            UnknownNames::Warn
        } else {
            UnknownNames::Reject
        };
        let stored = &self.case.sample.stored;
        Some((
            *all.get(request)?,
            unknown,
            stored.get(rest / 2 % stored.len().max(1))?,
        ))
    }

    /// A body is read where it is JSON, and else refused without repeating it. A refusal reports
    /// each problem once, at a place and in words of the version, and is not out of proportion to
    /// the request. A record that is accepted is sound; every version can write it; it is sent back
    /// without a change, and sent again it reads the same. An update changes nothing that its
    /// version cannot see.
    ///
    /// # Errors
    ///
    /// The case that fails.
    pub fn check(&self, bytes: &[u8]) -> Result<(), CheckFailure> {
        let Some((choice, body)) = bytes.split_first() else {
            return Ok(());
        };
        let Some((request, unknown, trainee)) = self.select_request(*choice) else {
            return Ok(());
        };
        let asked = BodyCheck {
            bodies: self,
            body,
            unknown,
        };
        let (rules, context, now) = (
            &self.case.version().rules,
            self.case.context(),
            self.case.sample.now(),
        );
        let origin = CreationContext {
            now,
            ukprn: "",
            next_id: &|| None,
        };
        match request {
            Request::Create => asked.run(
                NestedLists::Read,
                |sent| commands::create(sent, rules, &context, &origin),
                |created| {
                    self.keeps(&Trainee::default(), &created)?;
                    self.comes_again(&created, &|sent| {
                        commands::create(sent, rules, &context, &origin)
                    })
                },
            ),
            Request::Update => asked.run(
                NestedLists::Ignore,
                |sent| commands::update(trainee, sent, rules, &context, now),
                |updated| {
                    let body = || String::from_utf8_lossy(body).into_owned();
                    untouched_fields::only_seen(self.case, trainee, &updated, &self.seen, body)?;
                    self.keeps(trainee, &updated)
                },
            ),
            Request::Add(kind) | Request::Change(kind) => {
                let mut checks = for_each_nested!(nested_check()).into_iter();
                checks
                    .nth(kind)
                    .map_or(Ok(()), |check| check(self, &asked, request, trainee))
            }
            Request::Withdraw => asked.run(
                NestedLists::Read,
                |sent| {
                    commands::transition::<domain::Withdrawal>(trainee, sent, rules, &context, now)
                },
                |withdrawn| self.keeps(trainee, &withdrawn),
            ),
            Request::Defer => asked.run(
                NestedLists::Read,
                |sent| {
                    commands::transition::<domain::Deferral>(trainee, sent, rules, &context, now)
                },
                |deferred| self.keeps(trainee, &deferred),
            ),
            Request::Recommend => asked.run(
                NestedLists::Read,
                |sent| {
                    commands::transition::<domain::Recommendation>(
                        trainee, sent, rules, &context, now,
                    )
                },
                |recommended| self.keeps(trainee, &recommended),
            ),
        }
    }

    /// The record has no fault that it had not before, every version writes it, and it is sent back
    /// without a change.
    fn keeps(&self, before: &Trainee, after: &Trainee) -> Result<(), CheckFailure> {
        let known = invariants::violations(before, Lists::embedded());
        if let Some(fault) = invariants::violations(after, Lists::embedded())
            .iter()
            .find(|fault| !known.contains(fault))
        {
            return self.case.fail(
                Trainee::NAME,
                format!("is accepted as it cannot be: {fault}"),
            );
        }
        for served in self.versions.iter() {
            serialisation::written(
                Case {
                    served,
                    ..self.case
                },
                after,
            )?;
        }
        untouched_fields::sent_back(self.case, after)
    }

    /// A request for the record has the values of the record, and creates one that reads the same.
    fn comes_again(
        &self,
        record: &Trainee,
        decide: &dyn Fn(ParsedRecord<Trainee>) -> Result<Decision<Trainee>, Vec<Problem>>,
    ) -> Result<(), CheckFailure> {
        let sent = round_trip::read_back(self.case, record)?;
        round_trip::asks_for_trainee(self.case, &sent, record)?;
        let again = match decide(sent) {
            Ok(again) => again.record,
            Err(problems) => {
                return self.case.fail(
                    Trainee::NAME,
                    format!("is refused as it is stored: {problems:?}"),
                );
            }
        };
        // Stored values may differ where they are shown as the same: null, and the code for it.
        for served in self.versions.iter() {
            let [was, is] = [record, &again]
                .map(|trainee| View::trainee(served.version, trainee, Lists::embedded()));
            let (was, is) = (serde_json::to_string(&was), serde_json::to_string(&is));
            if was.as_ref().ok() != is.as_ref().ok() {
                return self.case.fail(
                    Trainee::NAME,
                    format!("was {was:?} and comes again as {is:?}"),
                );
            }
        }
        Ok(())
    }
}

/// The request for the first nested record of a kind.
fn first_body<R: WireNested>(
    bodies: &Bodies<'_>,
    trainee: &Trainee,
) -> Result<Option<Vec<u8>>, CheckFailure> {
    bodies.body(R::records(trainee).first())
}

/// Checks a body for a nested record.
type NestedCheck = fn(&Bodies<'_>, &BodyCheck<'_>, Request, &Trainee) -> Result<(), CheckFailure>;

/// The check for a kind of nested record.
fn nested_check<R: NestedCase>() -> NestedCheck {
    |bodies, asked, request, trainee| {
        let case = bodies.case;
        let (rules, context, now) = (&case.version().rules, case.context(), case.sample.now());
        let origin = CreationContext {
            now,
            ukprn: "",
            next_id: &|| None,
        };
        let is_change = matches!(request, Request::Change(_));
        let stored = R::records(trainee).first().filter(|_| is_change);
        asked.run::<R, _>(
            NestedLists::Read,
            |sent| match stored {
                Some(stored) => commands::update(stored, sent, rules, &context, now),
                None => commands::add(sent, rules, &context, &origin),
            },
            |record| {
                let mut after = trainee.clone();
                *R::records_mut(&mut after) = vec![record];
                bodies.keeps(trainee, &after)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::ProblemKind;
    use domain::rules::{Rule, Run};

    use super::*;
    use crate::sample_version::{check_version, with_rules};

    #[test]
    fn problem_that_is_reported_twice_is_found() {
        const TWICE: Rule<Trainee> = Rule {
            name: "twice",
            description: "complains of the same twice",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| {
                vec![Problem::at(TraineeField::last_name, ProblemKind::Blank); 2]
            }),
        };
        let failure = check_version(no_input_panics, with_rules(&[TWICE])).unwrap_err();
        assert_eq!(
            (failure.check, failure.field.as_str()),
            ("no_input_panics", "a problem")
        );
    }
}
