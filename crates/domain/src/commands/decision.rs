//! The result of a command.

use crate::fields::parsed::ParsedRecord;
use crate::fields::value::Timestamp;
use crate::lifecycle::{Action, TransitionError};
use crate::problem::{Notice, Problem, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::Record;
use crate::records::trainee::{Trainee, TraineeField};
use crate::rules::{Rule, apply, apply_nested, set_defaults};

/// The result of an accepted command.
#[derive(Debug, Clone)]
pub struct Decision<R> {
    /// The record to store.
    pub record: R,
    /// Whether the record differs from the stored one.
    pub changed: bool,
    /// Notices for the client.
    pub notices: Vec<Notice>,
}

/// The provider, the time and the identifiers of new records.
pub struct CreationContext<'a> {
    /// The creation time.
    pub now: Timestamp,
    /// The UKPRN of the provider.
    pub ukprn: &'a str,
    /// Generates a unique identifier. Returns `None` in a dry run.
    pub next_id: &'a dyn Fn() -> Option<String>,
}

/// Merges a request into a stored or a new record, and applies the rules. Fails with all problems
/// that the rules find.
pub(super) fn decide<R: Record>(
    owner: R::Owner,
    stored: Option<&R>,
    mut sent: ParsedRecord<R>,
    rules: &[Rule<R>],
    context: &Context<'_>,
) -> Result<Decision<R>, Vec<Problem>> {
    let (stored, nested) = match stored.cloned().map(R::split) {
        Some((record, nested)) => (Some(record), nested),
        None => (None, R::Nested::default()),
    };
    set_defaults(&mut sent, &owner, rules, context);
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

/// Returns the trainee in the next state, with the time of the change.
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

/// Returns the problem of a state that does not allow an action.
pub(super) fn wrong_state(TransitionError { action, state }: TransitionError) -> Vec<Problem> {
    vec![Problem::at(
        TraineeField::state,
        ProblemKind::Transition { action, state },
    )]
}
