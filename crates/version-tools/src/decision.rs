//! Decisions of the domain about requests, by type of record.

use adapter_kit::body_kind::Purpose;
use adapter_kit::read::ReadableRecord;
use domain::commands::{CreationContext, Decision, Editable};
use domain::fields::value::Timestamp;
use domain::{
    Context, Deferral, NestedRecord, Notice, ParsedRecord, Problem, Recommendation, Rules, Trainee,
    Withdrawal, commands, nested_kinds,
};

/// The target of a request.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Whether the request creates or changes the record; `None` for a transition.
    pub(crate) purpose: Option<Purpose>,
    /// The trainee before the request, unless the request creates it.
    pub(crate) trainee: Option<&'a Trainee>,
    /// The identifier of the nested record that the request changes.
    pub(crate) nested_id: &'a str,
    /// The time of the request.
    pub(crate) now: Timestamp,
}

/// The notices of an accepted request, or the problems of a refused one.
pub(crate) type Outcome = Result<Vec<Notice>, Vec<Problem>>;

/// A record that the domain can decide about.
pub(crate) trait DecidedRecord: ReadableRecord {
    /// Decides on a request. Returns `None` if its record does not exist.
    fn decide(
        sent: ParsedRecord<Self>,
        target: Target<'_>,
        rules: &Rules,
        context: &Context<'_>,
    ) -> Option<Outcome>;
}

/// Returns the notices or problems of a decision, without the decided record.
fn outcome<R>(decided: Result<Decision<R>, Vec<Problem>>) -> Outcome {
    decided.map(|decision| decision.notices)
}

/// Returns the context for creating a record. The provider and the identifiers are placeholders,
/// because the record is never stored.
fn origin(target: Target<'_>) -> CreationContext<'static> {
    CreationContext {
        now: target.now,
        ukprn: "",
        next_id: &|| None,
    }
}

impl DecidedRecord for Trainee {
    fn decide(
        sent: ParsedRecord<Self>,
        target: Target<'_>,
        rules: &Rules,
        context: &Context<'_>,
    ) -> Option<Outcome> {
        Some(if target.purpose == Some(Purpose::Update) {
            outcome(commands::update(
                target.trainee?,
                sent,
                rules,
                context,
                target.now,
            ))
        } else {
            outcome(commands::create(sent, rules, context, &origin(target)))
        })
    }
}

/// Decides on a request for a nested record. Returns `None` if the request updates a record that
/// does not exist.
fn decide_nested<R: NestedRecord + Editable>(
    sent: ParsedRecord<R>,
    target: Target<'_>,
    rules: &Rules,
    context: &Context<'_>,
) -> Option<Outcome> {
    if target.purpose != Some(Purpose::Update) {
        return Some(outcome(commands::add(
            sent,
            rules,
            context,
            &origin(target),
        )));
    }
    let stored = R::records(target.trainee?)
        .iter()
        .find(|record| record.id() == Some(target.nested_id))?;
    Some(outcome(commands::update(
        stored, sent, rules, context, target.now,
    )))
}

macro_rules! nested_records {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {$(
        impl DecidedRecord for domain::$record {
            fn decide(
                sent: ParsedRecord<Self>,
                target: Target<'_>,
                rules: &Rules,
                context: &Context<'_>,
            ) -> Option<Outcome> {
                decide_nested(sent, target, rules, context)
            }
        }
    )+};
}
nested_kinds!([nested_records]);

macro_rules! transitions {
    ($($record:ident)+) => {$(
        impl DecidedRecord for $record {
            fn decide(
                sent: ParsedRecord<Self>,
                target: Target<'_>,
                rules: &Rules,
                context: &Context<'_>,
            ) -> Option<Outcome> {
                Some(outcome(commands::transition::<Self>(target.trainee?, sent, rules, context, target.now)))
            }
        }
    )+};
}
transitions! { Withdrawal Deferral Recommendation }
