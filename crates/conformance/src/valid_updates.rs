//! Checks that an accepted update leaves a valid record.
//!
//! The check finds rules that do not declare all fields that they depend on. Such a rule does not
//! run when an undeclared field changes, and so accepts a record that it would refuse when created.
//! The check also finds rules that rely on a requirement of another version.

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

/// Number of updates to try on each record.
const UPDATES: usize = 6;
/// Maximum number of fields in one update.
const FIELDS: usize = 2;

/// Checks every accepted update:
///
/// - The updated record violates no new invariant.
/// - If some version accepts the record before the update as a new record, some version accepts it
///   after the update. Problems in fields that the updating version does not check are ignored.
/// - If the updating version accepts the updated record as a new record, it stores it unchanged.
/// - A degree with missing or contradictory fields of its kind can be sent back, and any change
///   completes it.
///
/// # Errors
///
/// Returns the first case that fails.
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
                check_invariants(case, before, &after, &body)?;
                check_valid(case, versions, before, &after, &body)?;
            }
            for degree in before.degrees.iter().flat_map(between_kinds) {
                check_completed(case, &random, &degree, other)?;
            }
        }
    }
    Ok(())
}

/// A record after an update, with the body of the update.
type Updated = (Trainee, Json);

/// Returns the record after each of several updates with values of another record: its
/// fields, and its nested records.
fn updated(
    case: Case<'_>,
    random: &Random,
    before: &Trainee,
    other: &Trainee,
) -> Result<Vec<Updated>, CheckFailure> {
    let rules = &case.version().rules;
    let context = case.context();
    let now = case.sample.now();
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

/// Returns the record after updates of its nested records of a kind.
fn nested_updated<R: NestedCase>(
    case: Case<'_>,
    random: &Random,
    before: &Trainee,
    other: &Trainee,
) -> Result<Vec<Updated>, CheckFailure> {
    let rules = &case.version().rules;
    let context = case.context();
    let now = case.sample.now();
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

/// Returns an update of a few fields that rules read, with the values of a record. Fields without a
/// value are null.
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
        // A body must not be empty.
        paths::put(&mut body, input.name, Json::Null);
    }
    Ok(Json::Object(body))
}

/// Checks that the update violates no new invariant.
fn check_invariants(
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

/// Checks that some version accepts the updated record as a new one, if some version accepts the
/// record before the update.
fn check_valid(
    case: Case<'_>,
    versions: &Versions,
    before: &Trainee,
    after: &Trainee,
    body: &Json,
) -> Result<(), CheckFailure> {
    let create_in_each = |record: &Trainee| -> Result<Vec<_>, CheckFailure> {
        versions
            .iter()
            .map(|served| create(Case { served, ..case }, record))
            .collect()
    };
    let created_before = create_in_each(before)?;
    if created_before.iter().all(Result::is_err) {
        return Ok(());
    }
    let mut accepted = false;
    let mut refused = None;
    let created_after = create_in_each(after)?;
    for ((served, old), new) in versions.iter().zip(created_before).zip(created_after) {
        let version = served.version;
        match new {
            // A record that creating changes before the update may be changed after it too.
            Ok(created) => {
                let was_normal =
                    old.is_ok_and(|old| difference(case, version, before, &old).is_none());
                if version.label == case.version().label && was_normal {
                    check_normal(case, version, after, &created, body)?;
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

/// Sends the record as a new one. The inner result is the created record or the problems of the
/// request. The outer result fails if the request cannot be written or read.
fn create(case: Case<'_>, record: &Trainee) -> Result<Result<Trainee, Vec<Problem>>, CheckFailure> {
    let sent = case.read(&case.request(record)?, UnknownNames::Reject)?;
    let origin = CreationContext {
        now: case.sample.now(),
        ukprn: "",
        next_id: &|| None,
    };
    let decision = commands::create(sent, &case.version().rules, &case.context(), &origin);
    Ok(decision.map(|decision| decision.record))
}

/// Checks that creating the updated record as a new one changes none of its values.
fn check_normal(
    case: Case<'_>,
    version: &ApiVersion,
    after: &Trainee,
    created: &Trainee,
    body: &Json,
) -> Result<(), CheckFailure> {
    match difference(case, version, after, created) {
        Some(input) => {
            let lists = case.context().lists;
            let is = after.value(input.field, lists);
            let should_be = created.value(input.field, lists);
            case.fail(
                input.name,
                format!("is {is:?} instead of {should_be:?} after an update with {body}"),
            )
        }
        None => Ok(()),
    }
}

/// Returns the first input of the version whose value differs between two records.
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

/// Whether a rule of the updating version can find this problem. Fields that no rule of this
/// version reads may become invalid in another version.
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

/// Whether a check of the nested records of a kind reads the field.
fn nested_reads<R: NestedCase>(rules: &Rules, field: Field) -> bool {
    field
        .to_record_field()
        .is_some_and(|field| reads(<R as Editable>::rules(rules), field))
}

/// Whether a check among the rules reads the field. Adjustments do not count.
fn reads<R: Record>(rules: &[Rule<R>], field: R::Field) -> bool {
    rules
        .iter()
        .any(|rule| rule.stage() == Stage::Check && rule.reads.contains(&field))
}

/// Returns invalid variants of a degree: with missing fields of its kind, and with fields of the
/// other kind.
fn between_kinds(degree: &Degree) -> [Degree; 3] {
    let degree_type = degree
        .uk_degree
        .clone()
        .or_else(|| degree.non_uk_degree.clone());
    [
        Degree {
            country: None,
            uk_degree: None,
            institution: None,
            non_uk_degree: degree_type.clone(),
            ..degree.clone()
        },
        Degree {
            uk_degree: None,
            non_uk_degree: None,
            ..degree.clone()
        },
        Degree {
            uk_degree: degree_type.clone(),
            non_uk_degree: degree_type,
            ..degree.clone()
        },
    ]
}

/// Checks that an invalid degree can be sent back unchanged, and that any change completes it.
fn check_completed(
    case: Case<'_>,
    random: &Random,
    degree: &Degree,
    other: &Trainee,
) -> Result<(), CheckFailure> {
    let version = case.version();
    let context = case.context();
    let now = case.sample.now();
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
                format!("is not complete as {kind:?} after an update with {body}"),
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
    fn rule_with_undeclared_field_fails_the_check() {
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
    fn missing_country_rule_for_foreign_degree_fails_the_check() {
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
            fault.contains("country is missing") || fault.contains("is not complete"),
            "{fault}"
        );
    }
}
