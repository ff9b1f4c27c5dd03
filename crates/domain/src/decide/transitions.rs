//! Moving a trainee from one state to another.

use super::{Decision, judged};
use crate::candidate::Sent;
use crate::lifecycle::{Action, State, next};
use crate::problem::{Problem, ProblemKind};
use crate::rules::{Context, Rules};
use crate::trainee::{Trainee, TraineeField};
use crate::transition::{Deferral, Recommendation, Withdrawal};
use crate::value::Moment;

/// A withdrawn trainee (contract, section 4.13).
///
/// # Errors
///
/// All problems of the input, and of the state and the start of the training.
pub fn withdraw(
    trainee: &Trainee,
    sent: Sent<Withdrawal>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let Decision { record: withdrawal, notices, .. } = judged(trainee.clone(), None, sent, rules.withdrawal, context)?;
    let mut record = moved(trainee, Action::Withdraw, now)?;
    record.withdrawal_date = withdrawal.withdrawal_date;
    record.withdrawal_trigger = withdrawal.trigger;
    record.withdrawal_future_interest = withdrawal.future_interest;
    record.withdrawal_reasons = withdrawal.reasons;
    record.withdrawal_another_reason = withdrawal.another_reason;
    record.withdrawal_safeguarding_concern_reasons = withdrawal.safeguarding_concern_reasons;
    Ok(Decision { record, changed: true, notices })
}

/// A deferred trainee (contract, section 4.11).
///
/// # Errors
///
/// All problems of the input, or the state.
pub fn defer(
    trainee: &Trainee,
    sent: Sent<Deferral>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let Decision { record: deferral, notices, .. } = judged(trainee.clone(), None, sent, rules.deferral, context)?;
    let mut record = moved(trainee, Action::Defer, now)?;
    record.defer_date = deferral.defer_date;
    record.defer_reason = deferral.defer_reason;
    if record.commencement_status.as_deref() == Some("itt_started_on_time") {
        record.trainee_start_date = record.itt_start_date;
    }
    Ok(Decision { record, changed: true, notices })
}

/// A trainee recommended for the award (contract, section 4.12).
///
/// # Errors
///
/// All problems of the input, of the record and of its state.
pub fn recommend(
    trainee: &Trainee,
    sent: Sent<Recommendation>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let Decision { record: recommendation, notices, .. } =
        judged(trainee.clone(), None, sent, rules.recommendation, context)?;
    let mut record = moved(trainee, Action::Recommend, now)?;
    record.outcome_date = recommendation.qts_standards_met_date;
    record.recommended_for_award_at = Some(now);
    Ok(Decision { record, changed: true, notices })
}

fn moved(trainee: &Trainee, action: Action, now: Moment) -> Result<Trainee, Vec<Problem>> {
    let state = trainee.state.unwrap_or(State::Draft);
    let after = next(state, action, trainee.trn.is_some()).map_err(|error| {
        vec![Problem::at(TraineeField::state, ProblemKind::Transition { action: error.action, state: error.state })]
    })?;
    Ok(Trainee { state: Some(after), updated_at: Some(now), ..trainee.clone() })
}
