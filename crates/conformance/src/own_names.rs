//! A version speaks of its own names alone.

use adapter_kit::read::UnknownNames::{Refuse, Tell};
use adapter_kit::read::{Nest, UnknownNames};
use adapter_kit::version::Wire;
use adapter_kit::versions::Versions;
use domain::commands::{CreationContext, Decision};
use domain::problem::{Notice, Problem};
use domain::{
    Context, Deferral, Degree, ParsedRecord, Placement, Recommendation, Trainee, TraineeField, Withdrawal, commands,
};
use serde_json::{Map, Value};

use crate::case::Case;
use crate::{CheckFailure, Sample, mutation};

mod mentions;

pub(super) use mentions::{Listener, Names, Said};

const CHECK: &str = "errors_use_own_names";

/// A problem names a field of the version or a key that the client sent, and its words have no name
/// that only the dictionary or another version has; the same goes for what a client is told besides.
///
/// # Errors
///
/// The first case in which this does not hold.
pub fn errors_use_own_names(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let names = Names::of(served.version, versions);
        let case = Case::of(CHECK, served, sample);
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
pub(super) type Told = Result<Vec<Notice>, Vec<Problem>>;

impl Attempt<'_> {
    fn all(&self) -> Result<(), CheckFailure> {
        let (rules, context, now) = (&self.case.version().rules, self.case.context(), self.case.sample.now());
        let origin = CreationContext { now, ukprn: "", next_id: &|| None };
        let whole = self.case.request(self.trainee)?;
        for way in self.share() {
            let mut object = whole.clone();
            mutation::spoil::<Trainee>(self.case.served, &mut object, way);
            self.ask(&object, Refuse, |sent| told(commands::create(sent, rules, &context, &origin)))?;
            self.ask(&object, Tell, |sent| told(commands::update(self.trainee, sent, rules, &context, now)))?;
        }
        self.nested::<Placement>(&whole, TraineeField::placements, &context, &origin)?;
        self.nested::<Degree>(&whole, TraineeField::degrees, &context, &origin)?;
        self.by_itself(&self.trainee.placements, |sent| told(commands::add(sent, rules, &context, &origin)))?;
        self.by_itself(&self.trainee.degrees, |sent| told(commands::add(sent, rules, &context, &origin)))?;
        self.by_itself(&[Withdrawal::default()], |sent| {
            told(commands::transition::<domain::Withdrawal>(self.trainee, sent, rules, &context, now))
        })?;
        self.by_itself(&[Deferral::default()], |sent| {
            told(commands::transition::<domain::Deferral>(self.trainee, sent, rules, &context, now))
        })?;
        self.by_itself(&[Recommendation::default()], |sent| {
            told(commands::transition::<domain::Recommendation>(self.trainee, sent, rules, &context, now))
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
        origin: &CreationContext<'_>,
    ) -> Result<(), CheckFailure> {
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
        self.ask(&object, Tell, |sent| told(commands::create(sent, rules, context, origin)))
    }

    /// Spoilt records by themselves.
    fn by_itself<R: Nest>(&self, records: &[R], decide: impl Fn(ParsedRecord<R>) -> Told) -> Result<(), CheckFailure> {
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
        decide: impl Fn(ParsedRecord<R>) -> Told,
    ) -> Result<(), CheckFailure> {
        let said = Said::of(&Value::Object(object.clone()).to_string());
        let listener = Listener { case: self.case, names: self.names, said: &said };
        match decide(self.case.read(object, unknown)?) {
            Ok(notices) => notices.iter().try_for_each(|notice| listener.remark(notice)),
            Err(problems) => problems.iter().try_for_each(|problem| listener.complaint(problem)),
        }
    }
}

pub(super) fn told<R>(decided: Result<Decision<R>, Vec<Problem>>) -> Told {
    decided.map(|decision| decision.notices)
}

#[cfg(test)]
mod tests {
    use domain::ProblemKind;
    use domain::rules::{Rule, Run, found};

    use super::*;
    use crate::sample_version::{check_version, with_rules};

    #[test]
    fn a_problem_about_a_field_that_the_version_does_not_name_is_found() {
        const NAMELESS: Rule<Trainee> = Rule {
            name: "nameless",
            description: "complains of a field that nobody here knows",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| found(TraineeField::iqts_country, ProblemKind::Blank)),
        };
        let failure = check_version(errors_use_own_names, with_rules(&[NAMELESS])).unwrap_err();
        assert_eq!((failure.check, failure.field.as_str()), ("errors_use_own_names", "iqts_country"));
    }

    #[test]
    fn words_with_a_name_that_the_version_does_not_have_are_found() {
        const WORDY: Rule<Trainee> = Rule {
            name: "wordy",
            description: "compares with a field that nobody here knows",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| {
                found(TraineeField::last_name, ProblemKind::SameAs { field: TraineeField::previous_last_name.into() })
            }),
        };
        let failure = check_version(errors_use_own_names, with_rules(&[WORDY])).unwrap_err();
        assert_eq!((failure.check, failure.field.as_str()), ("errors_use_own_names", "previous_last_name"));
    }
}
