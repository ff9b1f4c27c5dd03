//! What can be said of an update without the record that it changes.

use adapter_kit::names::{field as name, path, place};
use adapter_kit::problems::words;
use adapter_kit::version::ApiVersion;
use domain::problem::{Notice, Problem};
use domain::record::Changes as _;
use domain::rules::{Run, apply as run};
use domain::{Candidate, Context, Field, FieldSet, ParsedRecord, Path, RecordField as _, Rule};

use super::findings::Remark;
use super::judge::Judged;

/// What was found.
pub(super) struct Partial {
    /// Problems of the fields that are there, whatever the rest of the record is.
    pub(super) problems: Vec<Problem>,
    /// What the client would be told.
    pub(super) notices: Vec<Notice>,
    /// What depends on fields that are not there.
    pub(super) remarks: Vec<Remark>,
}

/// Runs the rules on the fields that are there. A rule that reads others besides says what may be, and
/// only of a field that is there.
pub(super) fn judge<R: Judged>(
    sent: ParsedRecord<R>,
    rules: &[Rule<R>],
    version: &ApiVersion,
    context: &Context<'_>,
) -> Partial {
    let mentioned = |field: &R::Field| sent.unread.contains(*field) || sent.changes.requested(*field).is_some();
    let there: FieldSet<R::Field> = R::Field::ALL.iter().copied().filter(mentioned).collect();
    let notices = sent.notices.clone();
    let mut candidate = Candidate::new(R::Owner::default(), Some(&R::Flat::default()), sent, context);
    // Null changes a field that holds something, as a stored one does.
    there.iter().for_each(|field| candidate.mark_changed(field));
    let adjusts = |rule: &Rule<R>| matches!(rule.run, Run::Adjust(_));
    // A demand rests on the one field, whatever else lets it be made.
    let whole = |rule: &Rule<R>| match rule.required_field() {
        Some(field) => there.contains(field),
        None => rule.reads.iter().all(|field| there.contains(*field)),
    };
    let (sure, unsure): (Vec<Rule<R>>, Vec<Rule<R>>) =
        rules.iter().copied().partition(|rule| adjusts(rule) || whole(rule));
    run(&mut candidate, &sure, context);
    let is_there = |problem: &&Problem| match &problem.at {
        Path::Field(field) => own::<R>(*field).is_some_and(|field| there.contains(field)),
        Path::Data
        | Path::List(_)
        | Path::Nested { .. }
        | Path::Position { .. }
        | Path::Key(_)
        | Path::NestedKey { .. } => true,
    };
    let mut remarks = Vec::new();
    for rule in unsure.iter().filter(|rule| candidate.changes_any(rule.reads)) {
        let mut tried = candidate.clone();
        run(&mut tried, std::slice::from_ref(rule), context);
        let absent: Vec<&str> = rule
            .reads
            .iter()
            .filter(|field| !there.contains(**field))
            .map(|field| name(version, (*field).into()))
            .collect();
        for problem in tried.problems().iter().skip(candidate.problems().len()).filter(is_there) {
            let (place, words) = (place(version, &problem.at), words(version, context.lists, problem));
            let message = format!("{place} {words}, unless the stored record says otherwise in {}", absent.join(", "));
            remarks.push(Remark::new(path(version, &problem.at), "may_be_refused", message));
        }
    }
    let problems = candidate.problems().iter().filter(is_there).cloned().collect();
    Partial { problems, notices, remarks }
}

fn own<R: Judged>(field: Field) -> Option<R::Field> {
    R::own(field)
}
