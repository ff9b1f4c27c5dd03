//! Checks that every request body gets a valid answer, also a body of arbitrary bytes.

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

/// The seed of the sample for arbitrary bodies.
const ANY_BYTES_SEED: u64 = 1;
/// The number of records in the sample for arbitrary bodies. The first byte of an input can select
/// each of these records.
const ANY_BYTES_RECORDS: usize = 14;
/// Number of mutated bodies for each valid body.
const MUTATED: usize = 2;

/// Runs [`Bodies::check`] on valid request bodies for the records of the sample and on mutations
/// of these bodies.
///
/// # Errors
///
/// Returns the first case that fails.
pub fn no_input_panics(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    let random = sample.random();
    for served in versions.iter() {
        let bodies = Bodies::new(versions, served, sample);
        let seeds = bodies.seeds()?;
        for seed in &seeds {
            bodies.check(seed)?;
            for _ in 0..MUTATED {
                bodies.check(&mutate(seed, random.pick(&seeds), &random))?;
            }
        }
    }
    Ok(())
}

/// Returns the body with some bytes removed, repeated or replaced, or with the end of another body.
fn mutate(body: &[u8], other: Option<&Vec<u8>>, random: &Random) -> Vec<u8> {
    /// The limit of the number of bytes to remove or repeat.
    const MAX_BYTES: usize = 40;
    let mut mutated = body.to_vec();
    let at = random.below(mutated.len().max(1));
    let until = (at + random.below(MAX_BYTES)).min(mutated.len());
    match random.below(4) {
        0 => drop(mutated.drain(at..until)),
        1 => {
            let again: Vec<u8> = mutated.get(at..until).unwrap_or_default().to_vec();
            drop(mutated.splice(until..until, again));
        }
        2 => {
            // Bytes with a meaning in JSON, and bytes that JSON does not allow.
            let byte =
                *random.one_of([&b'"', &b'{', &b'}', &b'[', &b',', &b'0', &b'\\', &0, &0xff]);
            if let Some(target) = mutated.get_mut(at) {
                *target = byte;
            }
        }
        _ => {
            mutated.truncate(at);
            mutated.extend(other.into_iter().flatten().skip(at));
        }
    }
    mutated
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Create,
    Update,
    /// Adds a nested record; the number is the position of its kind.
    Add(usize),
    /// Changes a nested record; the number is the position of its kind.
    Change(usize),
    Withdraw,
    Defer,
    Recommend,
}

impl Request {
    /// Returns all requests, in order.
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

/// Does nothing. Called for each kind of nested record, to count the kinds.
fn one<R: NestedRecord>() {}

/// Runs the check on inputs for one version. The first byte of an input selects the request, the
/// handling of unknown names and the record; the other bytes are the request body.
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
    /// Creates the sample for arbitrary bodies, for requests on this day.
    ///
    /// # Errors
    ///
    /// Fails like [`Sample::new`].
    pub fn sample(today: NaiveDate) -> Result<Sample, Vec<Problem>> {
        Sample::new(ANY_BYTES_SEED, ANY_BYTES_RECORDS, today)
    }

    /// Creates the check for one of the versions and the records of the sample.
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

    /// Returns the names of this version and of the other versions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.all()
    }

    /// Returns valid inputs: each request for each record that can be selected.
    ///
    /// # Errors
    ///
    /// Fails if a record cannot be serialised.
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

    /// Returns the request for a record; `None` if there is no record.
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

    /// Returns the request, the handling of unknown names and the record that the first byte of an
    /// input selects; `None` if the sample has no records.
    fn select_request(&self, choice: u8) -> Option<(Request, UnknownNames, &'a Trainee)> {
        let all = Request::all();
        let choice = usize::from(choice);
        let request = choice % all.len();
        let rest = choice / all.len();
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

    /// Checks one input:
    ///
    /// - A body that is JSON is read. Any other body is rejected without being repeated.
    /// - A rejection reports each problem once, at a path and in words of the version. Its size is
    ///   limited in proportion to the request.
    /// - An accepted record violates no new invariant, and every version can write it.
    /// - Sending an accepted record back changes nothing. Creating a new record from it gives the
    ///   same record.
    /// - An update changes only fields that the version can set.
    ///
    /// # Errors
    ///
    /// Returns the case that fails.
    pub fn check(&self, bytes: &[u8]) -> Result<(), CheckFailure> {
        let Some((choice, body)) = bytes.split_first() else {
            return Ok(());
        };
        let Some((request, unknown, trainee)) = self.select_request(*choice) else {
            return Ok(());
        };
        let body_check = BodyCheck {
            bodies: self,
            body,
            unknown,
        };
        let rules = &self.case.version().rules;
        let context = self.case.context();
        let now = self.case.sample.now();
        let origin = CreationContext {
            now,
            ukprn: "",
            next_id: &|| None,
        };
        match request {
            Request::Create => body_check.run(
                NestedLists::Read,
                |sent| commands::create(sent, rules, &context, &origin),
                |created| {
                    self.is_sound(&Trainee::default(), &created)?;
                    self.recreates_same(&created, &|sent| {
                        commands::create(sent, rules, &context, &origin)
                    })
                },
            ),
            Request::Update => body_check.run(
                NestedLists::Ignore,
                |sent| commands::update(trainee, sent, rules, &context, now),
                |updated| {
                    let body = || String::from_utf8_lossy(body).into_owned();
                    untouched_fields::only_seen(self.case, trainee, &updated, &self.seen, body)?;
                    self.is_sound(trainee, &updated)
                },
            ),
            Request::Add(kind) | Request::Change(kind) => {
                let mut checks = for_each_nested!(nested_check()).into_iter();
                checks
                    .nth(kind)
                    .map_or(Ok(()), |check| check(self, &body_check, request, trainee))
            }
            Request::Withdraw => body_check.run(
                NestedLists::Read,
                |sent| {
                    commands::transition::<domain::Withdrawal>(trainee, sent, rules, &context, now)
                },
                |withdrawn| self.is_sound(trainee, &withdrawn),
            ),
            Request::Defer => body_check.run(
                NestedLists::Read,
                |sent| {
                    commands::transition::<domain::Deferral>(trainee, sent, rules, &context, now)
                },
                |deferred| self.is_sound(trainee, &deferred),
            ),
            Request::Recommend => body_check.run(
                NestedLists::Read,
                |sent| {
                    commands::transition::<domain::Recommendation>(
                        trainee, sent, rules, &context, now,
                    )
                },
                |recommended| self.is_sound(trainee, &recommended),
            ),
        }
    }

    /// Checks that the record violates no new invariant, that every version can write it, and that
    /// sending it back changes nothing.
    fn is_sound(&self, before: &Trainee, after: &Trainee) -> Result<(), CheckFailure> {
        let known = invariants::violations(before, Lists::embedded());
        if let Some(fault) = invariants::violations(after, Lists::embedded())
            .iter()
            .find(|fault| !known.contains(fault))
        {
            return self.case.fail(
                Trainee::NAME,
                format!("is accepted and violates an invariant: {fault}"),
            );
        }
        for served in self.versions.iter() {
            serialisation::check_written(
                Case {
                    served,
                    ..self.case
                },
                after,
            )?;
        }
        untouched_fields::check_sent_back(self.case, after)
    }

    /// Checks a request that would create the record: the request has the values of the record, and
    /// every version shows the created record exactly like the original one.
    fn recreates_same(
        &self,
        record: &Trainee,
        decide: &dyn Fn(ParsedRecord<Trainee>) -> Result<Decision<Trainee>, Vec<Problem>>,
    ) -> Result<(), CheckFailure> {
        let sent = round_trip::read_back(self.case, record)?;
        round_trip::requests_trainee(self.case, &sent, record)?;
        let again = match decide(sent) {
            Ok(again) => again.record,
            Err(problems) => {
                return self.case.fail(
                    Trainee::NAME,
                    format!("is refused although it is stored: {problems:?}"),
                );
            }
        };
        // Stored values may differ if they are shown alike: null, and the code for "no value".
        for served in self.versions.iter() {
            let [was, is] = [record, &again]
                .map(|trainee| View::trainee(served.version, trainee, Lists::embedded()));
            let was = serde_json::to_string(&was);
            let is = serde_json::to_string(&is);
            if was.as_ref().ok() != is.as_ref().ok() {
                return self.case.fail(
                    Trainee::NAME,
                    format!("was {was:?} and is {is:?} when created again"),
                );
            }
        }
        Ok(())
    }
}

/// Returns the request for the first nested record of a kind.
fn first_body<R: WireNested>(
    bodies: &Bodies<'_>,
    trainee: &Trainee,
) -> Result<Option<Vec<u8>>, CheckFailure> {
    bodies.body(R::records(trainee).first())
}

/// A check of a body for a nested record.
type NestedCheck = fn(&Bodies<'_>, &BodyCheck<'_>, Request, &Trainee) -> Result<(), CheckFailure>;

/// Returns the check for a kind of nested record.
fn nested_check<R: NestedCase>() -> NestedCheck {
    |bodies, body_check, request, trainee| {
        let case = bodies.case;
        let rules = &case.version().rules;
        let context = case.context();
        let now = case.sample.now();
        let origin = CreationContext {
            now,
            ukprn: "",
            next_id: &|| None,
        };
        let is_change = matches!(request, Request::Change(_));
        let stored = R::records(trainee).first().filter(|_| is_change);
        body_check.run::<R, _>(
            NestedLists::Read,
            |sent| match stored {
                Some(stored) => commands::update(stored, sent, rules, &context, now),
                None => commands::add(sent, rules, &context, &origin),
            },
            |record| {
                let mut after = trainee.clone();
                *R::records_mut(&mut after) = vec![record];
                bodies.is_sound(trainee, &after)
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
    fn problem_reported_twice_fails_the_check() {
        const TWICE: Rule<Trainee> = Rule {
            name: "twice",
            description: "reports the same problem twice",
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
