//! An accepted update leaves a valid record.
//!
//! A rule that does not declare a field that it depends on is not run when that field changes, and
//! lets a record through that it would refuse as a whole. So does a rule that binds in one version
//! and takes for granted what another version does not demand.

use adapter_kit::names::path_in_message;
use adapter_kit::problems::message;
use adapter_kit::read::UnknownNames;
use adapter_kit::shape::InputName;
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Versions;
use adapter_kit::view::View;
use adapter_kit::wire::WireRecord;
use domain::commands::{CreationContext, Editable};
use domain::invariants::violations;
use domain::rules::{Rule, Stage};
use domain::{
    Degree, Field, Kind, Path, Problem, Record, RecordField as _, Rules, Trainee, TraineeField,
    commands, for_each_nested,
};
use fixtures::random::Random;
use serde_json::{Map, Value as Json};

use crate::case::{Case, CheckFailure, NestedCase};
use crate::paths;
use crate::sample::Sample;
use crate::untouched_fields::unchanged;

const CHECK: &str = "updates_keep_records_valid";

/// Updates that are tried on each record.
const UPDATES: usize = 6;
/// The most fields of one of these updates.
const FIELDS: usize = 2;

/// An update that a version accepts leaves a record in which storage finds no new fault. A record
/// that some version accepts as a new one is accepted by some version afterwards too, as far as the
/// version that updates it checks the same fields; where that is the version itself, it stores the
/// new one as it is. A degree that is between the kinds can be sent back, and is whole after any
/// change.
///
/// # Errors
///
/// The first case that fails.
pub fn updates_keep_records_valid(
    versions: &Versions,
    sample: &Sample,
) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let case = Case::new(CHECK, served, sample);
        let random = sample.random();
        for (case, before) in case.each(&sample.stored) {
            let other = random.pick(&sample.stored).unwrap_or(before);
            for (after, body) in updated(case, &random, before, other)? {
                keeps_invariants(case, before, &after, &body)?;
                valid(case, versions, before, &after, &body)?;
            }
            for degree in before.degrees.iter().flat_map(between_kinds) {
                completed(case, &random, &degree, other)?;
            }
        }
    }
    Ok(())
}

/// A record after an update, with the body of the update.
type Updated = (Trainee, Json);

/// The record after updates of its fields and of those of its nested records, with values of
/// another record.
fn updated(
    case: Case<'_>,
    random: &Random,
    before: &Trainee,
    other: &Trainee,
) -> Result<Vec<Updated>, CheckFailure> {
    let (rules, context, now) = (&case.version().rules, case.context(), case.sample.now());
    let mut updated = Vec::new();
    for _ in 0..UPDATES {
        let body = body(case, random, rules.trainee, other)?;
        let sent = case.read_changes(&body, UnknownNames::Reject)?;
        if let Ok(decision) = commands::update(before, sent, rules, &context, now) {
            updated.push((decision.record, body));
        }
    }
    for nested in for_each_nested!(nested_updated(case, random, before, other)) {
        updated.extend(nested?);
    }
    Ok(updated)
}

/// The record after updates of its nested records of a kind.
fn nested_updated<R: NestedCase>(
    case: Case<'_>,
    random: &Random,
    before: &Trainee,
    other: &Trainee,
) -> Result<Vec<Updated>, CheckFailure> {
    let (rules, context, now) = (&case.version().rules, case.context(), case.sample.now());
    let mut updated = Vec::new();
    for (at, record) in R::records(before).iter().enumerate() {
        let Some(other) = random.pick(R::records(other)) else {
            continue;
        };
        let body = body(case, random, <R as Editable>::rules(rules), other)?;
        let sent = case.read_changes(&body, UnknownNames::Reject)?;
        if let Ok(decision) = commands::update(record, sent, rules, &context, now) {
            let mut after = before.clone();
            R::records_mut(&mut after).splice(at..=at, [decision.record]);
            updated.push((after, body));
        }
    }
    Ok(updated)
}

/// An update of a few fields that rules read, with the values of a record: null where it has none.
fn body<R: WireRecord>(
    case: Case<'_>,
    random: &Random,
    rules: &[Rule<R>],
    from: &R,
) -> Result<Json, CheckFailure> {
    let inputs = R::inputs(case.version());
    let values = case.request(from)?;
    let chosen = (0..=random.below(FIELDS)).filter_map(|_| random.pick(random.pick(rules)?.reads));
    let names = chosen.filter_map(|field| inputs.name_of(*field));
    let mut body = Map::new();
    for name in names {
        paths::put(
            &mut body,
            name,
            paths::get(&values, name).cloned().unwrap_or_default(),
        );
    }
    if let (true, Some(input)) = (body.is_empty(), inputs.entries.first()) {
        // A body must ask for something.
        paths::put(&mut body, input.name, Json::Null);
    }
    Ok(Json::Object(body))
}

/// Storage finds no fault that it did not find before.
fn keeps_invariants(
    case: Case<'_>,
    before: &Trainee,
    after: &Trainee,
    body: &Json,
) -> Result<(), CheckFailure> {
    let lists = case.context().lists;
    let known = violations(before, lists);
    match violations(after, lists)
        .into_iter()
        .find(|fault| !known.contains(fault))
    {
        Some(fault) => case.fail(
            Trainee::NAME,
            format!("has a fault after an update with {body}: {fault}"),
        ),
        None => Ok(()),
    }
}

/// A record that some version accepts as a new one is accepted by some version after the update
/// too.
fn valid(
    case: Case<'_>,
    versions: &Versions,
    before: &Trainee,
    after: &Trainee,
    body: &Json,
) -> Result<(), CheckFailure> {
    let creating = |record: &Trainee| -> Result<Vec<_>, CheckFailure> {
        versions
            .iter()
            .map(|served| created(Case { served, ..case }, record))
            .collect()
    };
    let anew = creating(before)?;
    if anew.iter().all(Result::is_err) {
        return Ok(());
    }
    let (mut accepted, mut refused) = (false, None);
    for ((served, anew), created) in versions.iter().zip(anew).zip(creating(after)?) {
        let version = served.version;
        match created {
            // What another version puts in order, and what was not in order before, need not be in
            // order here.
            Ok(created) => {
                let was_in_order =
                    anew.is_ok_and(|anew| difference(case, version, before, &anew).is_none());
                if version.label == case.version().label && was_in_order {
                    in_order(case, version, after, &created, body)?;
                }
                accepted = true;
            }
            Err(problems) => match problems
                .into_iter()
                .find(|problem| can_be_found(case, problem))
            {
                Some(problem) => refused = Some((version, problem)),
                None => accepted = true,
            },
        }
    }
    match refused.filter(|_| !accepted) {
        Some((version, problem)) => {
            let why = message(version, case.context().lists, &problem);
            case.fail(
                path_in_message(version, &problem.at),
                format!("{why}, but an update with {body} is accepted"),
            )
        }
        None => Ok(()),
    }
}

/// What becomes of the record where it is sent as a new one.
fn created(
    case: Case<'_>,
    record: &Trainee,
) -> Result<Result<Trainee, Vec<Problem>>, CheckFailure> {
    let sent = case.read(&case.request(record)?, UnknownNames::Reject)?;
    let origin = CreationContext {
        now: case.sample.now(),
        ukprn: "",
        next_id: &|| None,
    };
    let decision = commands::create(sent, &case.version().rules, &case.context(), &origin);
    Ok(decision.map(|decision| decision.record))
}

/// The version puts nothing in order in a new record that its update left out of order.
fn in_order(
    case: Case<'_>,
    version: &ApiVersion,
    after: &Trainee,
    anew: &Trainee,
    body: &Json,
) -> Result<(), CheckFailure> {
    match difference(case, version, after, anew) {
        Some(input) => {
            let lists = case.context().lists;
            let (is, should_be) = (
                after.value(input.field, lists),
                anew.value(input.field, lists),
            );
            case.fail(
                input.name,
                format!("is {is:?} and not {should_be:?} after an update with {body}"),
            )
        }
        None => Ok(()),
    }
}

/// The first input of the version in which two records differ.
fn difference(
    case: Case<'_>,
    version: &ApiVersion,
    one: &Trainee,
    other: &Trainee,
) -> Option<&'static InputName<TraineeField>> {
    let lists = case.context().lists;
    let single = |input: &&InputName<TraineeField>| input.field.info().kind != Kind::Records;
    let mut inputs = Trainee::inputs(version).entries.iter().filter(single);
    inputs.find(|input| one.value(input.field, lists) != other.value(input.field, lists))
}

/// Whether a rule of the version can find a problem there. What it does not check at all may become
/// wrong for another version.
fn can_be_found(case: Case<'_>, problem: &Problem) -> bool {
    let (Path::Field(field) | Path::Nested { field, .. }) = &problem.at else {
        return false;
    };
    let rules = &case.version().rules;
    field
        .to_record_field()
        .is_some_and(|field| reads(rules.trainee, field))
        || for_each_nested!(nested_reads(rules, *field)).contains(&true)
}

fn nested_reads<R: NestedCase>(rules: &Rules, field: Field) -> bool {
    field
        .to_record_field()
        .is_some_and(|field| reads(<R as Editable>::rules(rules), field))
}

fn reads<R: Record>(rules: &[Rule<R>], field: R::Field) -> bool {
    rules
        .iter()
        .any(|rule| rule.stage() == Stage::Check && rule.reads.contains(&field))
}

/// The degree with something missing of its kind, and with something of the other kind.
fn between_kinds(degree: &Degree) -> [Degree; 3] {
    let kind = degree
        .uk_degree
        .clone()
        .or_else(|| degree.non_uk_degree.clone());
    [
        Degree {
            country: None,
            uk_degree: None,
            institution: None,
            non_uk_degree: kind.clone(),
            ..degree.clone()
        },
        Degree {
            uk_degree: None,
            non_uk_degree: None,
            ..degree.clone()
        },
        Degree {
            uk_degree: kind.clone(),
            non_uk_degree: kind,
            ..degree.clone()
        },
    ]
}

/// A degree between the kinds can be sent back as it is, and is whole after any change.
fn completed(
    case: Case<'_>,
    random: &Random,
    degree: &Degree,
    other: &Trainee,
) -> Result<(), CheckFailure> {
    let (version, context, now) = (case.version(), case.context(), case.sample.now());
    let sent = case.read_changes(
        &View::new(version, degree, context.lists),
        UnknownNames::Reject,
    )?;
    let decision = commands::update(degree, sent, &version.rules, &context, now);
    unchanged(
        case,
        degree,
        decision.map(|decision| (decision.record, decision.notices)),
    )?;
    let Some(other) = random.pick(&other.degrees) else {
        return Ok(());
    };
    let body = body(case, random, version.rules.degree, other)?;
    let sent = case.read_changes(&body, UnknownNames::Reject)?;
    match commands::update(degree, sent, &version.rules, &context, now) {
        Ok(decision) if decision.changed && !decision.record.is_whole(context.lists) => {
            let kind = decision.record.kind(context.lists);
            case.fail(
                Degree::NAME,
                format!("is not made whole as {kind:?} by an update with {body}"),
            )
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {

    use domain::rules::{Rules, dates, degree};

    use super::*;
    use crate::sample_version::{SAMPLE_VERSION, check_version, with_rules};

    #[test]
    fn a_rule_that_does_not_declare_a_field_that_it_depends_on_is_found() {
        const UNDECLARED: Rule<Trainee> = Rule {
            reads: &[TraineeField::itt_end_date],
            ..dates::END_AFTER_START
        };
        let failure = check_version(
            updates_keep_records_valid,
            with_rules(&[dates::START_AS_PLANNED, UNDECLARED]),
        )
        .unwrap_err();
        assert!(failure.fault.contains("itt_start_date"), "{failure}");
    }

    #[test]
    fn a_version_that_lets_a_foreign_degree_lose_its_country_is_found() {
        let rules: &[Rule<Degree>] = &[degree::KIND, degree::UK_DEGREE, degree::NON_UK_DEGREE];
        let failure = check_version(
            updates_keep_records_valid,
            ApiVersion {
                rules: Rules {
                    degree: rules,
                    ..SAMPLE_VERSION.rules
                },
                ..SAMPLE_VERSION
            },
        );
        let fault = failure.unwrap_err().fault;
        assert!(
            fault.contains("country is missing") || fault.contains("is not made whole"),
            "{fault}"
        );
    }
}
