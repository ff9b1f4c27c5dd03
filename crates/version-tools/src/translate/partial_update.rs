//! Evaluates an update without the stored record.

use adapter_kit::names::{field as name, path, path_in_message};
use adapter_kit::problems::message;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireRecord;
use domain::problem::{Notice, Problem};
use domain::records::record::Changes as _;
use domain::rules::{Stage, apply as run};
use domain::{Candidate, Context, FieldSet, ParsedRecord, Path, RecordField as _, Rule};

use super::findings::Finding;
use crate::demand::{only_adds_exception, with_subject};

/// The code of a finding that depends on the stored record.
const MAY_BE_REFUSED: &str = "may_be_refused";

/// The result of an evaluation.
pub(super) struct PartialEvaluation {
    /// Problems that do not depend on the rest of the record.
    pub(super) problems: Vec<Problem>,
    /// Warnings about the body.
    pub(super) notices: Vec<Notice>,
    /// Findings that depend on fields outside the body.
    pub(super) findings: Vec<Finding>,
}

/// Applies the rules of a version to the fields in the body.
///
/// - Rules that read only these fields produce problems.
/// - Rules that also read other fields produce findings about fields in the body.
/// - A rule that the source version does not have also produces a finding if the fields in the body
///   alone are valid.
pub(super) fn evaluate<R: WireRecord>(
    sent: ParsedRecord<R>,
    from: &ApiVersion,
    version: &ApiVersion,
    context: &Context<'_>,
) -> PartialEvaluation {
    let is_sent =
        |field: &R::Field| sent.unread.contains(*field) || sent.changes.requested(*field).is_some();
    let fields: FieldSet<R::Field> = R::Field::ALL.iter().copied().filter(is_sent).collect();
    let notices = sent.notices.clone();
    let mut candidate =
        Candidate::new(R::Owner::default(), Some(R::Flat::default()), sent, context);
    // Every field in the body counts as changed, also by null.
    fields
        .iter()
        .for_each(|field| candidate.mark_changed(field));
    let is_decidable = |rule: &Rule<R>| match rule.required_field() {
        _ if rule.stage() == Stage::Adjust => true,
        // A required field depends on no other field.
        Some(field) => fields.contains(field),
        None => rule.reads.iter().all(|field| fields.contains(*field)),
    };
    let (decidable, others): (Vec<Rule<R>>, Vec<Rule<R>>) =
        R::rules(version).iter().copied().partition(is_decidable);
    run(&mut candidate, &decidable, context);
    let findings = others
        .iter()
        .filter(|rule| candidate.changes_any(rule.reads))
        .flat_map(|rule| undecided_findings(rule, &candidate, &fields, from, version, context))
        .collect();
    let problems = candidate
        .problems()
        .iter()
        .filter(|problem| is_in_body::<R>(problem, &fields))
        .cloned()
        .collect();
    PartialEvaluation {
        problems,
        notices,
        findings,
    }
}

/// Returns the findings of a rule that also reads fields outside the body.
fn undecided_findings<R: WireRecord>(
    rule: &Rule<R>,
    candidate: &Candidate<R>,
    fields: &FieldSet<R::Field>,
    from: &ApiVersion,
    version: &ApiVersion,
    context: &Context<'_>,
) -> Vec<Finding> {
    let mut tried = candidate.clone();
    run(&mut tried, std::slice::from_ref(rule), context);
    let absent = rule.reads.iter().filter(|field| !fields.contains(**field));
    let absent = absent
        .map(|field| name(version, (*field).into()))
        .collect::<Vec<_>>()
        .join(", ");
    let new_problems = tried
        .problems()
        .iter()
        .skip(candidate.problems().len())
        .filter(|problem| is_in_body::<R>(problem, fields));
    let mut findings: Vec<Finding> = new_problems
        .map(|problem| {
            let at = path_in_message(version, &problem.at);
            let why = message(version, context.lists, problem);
            let message = format!("{at} {why}, unless the stored values of {absent} allow it");
            Finding::new(path(version, &problem.at), MAY_BE_REFUSED, message)
        })
        .collect();
    if findings.is_empty()
        && candidate.is_valid(rule.needs())
        && !includes(R::rules(from), rule)
        && let Some(field) = rule.reads.iter().find(|field| fields.contains(**field))
    {
        let at = name(version, (*field).into());
        let message = format!(
            "the rule {}, which {} does not have, may refuse {at}: {}; this also depends on the stored values of {absent}",
            rule.name,
            from.label,
            demand(rule, version),
        );
        findings.push(Finding::new(at, MAY_BE_REFUSED, message));
    }
    findings
}

/// Whether a problem concerns a field in the body, or no single field of the record.
fn is_in_body<R: WireRecord>(problem: &Problem, fields: &FieldSet<R::Field>) -> bool {
    match &problem.at {
        Path::Field(field) => R::field_of(*field).is_some_and(|field| fields.contains(field)),
        Path::Data
        | Path::List(_)
        | Path::Nested { .. }
        | Path::Position { .. }
        | Path::Key(_)
        | Path::NestedKey { .. } => true,
    }
}

/// Whether the rules include this rule, or this rule without an exception.
fn includes<R: WireRecord>(rules: &[Rule<R>], rule: &Rule<R>) -> bool {
    let is_weakened = |other: &Rule<R>| {
        other.reads.first() == rule.reads.first()
            && only_adds_exception(other.description, rule.description)
    };
    rules
        .iter()
        .any(|other| other.name == rule.name || is_weakened(other))
}

/// Returns what a rule requires, with the version's name of the rule's first field as the subject.
fn demand<R: WireRecord>(rule: &Rule<R>, version: &ApiVersion) -> String {
    let subject = rule
        .reads
        .first()
        .map(|field| name(version, (*field).into()));
    subject.map_or_else(
        || rule.description.to_owned(),
        |field| with_subject(field, rule.description),
    )
}
