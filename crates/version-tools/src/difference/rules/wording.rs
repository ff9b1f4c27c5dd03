//! Descriptions of changed rules: the change, its effect on a client, and advice.

use adapter_kit::label::Label;
use adapter_kit::version::ApiVersion;
use domain::ended_codes::refused_values;

use super::{RuleChange, RuleChangeKind, RuleStage, RuleSummary};
use crate::demand::{only_adds_exception, with_subject};
use crate::difference::examples::at_path;
use crate::difference::{Change, ChangeDetail, Effect, Example};
use crate::documents::listed;

/// Describes a change.
pub(super) fn describe(change: RuleChange, from: &ApiVersion, to: &ApiVersion) -> Change {
    let (before, after) = (from.label, to.label);
    let (effect, summary, advice) = match &change.kind {
        RuleChangeKind::Added { after: rule } => added(rule, after),
        RuleChangeKind::Dropped { before: rule } => dropped(rule, before, after),
        RuleChangeKind::Replaced {
            before: old,
            after: new,
        } => replaced(old, new, before, after),
    };
    let example = example(&change, from, to);
    let of = change.record;
    Change::new(effect, ChangeDetail::Rule(change), of, summary, advice).with_example(example)
}

/// Returns a value that the rule of the target version refuses and the value to send instead.
fn example(change: &RuleChange, from: &ApiVersion, to: &ApiVersion) -> Option<Example> {
    let (RuleChangeKind::Added { after } | RuleChangeKind::Replaced { after, .. }) = &change.kind
    else {
        return None;
    };
    let (field, [refused, instead]) = refused_values(after.name)?.example?;
    let before = at_path(from.inputs.trainee.name_of(field)?, refused.into());
    let after = at_path(to.inputs.trainee.name_of(field)?, instead.into());
    Some(Example::new(&before, &after))
}

/// Returns the effect of a new rule, a summary and advice.
fn added(rule: &RuleSummary, to: Label) -> (Effect, String, String) {
    let title = title(rule);
    let demand = demand(rule);
    match rule.stage {
        RuleStage::Check => (
            Effect::Refused,
            format!("New rule {title}: {demand}."),
            check(rule),
        ),
        RuleStage::Adjust => (
            Effect::RecordedDifferently,
            format!("New adjustment {title}: {demand}."),
            "Compare the values in the response with the values that you sent.".to_owned(),
        ),
        RuleStage::Gate => (
            Effect::Refused,
            format!("New gate {title}: {to} {}.", rule.description),
            format!(
                "Check `{}` before you request such a change.",
                subject(rule)
            ),
        ),
    }
}

/// Returns the effect of a removed rule, a summary and advice.
fn dropped(rule: &RuleSummary, from: Label, to: Label) -> (Effect, String, String) {
    let title = title(rule);
    let demand = demand(rule);
    match rule.stage {
        RuleStage::Check => (
            Effect::NewlyPossible,
            format!("Removed rule {title}: {demand}."),
            format!("You can send values that break this rule of {from}."),
        ),
        RuleStage::Adjust => (
            Effect::RecordedDifferently,
            format!("Removed adjustment {title}: {demand}."),
            format!("Send the values that you want to store. {to} does not adjust them."),
        ),
        RuleStage::Gate => (
            Effect::NewlyPossible,
            format!("Removed gate {title}: {from} {}.", rule.description),
            format!("You can request such a change in {to}."),
        ),
    }
}

/// Returns the effect of replacing a rule, a summary and advice.
fn replaced(
    before: &RuleSummary,
    after: &RuleSummary,
    from: Label,
    to: Label,
) -> (Effect, String, String) {
    let old = demand(before);
    let new = demand(after);
    let summary = format!("New rule {}: {new}. In {from}: {old}.", title(after));
    if eases(before, after) {
        return (
            Effect::NewlyPossible,
            summary,
            "You can omit values that are no longer required.".to_owned(),
        );
    }
    match (before.stage, after.stage) {
        (RuleStage::Check, RuleStage::Check) => (Effect::Refused, summary, check(after)),
        (RuleStage::Adjust, RuleStage::Check) => (
            Effect::Refused,
            summary,
            format!("{} {to} does not adjust the value.", check(after)),
        ),
        (RuleStage::Check | RuleStage::Adjust, RuleStage::Adjust) => (
            Effect::RecordedDifferently,
            summary,
            "Compare the values in the response with the values that you sent.".to_owned(),
        ),
        (RuleStage::Gate, _) | (_, RuleStage::Gate) => (
            Effect::Refused,
            format!(
                "New gate {}: {to} {}. {from} {}.",
                title(after),
                after.description,
                before.description
            ),
            format!(
                "Check `{}` before you request such a change.",
                subject(after)
            ),
        ),
    }
}

/// Whether the new rule only adds an exception to the old one, so that all requests that were
/// accepted stay accepted.
fn eases(before: &RuleSummary, after: &RuleSummary) -> bool {
    let checks = before.stage == RuleStage::Check && after.stage == RuleStage::Check;
    checks && only_adds_exception(before.description, after.description)
}

/// Returns advice about a check, with the other fields that the rule reads.
fn check(rule: &RuleSummary) -> String {
    let checked = refused_values(rule.name)
        .map_or("Send only values that follow this rule.", |values| {
            values.advice
        });
    match rule.reads.get(1..) {
        Some(others) if !others.is_empty() => format!(
            "{checked} The rule also reads {}.",
            listed(others.iter().copied())
        ),
        Some(_) | None => checked.to_owned(),
    }
}

/// Returns what the rule requires, with the rule's first field as the subject.
fn demand(rule: &RuleSummary) -> String {
    match rule.reads.first() {
        Some(field) => with_subject(&format!("`{field}`"), rule.description),
        None => rule.description.to_owned(),
    }
}

fn title(rule: &RuleSummary) -> String {
    format!("`{}` (section {})", rule.name, rule.section)
}

fn subject(rule: &RuleSummary) -> &'static str {
    rule.reads.first().copied().unwrap_or("state")
}
