//! The actions of the registry and of operators.
//!
//! Only in a sandbox does a request of the API ask for them, and no rule of a version binds them:
//! only the state machine does. Each one is idempotent: it returns a record unchanged that is
//! already in the state that it leads to.

use chrono::{Datelike as _, NaiveTime};
use thiserror::Error;

use super::decision::{Decision, advance};
use crate::duplicate::DuplicateKey;
use crate::fields::value::{Date, Timestamp};
use crate::lifecycle::{Action, State, StateBeforeWithdrawal, TransitionError};
use crate::records::trainee::Trainee;
use crate::rules::dates::{earliest_end, latest_end_year};
use crate::values::trn::{Holder, Trn};

/// Why something cannot be done to a trainee.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// The state does not allow it.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// The record is discarded, and nothing becomes of it any more.
    #[error("the trainee is discarded")]
    Discarded,
    /// The trainee has another number.
    #[error("the trainee has the TRN {0} already")]
    OtherTrn(String),
    /// The number is that of somebody else.
    #[error("the TRN is that of another person, trainee {0}")]
    TrnOfAnother(String),
    /// An award is confirmed for a number.
    #[error("the trainee has no TRN yet")]
    NoTrn,
    /// An award is dated by the day on which the standards were met.
    #[error("the trainee has no outcome_date")]
    NoOutcomeDate,
    /// The training has begun, so the return has a day.
    #[error("the day on which the trainee came back is missing")]
    NoReturnDate,
    /// Nobody comes back before the pause.
    #[error("the trainee was deferred on {0}, after that day")]
    BeforeDeferral(Date),
    /// The date is in the future.
    #[error("that day is still to come")]
    DayAhead,
    /// The training ends after it starts.
    #[error("itt_end_date must be later than itt_start_date, {0}")]
    EndNotAfterStart(Date),
    /// The training would end too late.
    #[error("itt_end_date must be in {0} or earlier")]
    EndTooLate(i32),
    /// The training would have ended too early.
    #[error("itt_end_date must not be before {0}")]
    EndTooEarly(Date),
    /// The state before the withdrawal is not recorded.
    #[error("the state before the withdrawal is not known")]
    UnknownPreviousState,
}

/// The last withdrawal of a trainee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastWithdrawal {
    /// The state in which it found the trainee.
    pub previous: State,
    /// Whether it was undone.
    pub undone: bool,
}

/// A trainee with a teacher reference number. `holders` are the other trainees who have it.
///
/// # Errors
///
/// When the trainee has another number, the number is that of another person, or the state does not
/// allow it.
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

/// A trainee to whom QTS or EYTS has been granted, as of the day on which the standards were met.
///
/// # Errors
///
/// When the trainee has no number or no such day, or is not recommended.
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

/// What an operator enters when a deferred trainee returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reinstatement {
    /// The day.
    pub date: Option<Date>,
    /// When the training ends now, where that has changed.
    pub itt_end_date: Option<Date>,
}

/// Whether a deferred trainee missed nothing, because the course or the deferral has not begun. Who
/// comes back then does so on no particular day, and the training ends when it would have.
#[must_use]
pub fn missed_no_training(trainee: &Trainee, today: Date) -> bool {
    [trainee.itt_start_date, trainee.defer_date]
        .into_iter()
        .flatten()
        .any(|day| day > today)
}

/// A deferred trainee who came back. The deferral stays on the record. Of a trainee who [has missed
/// nothing](missed_no_training) only the state changes, whatever is said of the return.
///
/// # Errors
///
/// When the trainee is not deferred, or was not yet on that day, or the day is missing or comes
/// after `today`, or the training cannot end on its new last day.
pub fn reinstate(
    trainee: &Trainee,
    reinstatement: Reinstatement,
    today: Date,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    let only_state = missed_no_training(trainee, today);
    let as_said = trainee.reinstate_date == reinstatement.date
        && reinstatement
            .itt_end_date
            .is_none_or(|end| trainee.itt_end_date == Some(end));
    let is_back = if only_state {
        trainee.defer_date.is_some()
    } else {
        reinstatement.date.is_some() && as_said
    };
    if is_in_training(trainee) && is_back {
        return Ok(unchanged(trainee));
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
    if record.state == Some(State::SubmittedForTrn) {
        record.submitted_for_trn_at = Some(now);
    }
    Ok(changed(record))
}

/// The last day of a training is as the rules of every version have it.
fn require_possible_end(end: Date, start: Option<Date>, today: Date) -> Result<(), RegistryError> {
    if let Some(start) = start.filter(|start| end <= *start) {
        return Err(RegistryError::EndNotAfterStart(start));
    }
    let (latest, earliest) = (latest_end_year(today), earliest_end(today));
    if end.year() > latest {
        return Err(RegistryError::EndTooLate(latest));
    }
    if end < earliest {
        Err(RegistryError::EndTooEarly(earliest))
    } else {
        Ok(())
    }
}

/// A trainee whose recommendation does not count: back in training, as if it had not been made. A
/// trainee in training is left alone.
///
/// # Errors
///
/// When the state is another.
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

/// A trainee whose withdrawal is undone, in the state before it; a TRN that was issued meanwhile is
/// kept. A trainee whose last withdrawal was undone already stays as it is.
///
/// # Errors
///
/// When the trainee is not withdrawn.
pub fn undo_withdrawal(
    trainee: &Trainee,
    last: Option<LastWithdrawal>,
    now: Timestamp,
) -> Result<Decision<Trainee>, RegistryError> {
    refuse_discarded(trainee)?;
    let withdrawn = trainee.state_or_draft() == State::Withdrawn;
    if !withdrawn && last.is_some_and(|last| last.undone) {
        return Ok(unchanged(trainee));
    }
    let previous = last.and_then(|last| StateBeforeWithdrawal::from_state(last.previous));
    // Of a trainee who is not withdrawn the state machine says so, whatever the state was before.
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

/// A trainee whom no request shows any more, and who keeps nobody from being registered.
///
/// # Errors
///
/// When the trainee is recommended or has the award.
pub fn discard(trainee: &Trainee, now: Timestamp) -> Result<Decision<Trainee>, RegistryError> {
    discarded_by(Action::Discard, trainee, now)
}

/// A trainee of a sandbox that is emptied: discarded, in whatever state.
///
/// # Errors
///
/// When the record is a draft.
pub fn reset(trainee: &Trainee, now: Timestamp) -> Result<Decision<Trainee>, RegistryError> {
    discarded_by(Action::Reset, trainee, now)
}

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

/// The number that a trainee has; `None` also for one of another form, which only an import can
/// have brought.
#[must_use]
pub fn trn_of(trainee: &Trainee) -> Option<Trn> {
    trainee.trn.as_deref()?.parse().ok()
}

/// The status of a trainee, in a few words for an operator.
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
