//! What becomes of a request: each function takes what was sent, and gives the record as it is to be
//! stored or every problem.
//!
//! Nothing is looked up and nothing is stored here; identifiers, the caller and the time come in.

use crate::candidate::{Candidate, Sent};
use crate::dictionary::Record;
use crate::lifecycle::{Action, State};
use crate::problem::{Notice, Problem, ProblemKind};
use crate::rules::{Context, Rule, Rules, judge};
use crate::trainee::{Trainee, TraineeField};
use crate::value::Moment;

mod nested;
pub mod registry;
mod transitions;

pub use nested::{NestedRecord, add_nested, update_nested};
pub use transitions::{defer, recommend, withdraw};

use nested::{each, repeated};

/// A record as it is to be stored, and what the client should know.
#[derive(Debug, Clone)]
pub struct Decision<R> {
    /// The record.
    pub record: R,
    /// Whether it differs from the stored one.
    pub changed: bool,
    /// What the client should know.
    pub notices: Vec<Notice>,
}

/// Where a record is made, by whom and when.
pub struct Origin<'a> {
    /// The moment.
    pub now: Moment,
    /// UKPRN of the provider.
    pub ukprn: &'a str,
    /// Gives the next identifier, which no record has or had. A request that is only tried out gets
    /// none.
    pub next_id: &'a dyn Fn() -> Option<String>,
}

/// A new trainee with placements and degrees (contract, section 4.8).
///
/// # Errors
///
/// All problems of the trainee and of the nested records.
pub fn create(
    mut sent: Sent<Trainee>,
    rules: &Rules,
    context: &Context<'_>,
    origin: &Origin<'_>,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let placements = std::mem::take(&mut sent.changes.placements);
    let degrees = std::mem::take(&mut sent.changes.degrees);
    let mut candidate = Candidate::new((), None, sent, context);
    judge(&mut candidate, rules.trainee, context);
    let mut problems = candidate.problems().to_vec();
    let mut notices = Vec::new();
    let placements = each(placements, TraineeField::placements, &mut problems, &mut notices, |sent| {
        add_nested(sent, rules, context, origin)
    });
    let degrees = each(degrees, TraineeField::degrees, &mut problems, &mut notices, |sent| {
        add_nested(sent, rules, context, origin)
    });
    problems.extend(repeated(&degrees));
    if !problems.is_empty() {
        return Err(problems);
    }
    let (mut trainee, mut own) = candidate.verdict()?;
    own.append(&mut notices);
    trainee.trainee_id = (origin.next_id)();
    trainee.ukprn = Some(origin.ukprn.to_owned());
    trainee.state = Some(State::SubmittedForTrn);
    trainee.record_source = Some("api".to_owned());
    trainee.created_at = Some(origin.now);
    trainee.updated_at = Some(origin.now);
    trainee.submitted_for_trn_at = Some(origin.now);
    trainee.placements = placements.into_iter().flatten().collect();
    trainee.degrees = degrees.into_iter().flatten().collect();
    order(&mut trainee);
    Ok(Decision { record: trainee, changed: true, notices: own })
}

/// A trainee with the changes merged into it (contract, section 4.14). Nested records are left alone.
///
/// # Errors
///
/// All problems of the merged record that a field of the request has a part in.
pub fn update(
    stored: &Trainee,
    sent: Sent<Trainee>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let mut decision = judged((), Some(stored), sent, rules.trainee, context)?;
    if decision.changed {
        decision.record.updated_at = Some(now);
    }
    Ok(decision)
}

/// Whether the version lets the action at this record at all.
///
/// # Errors
///
/// The one problem that the gate finds.
pub fn pass_gates(trainee: &Trainee, action: Action, rules: &Rules) -> Result<(), Vec<Problem>> {
    let refused = rules.gates.iter().any(|gate| (gate.refuses)(trainee, action));
    if !refused {
        return Ok(());
    }
    let state = trainee.state.unwrap_or(State::Draft);
    Err(vec![Problem::at(TraineeField::state, ProblemKind::Transition { action, state })])
}

/// Placements stand in the order in which they were made; degrees by year of graduation.
pub fn order(trainee: &mut Trainee) {
    trainee.placements.sort_by_key(|placement| placement.created_at);
    trainee.degrees.sort_by_key(|degree| (degree.graduation_year, degree.created_at));
}

/// Merges what was sent, runs the rules, and gives the verdict.
fn judged<R: Record>(
    owner: R::Owner,
    stored: Option<&R>,
    sent: Sent<R>,
    rules: &[Rule<R>],
    context: &Context<'_>,
) -> Result<Decision<R>, Vec<Problem>> {
    let mut candidate = Candidate::new(owner, stored, sent, context);
    judge(&mut candidate, rules, context);
    let changed = candidate.changed();
    let (record, notices) = candidate.verdict()?;
    Ok(Decision { record, changed, notices })
}
