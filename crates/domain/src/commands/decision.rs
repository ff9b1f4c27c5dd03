//! The result of a command.

use crate::fields::parsed::ParsedRecord;
use crate::fields::value::Timestamp;
use crate::lifecycle::{Action, TransitionError};
use crate::problem::{Notice, Problem, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::Record;
use crate::records::trainee::{Trainee, TraineeField};
use crate::rules::{Rule, apply, apply_nested};

/// A record as it is to be stored, and the notices for the client.
#[derive(Debug, Clone)]
pub struct Decision<R> {
    /// The record.
    pub record: R,
    /// Whether it differs from the stored one.
    pub changed: bool,
    /// What the client should know.
    pub notices: Vec<Notice>,
}

/// By whom and when a record is created.
pub struct CreationContext<'a> {
    /// The time.
    pub now: Timestamp,
    /// UKPRN of the provider.
    pub ukprn: &'a str,
    /// Generates the next identifier, which no record has or had; `None` in a dry run.
    pub next_id: &'a dyn Fn() -> Option<String>,
}

/// Merges what was sent into a stored or a new record, and applies the rules.
pub(super) fn decide<R: Record>(
    owner: R::Owner,
    stored: Option<&R>,
    sent: ParsedRecord<R>,
    rules: &[Rule<R>],
    context: &Context<'_>,
) -> Result<Decision<R>, Vec<Problem>> {
    let (stored, nested) = stored
        .cloned()
        .map(R::split)
        .map_or((None, R::Nested::default()), |(record, nested)| {
            (Some(record), nested)
        });
    let mut candidate = Candidate::new(owner, stored, sent, context);
    apply(&mut candidate, rules, context);
    apply_nested(&mut candidate, &nested, rules, context);
    let changed = candidate.is_changed();
    let (record, notices) = candidate.into_result()?;
    Ok(Decision {
        record: R::join(record, nested),
        changed,
        notices,
    })
}

/// The trainee after an action, with its next state.
pub(super) fn advance(
    trainee: &Trainee,
    action: Action,
    now: Timestamp,
) -> Result<Trainee, TransitionError> {
    Ok(Trainee {
        state: Some(trainee.next_state(action)?),
        updated_at: Some(now),
        ..trainee.clone()
    })
}

/// The one problem of a state that does not allow the action.
pub(super) fn wrong_state(TransitionError { action, state }: TransitionError) -> Vec<Problem> {
    vec![Problem::at(
        TraineeField::state,
        ProblemKind::Transition { action, state },
    )]
}
