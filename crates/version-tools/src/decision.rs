//! What the domain decides on a request of any version, by the type of its record.

use adapter_kit::body_kind::Purpose;
use adapter_kit::read::ReadableRecord;
use domain::decide::{Decision, Origin};
use domain::value::Moment;
use domain::{
    Context, Deferral, Degree, Notice, Placement, Problem, Recommendation, Rules, Sent, Trainee, Withdrawal, decide,
};

/// The record that a request is for.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Whether the request creates or changes the record; `None` for a transition.
    pub(crate) purpose: Option<Purpose>,
    /// The trainee before the request, unless the request creates it.
    pub(crate) trainee: Option<&'a Trainee>,
    /// The identifier of the placement or degree that the request changes.
    pub(crate) nested_id: &'a str,
    /// When the request arrived.
    pub(crate) now: Moment,
}

/// What the client of an accepted request is warned about, or why the request is refused.
pub(crate) type Outcome = Result<Vec<Notice>, Vec<Problem>>;

/// A record on which the domain decides.
pub(crate) trait DecidedRecord: ReadableRecord {
    /// Decides on a request; `None` where its record does not exist.
    fn decide(sent: Sent<Self>, target: Target<'_>, rules: &Rules, context: &Context<'_>) -> Option<Outcome>;
}

fn outcome<R>(decided: Result<Decision<R>, Vec<Problem>>) -> Outcome {
    decided.map(|decision| decision.notices)
}

fn origin(target: Target<'_>) -> Origin<'static> {
    Origin { now: target.now, ukprn: "", next_id: &|| None }
}

impl DecidedRecord for Trainee {
    fn decide(sent: Sent<Self>, target: Target<'_>, rules: &Rules, context: &Context<'_>) -> Option<Outcome> {
        Some(if target.purpose == Some(Purpose::Update) {
            outcome(decide::update(target.trainee?, sent, rules, context, target.now))
        } else {
            outcome(decide::create(sent, rules, context, &origin(target)))
        })
    }
}

macro_rules! nested_records {
    ($($record:ident: $list:ident, $id:ident;)+) => {$(
        impl DecidedRecord for $record {
            fn decide(sent: Sent<Self>, target: Target<'_>, rules: &Rules, context: &Context<'_>) -> Option<Outcome> {
                if target.purpose != Some(Purpose::Update) {
                    return Some(outcome(decide::add_nested(sent, rules, context, &origin(target))));
                }
                let mut records = target.trainee?.$list.iter();
                let stored = records.find(|record| record.$id.as_deref() == Some(target.nested_id))?;
                Some(outcome(decide::update_nested(stored, sent, rules, context, target.now)))
            }
        }
    )+};
}
nested_records! {
    Placement: placements, placement_id;
    Degree: degrees, degree_id;
}

macro_rules! transitions {
    ($($record:ident => $decide:ident,)+) => {$(
        impl DecidedRecord for $record {
            fn decide(sent: Sent<Self>, target: Target<'_>, rules: &Rules, context: &Context<'_>) -> Option<Outcome> {
                Some(outcome(decide::$decide(target.trainee?, sent, rules, context, target.now)))
            }
        }
    )+};
}
transitions! {
    Withdrawal => withdraw,
    Deferral => defer,
    Recommendation => recommend,
}
