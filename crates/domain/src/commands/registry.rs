//! The actions of the registry and of operators.
//!
//! API requests can perform some of these actions, but only in a sandbox. The rules of versions do
//! not apply to the actions; the state machine does. All actions are idempotent: they return the
//! record unchanged if the action was already performed.

use chrono::{Datelike as _, NaiveTime};
use thiserror::Error;

use super::decision::{Decision, advance};
use crate::duplicate::DuplicateKey;
use crate::fields::value::{Date, Timestamp};
use crate::lifecycle::{Action, State, StateBeforeWithdrawal, TransitionError};
use crate::records::trainee::Trainee;
use crate::rules::dates::{earliest_end, latest_end_year};
use crate::values::trn::{Holder, Trn};

/// The reason for refusing an action on a trainee.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// The state does not allow the action.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// The record is discarded. Discarded records allow no action.
    #[error("the trainee is discarded")]
    Discarded,
    /// The trainee has a different teacher reference number.
    #[error("the trainee has the TRN {0} already")]
    OtherTrn(String),
    /// The teacher reference number belongs to a trainee who is a different person.
    #[error("the TRN is that of another person, trainee {0}")]
    TrnOfAnother(String),
    /// The award requires a teacher reference number.
    #[error("the trainee has no TRN yet")]
    NoTrn,
    /// The award requires the day of meeting the standards.
    #[error("the trainee has no outcome_date")]
    NoOutcomeDate,
    /// A return after the start of the training requires a date.
    #[error("the date of the return is missing")]
    NoReturnDate,
    /// The return is before the deferral.
    #[error("the trainee was deferred on {0}, after that day")]
    BeforeDeferral(Date),
    /// The return is in the future.
    #[error("that day is still to come")]
    DayAhead,
    /// The end of the training is not later than its start.
    #[error("itt_end_date must be later than itt_start_date, {0}")]
    EndNotAfterStart(Date),
    /// The end of the training is too late.
    #[error("itt_end_date must be in {0} or earlier")]
    EndTooLate(i32),
    /// The end of the training is too early.
    #[error("itt_end_date must not be before {0}")]
    EndTooEarly(Date),
    /// The state before the withdrawal is not recorded.
    #[error("the state before the withdrawal is not known")]
    UnknownPreviousState,
}

/// The last withdrawal of a trainee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastWithdrawal {
    /// The state before the withdrawal.
    pub previous: State,
    /// Whether the withdrawal was undone.
    pub undone: bool,
}

/// Issues a teacher reference number. `holders` are the other trainees that have this number.
///
/// # Errors
///
/// Fails if the trainee has a different number, the number belongs to a different person, or the
/// state does not allow the action.
pub fn issue_trn(
    trainee: &Trainee,
    trn: &Trn,
    holders: &[Holder],
    today: Date,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    match trainee.trn.as_deref() {
        Some(current) if current == trn.as_str() => return Ok(unchanged(trainee)),
        Some(current) => return Err(RegistryError::OtherTrn(current.to_owned())),
        None => {}
    }
    let person = DuplicateKey::from_trainee(trainee, today);
    if let Some(other) = holders
        .iter()
        .find(|holder| !holder.can_be_same_person(&person))
    {
        return Err(RegistryError::TrnOfAnother(other.trainee_id.clone()));
    }
    let mut record = advance(trainee, Action::IssueTrn, now)?;
    record.trn = Some(trn.as_str().to_owned());
    record.slug_sent_to_registry_at = record.slug_sent_to_registry_at.or(Some(now));
    Ok(changed(record))
}

/// Confirms the award of QTS or EYTS. The award is dated by the day of meeting the standards
/// (`outcome_date`).
///
/// # Errors
///
/// Fails if the trainee is not recommended, or has no number or no `outcome_date`.
pub fn award(trainee: &Trainee, now: Timestamp) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    match trainee.state_or_draft() {
        State::Awarded => return Ok(unchanged(trainee)),
        State::RecommendedForAward if trainee.trn.is_none() => return Err(RegistryError::NoTrn),
        State::RecommendedForAward
        | State::Draft
        | State::SubmittedForTrn
        | State::TrnReceived
        | State::Deferred
        | State::Withdrawn => {}
    }
    let record = advance(trainee, Action::Award, now)?;
    let met = trainee.outcome_date.ok_or(RegistryError::NoOutcomeDate)?;
    Ok(changed(Trainee {
        awarded_at: Some(met.and_time(NaiveTime::MIN).and_utc()),
        ..record
    }))
}

/// The input of an operator for the return of a deferred trainee.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reinstatement {
    /// The day of the return.
    pub date: Option<Date>,
    /// The new end of the training; `None` if the end is unchanged.
    pub itt_end_date: Option<Date>,
}

/// Whether a deferred trainee has missed no training: the course or the deferral has not begun.
/// Then a return has no date and does not change the end of the training.
#[must_use]
pub fn missed_no_training(trainee: &Trainee, today: Date) -> bool {
    [trainee.itt_start_date, trainee.defer_date]
        .into_iter()
        .flatten()
        .any(|day| day > today)
}

/// Returns a deferred trainee to the training. The record keeps its deferral. If the trainee
/// [has missed no training](missed_no_training), changes only the state and ignores the input.
///
/// # Errors
///
/// Fails if the trainee is not deferred, the date is missing, before the deferral or after `today`,
/// or the new end of the training is invalid.
pub fn reinstate(
    trainee: &Trainee,
    reinstatement: Reinstatement,
    today: Date,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    let only_state = missed_no_training(trainee, today);
    if is_in_training(trainee) {
        let is_reinstated = if only_state {
            trainee.defer_date.is_some()
        } else {
            matches_reinstatement(trainee, reinstatement)
        };
        if is_reinstated {
            return Ok(unchanged(trainee));
        }
    }
    let mut record = advance(trainee, Action::Reinstate, now)?;
    if only_state {
        return Ok(changed(record));
    }
    let day = reinstatement.date.ok_or(RegistryError::NoReturnDate)?;
    if let Some(deferred) = trainee.defer_date.filter(|deferred| day < *deferred) {
        return Err(RegistryError::BeforeDeferral(deferred));
    }
    if day > today {
        return Err(RegistryError::DayAhead);
    }
    record.reinstate_date = Some(day);
    if let Some(end) = reinstatement.itt_end_date {
        require_possible_end(end, trainee.itt_start_date, today)?;
        record.itt_end_date = Some(end);
    }
    // A trainee without a TRN is submitted for one again.
    if record.state == Some(State::SubmittedForTrn) {
        record.submitted_for_trn_at = Some(now);
    }
    Ok(changed(record))
}

/// Whether the trainee has already returned on this date, with this end of the training. Then the
/// same reinstatement changes nothing.
fn matches_reinstatement(trainee: &Trainee, reinstatement: Reinstatement) -> bool {
    reinstatement.date.is_some()
        && trainee.reinstate_date == reinstatement.date
        && reinstatement
            .itt_end_date
            .is_none_or(|end| trainee.itt_end_date == Some(end))
}

/// Checks the end of a training like the rules that all versions share: after the start, not too
/// late and not too early.
fn require_possible_end(end: Date, start: Option<Date>, today: Date) -> Result<(), RegistryError> {
    if let Some(start) = start.filter(|start| end <= *start) {
        return Err(RegistryError::EndNotAfterStart(start));
    }
    let latest = latest_end_year(today);
    if end.year() > latest {
        return Err(RegistryError::EndTooLate(latest));
    }
    let earliest = earliest_end(today);
    if end < earliest {
        return Err(RegistryError::EndTooEarly(earliest));
    }
    Ok(())
}

/// Returns a recommendation: the trainee is in training again, and the recommendation is removed. A
/// trainee in training is unchanged.
///
/// # Errors
///
/// Fails in every other state.
pub fn return_recommendation(
    trainee: &Trainee,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    if is_in_training(trainee) {
        return Ok(unchanged(trainee));
    }
    let record = advance(trainee, Action::ReturnRecommendation, now)?;
    Ok(changed(Trainee {
        outcome_date: None,
        recommended_for_award_at: None,
        ..record
    }))
}

/// Undoes the withdrawal of a trainee and restores the state before it. Keeps a TRN issued after
/// the withdrawal. If the last withdrawal was undone already, the trainee is unchanged.
///
/// # Errors
///
/// Fails if the trainee is not withdrawn, or the state before the withdrawal is not known.
pub fn undo_withdrawal(
    trainee: &Trainee,
    last: Option<LastWithdrawal>,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    let is_withdrawn = trainee.state_or_draft() == State::Withdrawn;
    if !is_withdrawn && last.is_some_and(|last| last.undone) {
        return Ok(unchanged(trainee));
    }
    let previous = last.and_then(|last| StateBeforeWithdrawal::from_state(last.previous));
    // If the trainee is not withdrawn, `advance` fails with any previous state.
    let action = Action::UndoWithdrawal {
        previous: previous.unwrap_or(StateBeforeWithdrawal::SubmittedForTrn),
    };
    let record = advance(trainee, action, now)?;
    if previous.is_none() {
        return Err(RegistryError::UnknownPreviousState);
    }
    Ok(changed(Trainee {
        withdrawal_date: None,
        withdrawal_trigger: None,
        withdrawal_future_interest: None,
        withdrawal_reasons: None,
        withdrawal_another_reason: None,
        withdrawal_safeguarding_concern_reasons: None,
        ..record
    }))
}

/// Discards a trainee. Requests no longer show a discarded trainee, and duplicate checks ignore it.
///
/// # Errors
///
/// Fails if the trainee is recommended or has the award.
pub fn discard(trainee: &Trainee, now: Timestamp) -> Result<Decision<Trainee>, RegistryError> {
    discarded_by(Action::Discard, trainee, now)
}

/// Discards a trainee in a sandbox, in any state except draft.
///
/// # Errors
///
/// Fails if the record is a draft.
pub fn reset(trainee: &Trainee, now: Timestamp) -> Result<Decision<Trainee>, RegistryError> {
    discarded_by(Action::Reset, trainee, now)
}

/// Discards a trainee with an action that the state must allow. A discarded trainee is unchanged.
fn discarded_by(
    action: Action,
    trainee: &Trainee,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    if trainee.discarded_at.is_some() {
        return Ok(unchanged(trainee));
    }
    let record = advance(trainee, action, now)?;
    Ok(changed(Trainee {
        discarded_at: Some(now),
        ..record
    }))
}

/// Returns the teacher reference number of a trainee. Returns `None` for a missing number, and for
/// a malformed number of an imported record.
#[must_use]
pub fn trn_of(trainee: &Trainee) -> Option<Trn> {
    trainee.trn.as_deref()?.parse().ok()
}

/// Returns a short status of a trainee for operators: state, TRN and whether it is discarded.
#[must_use]
pub fn status_summary(trainee: &Trainee) -> String {
    let state = trainee.state_or_draft();
    let discarded = if trainee.discarded_at.is_some() {
        ", discarded"
    } else {
        ""
    };
    match trainee.trn.as_deref() {
        Some(trn) => format!("{state}, TRN {trn}{discarded}"),
        None => format!("{state}, without a TRN{discarded}"),
    }
}

fn refuse_discarded(trainee: &Trainee) -> Result<(), RegistryError> {
    if trainee.discarded_at.is_some() {
        Err(RegistryError::Discarded)
    } else {
        Ok(())
    }
}

fn is_in_training(trainee: &Trainee) -> bool {
    matches!(
        trainee.state_or_draft(),
        State::SubmittedForTrn | State::TrnReceived
    )
}

fn changed(record: Trainee) -> Decision<Trainee> {
    Decision {
        record,
        changed: true,
        notices: Vec::new(),
    }
}

fn unchanged(trainee: &Trainee) -> Decision<Trainee> {
    Decision {
        record: trainee.clone(),
        changed: false,
        notices: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
