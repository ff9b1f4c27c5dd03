//! What can be said of an update without the stored record.

use adapter_kit::names::{field as name, path, path_in_message};
use adapter_kit::problems::message;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireRecord;
use domain::problem::{Notice, Problem};
use domain::record::Changes as _;
use domain::rules::{Stage, apply as run};
use domain::{Candidate, Context, FieldSet, ParsedRecord, Path, RecordField as _, Rule};

use super::findings::Finding;

/// The result.
pub(super) struct PartialEvaluation {
    /// Problems of the fields in the body, whatever the rest of the record is.
    pub(super) problems: Vec<Problem>,
    /// Warnings about the body.
    pub(super) notices: Vec<Notice>,
    /// What depends on fields that are not in the body.
    pub(super) findings: Vec<Finding>,
}

/// Runs the rules on the fields in the body. A rule that also reads others says what may be refused, and only of a field
/// in the body.
pub(super) fn evaluate<R: WireRecord>(
    sent: ParsedRecord<R>,
    rules: &[Rule<R>],
    version: &ApiVersion,
    context: &Context<'_>,
) -> PartialEvaluation {
    let is_sent = |field: &R::Field| sent.unread.contains(*field) || sent.changes.requested(*field).is_some();
    let fields: FieldSet<R::Field> = R::Field::ALL.iter().copied().filter(is_sent).collect();
    let notices = sent.notices.clone();
    let mut candidate = Candidate::new(R::Owner::default(), Some(R::Flat::default()), sent, context);
    // Null changes a field that has a value, as a stored one does.
    fields.iter().for_each(|field| candidate.mark_changed(field));
    let is_decidable = |rule: &Rule<R>| match rule.required_field() {
        _ if rule.stage() == Stage::Adjust => true,
        // A required field depends on nothing else.
        Some(field) => fields.contains(field),
        None => rule.reads.iter().all(|field| fields.contains(*field)),
    };
    let (decidable, others): (Vec<Rule<R>>, Vec<Rule<R>>) = rules.iter().copied().partition(is_decidable);
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
    for rule in others.iter().filter(|rule| candidate.changes_any(rule.reads)) {
        let mut tried = candidate.clone();
        run(&mut tried, std::slice::from_ref(rule), context);
        let absent = rule.reads.iter().filter(|field| !fields.contains(**field));
        let absent: Vec<&str> = absent.map(|field| name(version, (*field).into())).collect();
        for problem in tried.problems().iter().skip(candidate.problems().len()).filter(is_in_body) {
            let (at, why) = (path_in_message(version, &problem.at), message(version, context.lists, problem));
            let message = format!("{at} {why}, unless the stored record says otherwise in {}", absent.join(", "));
            findings.push(Finding::new(path(version, &problem.at), "may_be_refused", message));
        }
    }
    let problems = candidate.problems().iter().filter(is_in_body).cloned().collect();
    PartialEvaluation { problems, notices, findings }
}
