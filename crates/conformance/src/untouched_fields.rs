//! Checks that an update changes only fields that its version can set.

use adapter_kit::names::path_in_message;
use adapter_kit::problems::message;
use adapter_kit::read::UnknownNames;
use adapter_kit::versions::Versions;
use adapter_kit::view::View;
use adapter_kit::wire::WireRecord;
use domain::problem::{Notice, Problem};
use domain::rules::Stage;
use domain::{
    FieldSet, Lists, Record, RecordField as _, Stored as _, Trainee, TraineeField, commands,
    for_each_nested,
};
use serde_json::{Map, Value as Json};

use crate::case::{Case, CheckFailure, NestedCase};
use crate::paths;
use crate::sample::Sample;

const CHECK: &str = "updates_touch_only_what_was_sent";

/// Number of updates to try on each record.
const UPDATES: usize = 6;
/// Maximum number of fields in one update.
const FIELDS: usize = 3;

/// Checks that an update changes only fields that the version can set and fields that an adjustment
/// of the version declares. Checks also that a client can send back every record as it was read:
/// the request is accepted and changes nothing.
///
/// # Errors
///
/// Returns the first case that fails.
pub fn updates_touch_only_what_was_sent(
    versions: &Versions,
    sample: &Sample,
) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let case = Case::new(CHECK, served, sample);
        let seen = changeable(case);
        let random = sample.random();
        for (case, trainee) in case.each(&sample.stored) {
            check_sent_back(case, trainee)?;
            let other = random.pick(&sample.stored).unwrap_or(trainee);
            let others = case.request(other)?;
            for _ in 0..UPDATES {
                let inputs = Trainee::inputs(case.version()).entries;
                let chosen = (0..=random.below(FIELDS)).filter_map(|_| random.pick(inputs));
                let mut body = Map::new();
                for input in chosen {
                    paths::put(
                        &mut body,
                        input.name,
                        paths::get(&others, input.name).cloned().unwrap_or_default(),
                    );
                }
                check_update(case, trainee, &body, &seen)?;
            }
        }
    }
    Ok(())
}

/// Returns the fields that an update through the version may change: its inputs, the fields of its
/// adjustments, and the time of the last change.
pub(super) fn changeable(case: Case<'_>) -> FieldSet<TraineeField> {
    let sent = Trainee::inputs(case.version())
        .entries
        .iter()
        .map(|input| input.field);
    let adjustments = case
        .version()
        .rules
        .trainee
        .iter()
        .filter(|rule| rule.stage() == Stage::Adjust);
    let adjusted = adjustments.flat_map(|rule| rule.reads).copied();
    sent.chain(adjusted)
        .chain([TraineeField::updated_at])
        .collect()
}

/// Checks that an accepted update changes only fields in `seen`.
fn check_update(
    case: Case<'_>,
    trainee: &Trainee,
    body: &Map<String, Json>,
    seen: &FieldSet<TraineeField>,
) -> Result<(), CheckFailure> {
    let sent = case.read_changes(body, UnknownNames::Reject)?;
    let rules = &case.version().rules;
    let context = case.context();
    // A refused update changes nothing.
    let Ok(decision) = commands::update(trainee, sent, rules, &context, case.sample.now()) else {
        return Ok(());
    };
    only_seen(case, trainee, &decision.record, seen, || {
        Json::Object(body.clone()).to_string()
    })
}

/// Checks that two records differ only in the fields in `seen`. `body` returns the request, for the
/// message of a failure.
pub(super) fn only_seen(
    case: Case<'_>,
    before: &Trainee,
    after: &Trainee,
    seen: &FieldSet<TraineeField>,
    body: impl Fn() -> String,
) -> Result<(), CheckFailure> {
    let changed = |field: &&TraineeField| after.stored(**field) != before.stored(**field);
    match TraineeField::ALL
        .iter()
        .filter(|field| !seen.contains(**field))
        .find(changed)
    {
        Some(field) => {
            let was = before.stored(*field);
            let is = after.stored(*field);
            let body = body();
            case.fail(
                field.info().name,
                format!("was {was:?} and is {is:?} after an update with {body}"),
            )
        }
        None => Ok(()),
    }
}

/// Checks that sending back the trainee and each of its nested records changes nothing.
pub(super) fn check_sent_back(case: Case<'_>, trainee: &Trainee) -> Result<(), CheckFailure> {
    let version = case.version();
    let lists = Lists::embedded();
    let now = case.sample.now();
    let rules = &version.rules;
    let context = case.context();
    let sent = case.read_changes(
        &View::trainee(version, trainee, lists),
        UnknownNames::Reject,
    )?;
    let decision = commands::update(trainee, sent, rules, &context, now);
    unchanged(
        case,
        trainee,
        decision.map(|decision| (decision.record, decision.notices)),
    )?;
    for_each_nested!(check_nested_sent_back(case, trainee))
        .into_iter()
        .collect()
}

/// Checks that sending back each nested record of one kind changes nothing.
fn check_nested_sent_back<R: NestedCase>(
    case: Case<'_>,
    trainee: &Trainee,
) -> Result<(), CheckFailure> {
    let version = case.version();
    let context = case.context();
    let now = case.sample.now();
    for record in R::records(trainee) {
        let sent = case.read_changes(
            &View::new(version, record, context.lists),
            UnknownNames::Reject,
        )?;
        let decision = commands::update(record, sent, &version.rules, &context, now);
        unchanged(
            case,
            record,
            decision.map(|decision| (decision.record, decision.notices)),
        )?;
    }
    Ok(())
}

/// Checks that a request is accepted without notices and changes nothing.
pub(super) fn unchanged<R: Record>(
    case: Case<'_>,
    record: &R,
    decided: Result<(R, Vec<Notice>), Vec<Problem>>,
) -> Result<(), CheckFailure> {
    let version = case.version();
    match decided {
        Err(problems) => {
            let problem = problems.first();
            let at = problem
                .map(|problem| path_in_message(version, &problem.at))
                .unwrap_or_default();
            let why = problem
                .map(|problem| message(version, Lists::embedded(), problem))
                .unwrap_or_default();
            case.fail(at, format!("is refused when it is sent back: {why}"))
        }
        Ok((_, notices)) if !notices.is_empty() => {
            let at = notices
                .first()
                .map(|notice| path_in_message(version, &notice.at))
                .unwrap_or_default();
            case.fail(at, "has a notice when it is sent back")
        }
        Ok((after, _)) => match R::Field::ALL
            .iter()
            .find(|field| after.stored(**field) != record.stored(**field))
        {
            Some(field) => {
                let was = record.stored(*field);
                let is = after.stored(*field);
                case.fail(
                    field.info().name,
                    format!("was {was:?} and is {is:?} after it was sent back"),
                )
            }
            None if after != *record => {
                case.fail("nested records", "differ after it was sent back")
            }
            None => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {

    use domain::rules::{Rule, Run};

    use super::*;
    use crate::sample_version::{check_version, with_rules};

    #[test]
    fn adjustment_of_invisible_field_fails_the_check() {
        const FORGETFUL: Rule<Trainee> = Rule {
            name: "forgetful",
            description: "removes the nationality",
            section: "",
            reads: &[TraineeField::last_name],
            run: Run::Adjust(|candidate, _| candidate.record.nationality = None),
        };
        let failure =
            check_version(updates_touch_only_what_was_sent, with_rules(&[FORGETFUL])).unwrap_err();
        assert_eq!(
            (failure.check, failure.field.as_str()),
            ("updates_touch_only_what_was_sent", "nationality")
        );
    }
}
