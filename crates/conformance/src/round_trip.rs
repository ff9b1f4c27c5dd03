//! Checks that reading a written record gives the record.

use adapter_kit::names::path_in_message;
use adapter_kit::read::{ReadableRecord, UnknownNames};
use adapter_kit::versions::Versions;
use adapter_kit::wire::{WireNested, WireRecord};
use domain::commands::{CreationContext, Editable};
use domain::records::record::Changes as _;
use domain::records::trainee::Sent;
use domain::rules::{Rule, Stage, apply};
use domain::{
    Candidate, Deferral, Kind, Lists, NestedRecords, ParsedRecord, Recommendation, Record,
    RecordField as _, Trainee, Value, Withdrawal, commands, for_each_nested,
};

use crate::case::{Case, CheckFailure};
use crate::sample::{ADJUSTMENTS, Sample};
use crate::{alternative_spellings, normal_form};

const CHECK: &str = "round_trip_is_lossless";

/// Checks that each record survives the round trip. The record is written as a request in the
/// version's names and read again. The result must request the values of the record. If the version
/// accepts the request, it must create the normal form of the record. Only adjustments specific to
/// the version may change more, limited to the fields that they declare.
///
/// # Errors
///
/// Returns the first case that fails. Fails also if a version accepts none of the records.
pub fn round_trip_is_lossless(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let case = Case::new(CHECK, served, sample);
        let random = sample.random();
        let mut accepted = 0;
        for (case, trainee) in case.each(&sample.stored) {
            let sent = read_back(case, trainee)?;
            requests_trainee(case, &sent, trainee)?;
            accepted += usize::from(creates_normal_form(case, sent, trainee)?);
            check_transitions(case, trainee)?;
        }
        for (case, trainee) in case.each(&sample.untidy) {
            let mut request = case.request(trainee)?;
            alternative_spellings::vary(&mut request, case.version(), &random);
            // In strict mode a date with a time of day is rejected.
            let sent = case.read(&request, UnknownNames::Warn)?;
            if let Some(notice) = sent.notices.iter().find(|notice| notice.concerns_name()) {
                return case.fail(
                    Trainee::NAME,
                    format!("is written with an unknown name: {notice:?}"),
                );
            }
            requests_trainee(case, &sent, &normal_form::as_read(trainee))?;
            accepted += usize::from(creates_normal_form(case, sent, trainee)?);
        }
        if accepted == 0 {
            return case.fail(Trainee::NAME, "is never accepted");
        }
    }
    Ok(())
}

/// Writes a request for the record and reads it again.
pub(super) fn read_back<R: ReadableRecord>(
    case: Case<'_>,
    record: &R,
) -> Result<ParsedRecord<R>, CheckFailure> {
    case.read(&case.request(record)?, UnknownNames::Reject)
}

/// Checks that the request has the values of the trainee and of its nested records.
pub(super) fn requests_trainee(
    case: Case<'_>,
    sent: &ParsedRecord<Trainee>,
    trainee: &Trainee,
) -> Result<(), CheckFailure> {
    requests_record(case, sent, trainee)?;
    for_each_nested!(requests_nested(case, &sent.nested, trainee))
        .into_iter()
        .collect()
}

/// Checks that the request has the values of the trainee's nested records of one kind.
fn requests_nested<R: WireNested>(
    case: Case<'_>,
    sent: &NestedRecords<Sent>,
    trainee: &Trainee,
) -> Result<(), CheckFailure> {
    let Some(list) = Trainee::inputs(case.version()).name_of(R::LIST) else {
        return Ok(());
    };
    let sent = R::in_nested(sent);
    let records = R::records(trainee);
    if sent.len() != records.len() {
        return case.fail(
            list,
            format!("has {} records instead of {}", sent.len(), records.len()),
        );
    }
    sent.iter()
        .zip(records)
        .try_for_each(|(sent, record)| requests_record(case, sent, record))
}

/// Checks that the request has the values of the record in the fields that the version can set,
/// and no other values.
pub(super) fn requests_record<R: WireRecord>(
    case: Case<'_>,
    sent: &ParsedRecord<R>,
    record: &R,
) -> Result<(), CheckFailure> {
    if let Some(problem) = sent.problems.first() {
        return case.fail(
            path_in_message(case.version(), &problem.at),
            format!("is not read: {:?}", problem.kind),
        );
    }
    let inputs = R::inputs(case.version());
    for field in R::Field::ALL {
        if field.info().kind == Kind::Records {
            continue;
        }
        let name = inputs.name_of(*field);
        let stored = record.value(*field, Lists::embedded());
        let expected = name
            .is_some()
            .then_some(stored)
            .filter(|value| !value.is_absent());
        // A null that overrides a default is not a value.
        let has_default = inputs
            .find_by_field(*field)
            .is_some_and(|input| input.default.is_some());
        let is_value = |value: &Value<'_>| {
            if *value == Value::Null {
                !has_default
            } else {
                !value.is_absent()
            }
        };
        let requested = sent.changes.requested(*field).filter(is_value);
        if requested != expected {
            let name = name.unwrap_or(field.info().name);
            return case.fail(
                name,
                format!("is written as {expected:?} and read as {requested:?}"),
            );
        }
    }
    Ok(())
}

/// Returns whether the version accepts the request. Fails if the created record is not the normal
/// form of the trainee.
fn creates_normal_form(
    case: Case<'_>,
    sent: ParsedRecord<Trainee>,
    trainee: &Trainee,
) -> Result<bool, CheckFailure> {
    let version = case.version();
    let context = case.context();
    let origin = CreationContext {
        now: case.sample.now(),
        ukprn: "",
        next_id: &|| None,
    };
    let Ok(decision) = commands::create(sent, &version.rules, &context, &origin) else {
        return Ok(false);
    };
    let expected = normal_form::as_stored(trainee, &case.sample.organisations, context.lists);
    let record = &decision.record;
    agrees(
        case,
        record,
        &expected,
        version.rules.trainee,
        ADJUSTMENTS.trainee,
    )?;
    for agreement in for_each_nested!(nested_agree(case, record, &expected)) {
        agreement?;
    }
    Ok(true)
}

/// Checks the nested records of a kind against the expected ones.
fn nested_agree<R: WireNested + Editable>(
    case: Case<'_>,
    record: &Trainee,
    expected: &Trainee,
) -> Result<(), CheckFailure> {
    let version = case.version();
    let stored = R::records(record);
    let sent = R::records(expected);
    if let Some(name) = Trainee::inputs(version).name_of(R::LIST)
        && stored.len() != sent.len()
    {
        return case.fail(
            name,
            format!("becomes {} records instead of {}", stored.len(), sent.len()),
        );
    }
    let rules = <R as Editable>::rules(&version.rules);
    let common = <R as Editable>::rules(&ADJUSTMENTS);
    stored
        .iter()
        .zip(sent)
        .try_for_each(|(record, expected)| agrees(case, record, expected, rules, common))
}

/// Checks the fields that the version can set against the expected record. `rules` are the rules of
/// the version, and `common` are the adjustments that all versions share. The version's other
/// adjustments are applied to the expected record first, for the fields that they read.
fn agrees<R: WireRecord>(
    case: Case<'_>,
    record: &R,
    expected: &R,
    rules: &[Rule<R>],
    common: &[Rule<R>],
) -> Result<(), CheckFailure> {
    let own: Vec<Rule<R>> = rules
        .iter()
        .filter(|rule| {
            rule.stage() == Stage::Adjust && common.iter().all(|known| known.name != rule.name)
        })
        .copied()
        .collect();
    let context = case.context();
    let mut adjusted = Candidate::new(R::Owner::default(), None, ParsedRecord::default(), &context);
    adjusted.record = expected.clone().split().0;
    apply(&mut adjusted, &own, &context);
    for input in R::inputs(case.version()).entries {
        let own_may_change = own.iter().any(|rule| rule.reads.contains(&input.field));
        let expected: &dyn domain::Stored<R> = if own_may_change {
            &adjusted.record
        } else {
            expected
        };
        let is = record.value(input.field, context.lists);
        let should_be = R::shown(expected, input.field, context.lists);
        if is != should_be && input.field.info().kind != Kind::Records {
            return case.fail(
                input.name,
                format!("becomes {is:?} instead of {should_be:?}"),
            );
        }
    }
    Ok(())
}

/// Checks the requests for the withdrawal, the deferral and the recommendation of the trainee.
fn check_transitions(case: Case<'_>, trainee: &Trainee) -> Result<(), CheckFailure> {
    if let Some(withdrawal) = Withdrawal::from_trainee(trainee) {
        requests_record(case, &read_back(case, &withdrawal)?, &withdrawal)?;
    }
    if let Some(deferral) = Deferral::from_trainee(trainee) {
        requests_record(case, &read_back(case, &deferral)?, &deferral)?;
    }
    if let Some(recommendation) = Recommendation::from_trainee(trainee) {
        requests_record(case, &read_back(case, &recommendation)?, &recommendation)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use adapter_kit::inputs;
    use adapter_kit::shape::{InputName, Inputs};
    use adapter_kit::version::{AllInputs, ApiVersion};

    use domain::TraineeField;

    use super::*;
    use crate::sample_version::{SAMPLE_VERSION, check_version};

    #[test]
    fn name_read_as_another_field_fails_the_check() {
        const ONE_WAY: Inputs<Trainee> =
            inputs! { Trainee, TraineeField: last_name, previous_last_name };
        const OTHER_WAY: &[InputName<TraineeField>] = &[
            InputName::new("last_name", TraineeField::previous_last_name),
            InputName::new("previous_last_name", TraineeField::last_name),
        ];
        const CROSSED: Inputs<Trainee> = Inputs {
            by_name: OTHER_WAY,
            ..ONE_WAY
        };
        let version = ApiVersion {
            inputs: AllInputs {
                trainee: CROSSED,
                ..SAMPLE_VERSION.inputs
            },
            ..SAMPLE_VERSION
        };
        let failure = check_version(round_trip_is_lossless, version).unwrap_err();
        assert_eq!(
            (failure.check, failure.field.as_str()),
            ("round_trip_is_lossless", "last_name")
        );
    }
}
