//! A version speaks of its own names alone.

use std::collections::BTreeSet;

use domain::decide::{self, Decision, Origin};
use domain::problem::{Notice, Problem};
use domain::{
    Context, Deferral, DeferralField, Degree, DegreeField, Lists, Path, Placement, PlacementField, Recommendation,
    RecommendationField, Record, RecordField, Sent, Trainee, TraineeField, Withdrawal, WithdrawalField,
};
use serde_json::{Map, Value};

use super::{Broken, Case, Sample, mutation};
use crate::names::place;
use crate::problems::{warning, words};
use crate::read::Nest;
use crate::read::UnknownNames::{self, Refuse, Tell};
use crate::shape::{Inputs, Shape};
use crate::version::{ApiVersion, Wire};
use crate::versions::Versions;

const LAW: &str = "closed";

/// A problem names a field of the version or a key that the client sent, and its words have no name
/// that only the dictionary or another version has; the same goes for what a client is told besides.
///
/// # Errors
///
/// The first case in which this does not hold.
pub fn closed(versions: &Versions, sample: &Sample) -> Result<(), Broken> {
    for served in versions.iter() {
        let names = Names::of(served.version, versions);
        let case = Case::of(LAW, served, sample);
        for (case, trainee) in case.each(&sample.stored) {
            Attempt { case, names: &names, trainee }.all()?;
        }
    }
    Ok(())
}

/// One record, to which spoilt requests are made.
struct Attempt<'a> {
    case: Case<'a>,
    names: &'a Names,
    trainee: &'a Trainee,
}

/// What came of a request: what the client is told of it.
type Told = Result<Vec<Notice>, Vec<Problem>>;

impl Attempt<'_> {
    fn all(&self) -> Result<(), Broken> {
        let (rules, context, now) = (&self.case.version().rules, self.case.context(), self.case.sample.now());
        let origin = Origin { now, ukprn: "", next_id: &|| None };
        let whole = self.case.request(self.trainee)?;
        for way in self.share() {
            let mut object = whole.clone();
            mutation::spoil::<Trainee>(self.case.served, &mut object, way);
            self.ask(&object, Refuse, |sent| told(decide::create(sent, rules, &context, &origin)))?;
            self.ask(&object, Tell, |sent| told(decide::update(self.trainee, sent, rules, &context, now)))?;
        }
        self.nested::<Placement>(&whole, TraineeField::placements, &context, &origin)?;
        self.nested::<Degree>(&whole, TraineeField::degrees, &context, &origin)?;
        self.by_itself(&self.trainee.placements, |sent| told(decide::add_placement(sent, rules, &context, &origin)))?;
        self.by_itself(&self.trainee.degrees, |sent| told(decide::add_degree(sent, rules, &context, &origin)))?;
        self.by_itself(&[Withdrawal::default()], |sent| {
            told(decide::withdraw(self.trainee, sent, rules, &context, now))
        })?;
        self.by_itself(&[Deferral::default()], |sent| told(decide::defer(self.trainee, sent, rules, &context, now)))?;
        self.by_itself(&[Recommendation::default()], |sent| {
            told(decide::recommend(self.trainee, sent, rules, &context, now))
        })
    }

    /// The ways of spoiling a trainee that fall to this record, so that each is tried.
    fn share(&self) -> impl Iterator<Item = usize> + use<> {
        let at = self.case.record.unwrap_or_default();
        (at..mutation::count::<Trainee>(self.case.served)).step_by(self.case.sample.stored.len().max(1))
    }

    /// A spoilt record in a nested list, and the same record twice.
    fn nested<R: Nest>(
        &self,
        whole: &Map<String, Value>,
        list: TraineeField,
        context: &Context<'_>,
        origin: &Origin<'_>,
    ) -> Result<(), Broken> {
        let Some(list) = Trainee::inputs(self.case.version()).name_of(list) else { return Ok(()) };
        let Some(Value::Array(records)) = whole.get(list) else { return Ok(()) };
        let mut spoilt = records.clone();
        if let Some(Value::Object(record)) = records.first() {
            let mut record = record.clone();
            self.spoil::<R>(&mut record);
            spoilt.push(Value::Object(record));
            spoilt.extend(records.first().cloned());
        }
        let mut object = whole.clone();
        object.insert(list.to_owned(), Value::Array(spoilt));
        let rules = &self.case.version().rules;
        self.ask(&object, Tell, |sent| told(decide::create(sent, rules, context, origin)))
    }

    /// Spoilt records by themselves.
    fn by_itself<R: Nest>(&self, records: &[R], decide: impl Fn(Sent<R>) -> Told) -> Result<(), Broken> {
        for record in records {
            let mut object = self.case.request(record)?;
            self.spoil::<R>(&mut object);
            self.ask(&object, Refuse, &decide)?;
        }
        Ok(())
    }

    fn spoil<R: Wire>(&self, object: &mut Map<String, Value>) {
        let way = self.case.record.unwrap_or_default() % mutation::count::<R>(self.case.served);
        mutation::spoil::<R>(self.case.served, object, way);
    }

    /// Makes the request, and looks at what the client is told.
    fn ask<R: Nest>(
        &self,
        object: &Map<String, Value>,
        unknown: UnknownNames,
        decide: impl Fn(Sent<R>) -> Told,
    ) -> Result<(), Broken> {
        let keys = keys(object);
        match decide(self.case.read(object, unknown)?) {
            Ok(notices) => notices.iter().try_for_each(|notice| self.remark(notice, &keys)),
            Err(problems) => problems.iter().try_for_each(|problem| self.complaint(problem, &keys)),
        }
    }

    fn complaint(&self, problem: &Problem, keys: &BTreeSet<&str>) -> Result<(), Broken> {
        self.located(&problem.at, keys)?;
        self.worded(&problem.at, &words(self.case.version(), Lists::embedded(), &problem.kind))
    }

    fn remark(&self, notice: &Notice, keys: &BTreeSet<&str>) -> Result<(), Broken> {
        self.located(&notice.at, keys)?;
        let text = warning(self.case.version(), notice).unwrap_or_default();
        let place = place(self.case.version(), &notice.at);
        self.worded(&notice.at, &text.replace(&place, ""))
    }

    /// The place is one of the version's, or of the client's.
    fn located(&self, path: &Path, keys: &BTreeSet<&str>) -> Result<(), Broken> {
        if let Path::Key(key) | Path::NestedKey { key, .. } = path {
            return match keys.contains(key.as_str()) {
                true => Ok(()),
                false => self.case.broken(key.as_str(), "is named, and was not sent"),
            };
        }
        let place = place(self.case.version(), path);
        let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        match place.split(' ').find(|word| !number(word) && *word != "data" && !self.names.known.contains(word)) {
            Some(word) => self.case.broken(word, "is named, and is no name of this version"),
            None => Ok(()),
        }
    }

    /// The words have no name that the version does not have.
    fn worded(&self, path: &Path, words: &str) -> Result<(), Broken> {
        let mut tokens = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        match tokens.find(|word| self.names.strange.contains(word)) {
            Some(word) => {
                let place = place(self.case.version(), path);
                self.case.broken(word, format!("is no name of this version, in: {place} {words}"))
            }
            None => Ok(()),
        }
    }
}

fn told<R>(decided: Result<Decision<R>, Vec<Problem>>) -> Told {
    decided.map(|decision| decision.notices)
}

/// All keys of an object, at any depth.
fn keys(object: &Map<String, Value>) -> BTreeSet<&str> {
    let inner = object.values().flat_map(|value| match value {
        Value::Object(object) => keys(object),
        Value::Array(values) => values.iter().filter_map(Value::as_object).flat_map(keys).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => BTreeSet::new(),
    });
    object.keys().map(String::as_str).chain(inner).collect()
}

/// The names that a version has, and those that only the dictionary or other versions have.
struct Names {
    known: BTreeSet<&'static str>,
    strange: BTreeSet<&'static str>,
}

impl Names {
    fn of(version: &ApiVersion, versions: &Versions) -> Self {
        let known = names(version);
        let mut strange: BTreeSet<_> = versions.iter().flat_map(|other| names(other.version)).collect();
        strange.extend(dictionary::<TraineeField>());
        strange.extend(dictionary::<PlacementField>());
        strange.extend(dictionary::<DegreeField>());
        strange.extend(dictionary::<WithdrawalField>());
        strange.extend(dictionary::<DeferralField>());
        strange.extend(dictionary::<RecommendationField>());
        strange.retain(|name| !known.contains(name));
        Self { known, strange }
    }
}

fn names(ApiVersion { inputs, shapes, .. }: &ApiVersion) -> BTreeSet<&'static str> {
    fn set<R: Record>(inputs: &Inputs<R>) -> impl Iterator<Item = &'static str> {
        inputs.entries.iter().map(|input| input.name)
    }
    fn shown<R: Record>(shape: &Shape<R>) -> impl Iterator<Item = &'static str> {
        shape.entries.iter().map(|entry| entry.name)
    }
    set(&inputs.trainee)
        .chain(set(&inputs.placement))
        .chain(set(&inputs.degree))
        .chain(set(&inputs.withdrawal))
        .chain(set(&inputs.deferral))
        .chain(set(&inputs.recommendation))
        .chain(shown(&shapes.trainee))
        .chain(shown(&shapes.placement))
        .chain(shown(&shapes.placement_nested))
        .chain(shown(&shapes.degree))
        .collect()
}

fn dictionary<F: RecordField>() -> impl Iterator<Item = &'static str> {
    F::ALL.iter().map(|field| field.info().name)
}

#[cfg(test)]
mod tests {
    use domain::ProblemKind;
    use domain::rules::{Rule, Run, found};

    use super::super::planted::{try_on, with_rules};
    use super::*;

    #[test]
    fn a_problem_about_a_field_that_the_version_does_not_name_is_found() {
        const NAMELESS: Rule<Trainee> = Rule {
            name: "nameless",
            demands: "complains of a field that nobody here knows",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| found(TraineeField::iqts_country, ProblemKind::Blank)),
        };
        let broken = try_on(closed, with_rules(&[NAMELESS])).unwrap_err();
        assert_eq!((broken.law, broken.field.as_str()), ("closed", "iqts_country"));
    }

    #[test]
    fn words_with_a_name_that_the_version_does_not_have_are_found() {
        const WORDY: Rule<Trainee> = Rule {
            name: "wordy",
            demands: "compares with a field that nobody here knows",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| {
                found(TraineeField::last_name, ProblemKind::SameAs { field: TraineeField::previous_last_name.into() })
            }),
        };
        let broken = try_on(closed, with_rules(&[WORDY])).unwrap_err();
        assert_eq!((broken.law, broken.field.as_str()), ("closed", "previous_last_name"));
    }
}
