//! What can be said of an update without the stored record.

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

/// The code of what depends on the stored record.
const MAY_BE_REFUSED: &str = "may_be_refused";

/// The result.
pub(super) struct PartialEvaluation {
    /// Problems of the fields in the body, whatever the rest of the record is.
    pub(super) problems: Vec<Problem>,
    /// Warnings about the body.
    pub(super) notices: Vec<Notice>,
    /// What depends on fields that are not in the body.
    pub(super) findings: Vec<Finding>,
}

/// Runs the rules of a version on the fields in the body. A rule that also reads others says what
/// may be refused, and only of a field in the body. A rule that the version of the body does not
/// have may refuse the update also where the fields in the body alone are no problem.
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
    // Null changes a field that has a value, as a stored one does.
    fields
        .iter()
        .for_each(|field| candidate.mark_changed(field));
    let is_decidable = |rule: &Rule<R>| match rule.required_field() {
        _ if rule.stage() == Stage::Adjust => true,
        // A required field depends on nothing else.
        Some(field) => fields.contains(field),
        None => rule.reads.iter().all(|field| fields.contains(*field)),
    };
    let (decidable, others): (Vec<Rule<R>>, Vec<Rule<R>>) =
        R::rules(version).iter().copied().partition(is_decidable);
    run(&mut candidate, &decidable, context);
    let is_in_body = |problem: &&Problem| match &problem.at {
        Path::Field(field) => R::field_of(*field).is_some_and(|field| fields.contains(field)),
        Path::Data
        | Path::List(_)
        | Path::Nested { .. }
        | Path::Position { .. }
        | Path::Key(_)
        | Path::NestedKey { .. } => true,
    };
    let mut findings = Vec::new();
    for rule in others
        .iter()
        .filter(|rule| candidate.changes_any(rule.reads))
    {
        let mut tried = candidate.clone();
        run(&mut tried, std::slice::from_ref(rule), context);
        let absent = rule.reads.iter().filter(|field| !fields.contains(**field));
        let absent = absent
            .map(|field| name(version, (*field).into()))
            .collect::<Vec<_>>()
            .join(", ");
        let before = findings.len();
        for problem in tried
            .problems()
            .iter()
            .skip(candidate.problems().len())
            .filter(is_in_body)
        {
            let (at, why) = (
                path_in_message(version, &problem.at),
                message(version, context.lists, problem),
            );
            let message =
                format!("{at} {why}, unless the stored record says otherwise in {absent}");
            findings.push(Finding::new(
                path(version, &problem.at),
                MAY_BE_REFUSED,
                message,
            ));
        }
        if findings.len() == before
            && candidate.is_valid(rule.needs())
            && !includes(R::rules(from), rule)
            && let Some(field) = rule.reads.iter().find(|field| fields.contains(**field))
        {
            let at = name(version, (*field).into());
            let message = format!(
                "{at} may be refused by the rule {}, which {} does not have: {}; it depends on the stored record in {absent}",
                rule.name,
                from.label,
                demand(rule, version),
            );
            findings.push(Finding::new(at, MAY_BE_REFUSED, message));
        }
    }
    let problems = candidate
        .problems()
        .iter()
        .filter(is_in_body)
        .cloned()
        .collect();
    PartialEvaluation {
        problems,
        notices,
        findings,
    }
}

/// Whether one of the rules refuses all that this one does: it is the same, or the same without an
/// exception.
fn includes<R: WireRecord>(rules: &[Rule<R>], rule: &Rule<R>) -> bool {
    let is_weakened = |other: &Rule<R>| {
        other.reads.first() == rule.reads.first()
            && only_adds_exception(other.description, rule.description)
    };
    rules
        .iter()
        .any(|other| other.name == rule.name || is_weakened(other))
}

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
