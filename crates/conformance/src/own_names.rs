//! Checks that messages contain only names of their version.

use adapter_kit::read::UnknownNames::{Reject, Warn};
use adapter_kit::read::{ReadableRecord, UnknownNames};
use adapter_kit::versions::Versions;
use adapter_kit::wire::WireRecord;
use domain::commands::{CreationContext, Decision};
use domain::problem::{Notice, Problem};
use domain::{
    Context, Deferral, ParsedRecord, Recommendation, Trainee, Withdrawal, commands, for_each_nested,
};
use serde_json::{Map, Value};

use crate::case::{Case, CheckFailure, NestedCase};
use crate::mutation;
use crate::sample::Sample;

mod messages;

pub(super) use messages::{MessageCheck, Names, SentStrings};

const CHECK: &str = "errors_use_own_names";

/// Checks the path and the message of every problem and warning. The path must be a field of the
/// version or a key from the request. The message must not contain a name that only the dictionary
/// or another version has.
///
/// # Errors
///
/// Returns the first case that fails.
pub fn errors_use_own_names(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let names = Names::new(served.version, versions);
        let case = Case::new(CHECK, served, sample);
        for (case, trainee) in case.each(&sample.stored) {
            Attempt {
                case,
                names: &names,
                trainee,
            }
            .check_all()?;
        }
    }
    Ok(())
}

/// One record, the subject of mutated requests.
struct Attempt<'a> {
    case: Case<'a>,
    names: &'a Names,
    trainee: &'a Trainee,
}

/// The result of a request: its warnings or its problems.
pub(super) type Outcome = Result<Vec<Notice>, Vec<Problem>>;

impl Attempt<'_> {
    fn check_all(&self) -> Result<(), CheckFailure> {
        let rules = &self.case.version().rules;
        let context = self.case.context();
        let now = self.case.sample.now();
        let origin = CreationContext {
            now,
            ukprn: "",
            next_id: &|| None,
        };
        let whole = self.case.request(self.trainee)?;
        for way in self.share() {
            let mut object = whole.clone();
            mutation::mutate::<Trainee>(self.case.served, &mut object, way);
            self.check_request(&object, Reject, |sent| {
                outcome(commands::create(sent, rules, &context, &origin))
            })?;
            self.check_request(&object, Warn, |sent| {
                outcome(commands::update(self.trainee, sent, rules, &context, now))
            })?;
        }
        for checked in for_each_nested!(check_nested(self, &whole, &context, &origin)) {
            checked?;
        }
        self.check_alone(&[Withdrawal::default()], |sent| {
            outcome(commands::transition::<domain::Withdrawal>(
                self.trainee,
                sent,
                rules,
                &context,
                now,
            ))
        })?;
        self.check_alone(&[Deferral::default()], |sent| {
            outcome(commands::transition::<domain::Deferral>(
                self.trainee,
                sent,
                rules,
                &context,
                now,
            ))
        })?;
        self.check_alone(&[Recommendation::default()], |sent| {
            outcome(commands::transition::<domain::Recommendation>(
                self.trainee,
                sent,
                rules,
                &context,
                now,
            ))
        })
    }

    /// Returns the numbers of the mutations to try with this record. All records of the sample
    /// together try every mutation.
    fn share(&self) -> impl Iterator<Item = usize> + use<> {
        let at = self.case.record.unwrap_or_default();
        (at..mutation::count::<Trainee>(self.case.served))
            .step_by(self.case.sample.stored.len().max(1))
    }

    /// Checks a mutated request for each of these records, without a trainee around it.
    fn check_alone<R: ReadableRecord>(
        &self,
        records: &[R],
        decide: impl Fn(ParsedRecord<R>) -> Outcome,
    ) -> Result<(), CheckFailure> {
        for record in records {
            let mut object = self.case.request(record)?;
            self.mutate::<R>(&mut object);
            self.check_request(&object, Reject, &decide)?;
        }
        Ok(())
    }

    /// Applies one mutation to a request. The position of the trainee selects the mutation.
    fn mutate<R: WireRecord>(&self, object: &mut Map<String, Value>) {
        let way = self.case.record.unwrap_or_default() % mutation::count::<R>(self.case.served);
        mutation::mutate::<R>(self.case.served, object, way);
    }

    /// Checks the warnings or problems of the request.
    fn check_request<R: ReadableRecord>(
        &self,
        object: &Map<String, Value>,
        unknown: UnknownNames,
        decide: impl Fn(ParsedRecord<R>) -> Outcome,
    ) -> Result<(), CheckFailure> {
        let sent_strings = SentStrings::from_json(&Value::Object(object.clone()).to_string());
        let messages = MessageCheck {
            case: self.case,
            names: self.names,
            sent_strings: &sent_strings,
        };
        match decide(self.case.read(object, unknown)?) {
            Ok(notices) => notices
                .iter()
                .try_for_each(|notice| messages.check_notice(notice)),
            Err(problems) => problems
                .iter()
                .try_for_each(|problem| messages.check_problem(problem)),
        }
    }
}

/// Checks mutated requests for the nested records of one kind. Then checks a request for a trainee
/// with a mutated record and a duplicate in the list of these records.
fn check_nested<R: NestedCase>(
    attempt: &Attempt<'_>,
    whole: &Map<String, Value>,
    context: &Context<'_>,
    origin: &CreationContext<'_>,
) -> Result<(), CheckFailure> {
    let rules = &attempt.case.version().rules;
    attempt.check_alone(R::records(attempt.trainee), |sent| {
        outcome(commands::add(sent, rules, context, origin))
    })?;
    let Some(list) = Trainee::inputs(attempt.case.version()).name_of(R::LIST) else {
        return Ok(());
    };
    let Some(Value::Array(records)) = whole.get(list) else {
        return Ok(());
    };
    let mut mutated = records.clone();
    if let Some(Value::Object(record)) = records.first() {
        let mut record = record.clone();
        attempt.mutate::<R>(&mut record);
        mutated.push(Value::Object(record));
        mutated.extend(records.first().cloned());
    }
    let mut object = whole.clone();
    object.insert(list.to_owned(), Value::Array(mutated));
    attempt.check_request(&object, Warn, |sent| {
        outcome(commands::create(sent, rules, context, origin))
    })
}

pub(super) fn outcome<R>(decided: Result<Decision<R>, Vec<Problem>>) -> Outcome {
    decided.map(|decision| decision.notices)
}

#[cfg(test)]
mod tests {
    use domain::ProblemKind;
    use domain::rules::{Rule, Run, found};

    use domain::TraineeField;

    use super::*;
    use crate::sample_version::{check_version, with_rules};

    #[test]
    fn message_with_foreign_name_fails_the_check() {
        const WORDY: Rule<Trainee> = Rule {
            name: "wordy",
            description: "compares with a field that the version does not have",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Check(|_, _| {
                found(
                    TraineeField::last_name,
                    ProblemKind::SameAs {
                        field: TraineeField::previous_last_name.into(),
                    },
                )
            }),
        };
        let failure = check_version(errors_use_own_names, with_rules(&[WORDY])).unwrap_err();
        assert_eq!(
            (failure.check, failure.field.as_str()),
            ("errors_use_own_names", "previous_last_name")
        );
    }
}
