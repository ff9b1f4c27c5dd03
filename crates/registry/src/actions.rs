//! The registry's part in a trainee's life, and what only an operator does: each action finds the
//! trainee of whatever provider, has the domain decide, and saves, in one transaction.

use domain::commands::{Decision, registry};
use domain::values::trn::{Holder, Trn};
use domain::{State, Trainee};
use storage::accounts::users::Actor;
use storage::base::cause::Cause;
use storage::base::token::Environment;
use storage::error::{JobError, StorageError};
use storage::records::trainees::StoredTrainee;
use storage::session::{ProviderSession, Session};
use storage::store::Store;

use crate::retries::write_blocking_with_retries;

/// What is said of dates that were given for a trainee who missed nothing.
const DATES_ARE_LEFT: &str =
    "; no date was stored, because the course or the deferral has not begun";

/// What can be done to a trainee outside the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryAction {
    /// The registry issues a teacher reference number: this one, or, in a sandbox, one that nobody
    /// has.
    IssueTrn(Option<Trn>),
    /// The registry confirms the award.
    Award,
    /// A deferred trainee came back.
    Reinstate(registry::Reinstatement),
    /// A recommendation is returned.
    ReturnRecommendation,
    /// A withdrawal is undone.
    UndoWithdrawal,
    /// The record is discarded.
    Discard,
}

impl RegistryAction {
    /// The command that does it, by which the history and the activity log name it.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        match self {
            Self::IssueTrn(_) => "registry issue-trn",
            Self::Award => "registry award",
            Self::Reinstate(_) => "registry reinstate",
            Self::ReturnRecommendation => "registry return-recommendation",
            Self::UndoWithdrawal => "registry undo-withdrawal",
            Self::Discard => "registry discard",
        }
    }
}

/// What became of an action.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Whether anything changed; otherwise it had been done before.
    pub changed: bool,
    /// Where the trainee stands, in a few words.
    pub standing: String,
}

/// Why an action was not done.
#[derive(Debug, thiserror::Error)]
pub enum RegistryActionError {
    /// No trainee has the identifier.
    #[error("no trainee has this identifier")]
    UnknownTrainee,
    /// A number was to be drawn where only the registry issues them.
    #[error("in production a TRN comes from the registry, and none is drawn: give the number")]
    NumberRequired,
    /// Nothing is left of the trainee.
    #[error("the trainee was erased")]
    Erased,
    /// It cannot be done to this trainee.
    #[error(transparent)]
    Refused(#[from] registry::RegistryError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl JobError for RegistryActionError {
    fn storage_error(&self) -> Option<&StorageError> {
        if let Self::Storage(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

/// Does something to a trainee; what it was done through stands in the history.
///
/// # Errors
///
/// [`RegistryActionError`]; nothing has changed then.
pub fn perform(
    session: &mut Session<'_>,
    trainee_id: &str,
    action: &RegistryAction,
    cause: Cause<'_>,
) -> Result<Outcome, RegistryActionError> {
    match action {
        RegistryAction::IssueTrn(trn) => {
            let (trn, holders) = number(session, trainee_id, trn.as_ref(), cause)?;
            apply(session, trainee_id, cause, |provider, trainee| {
                Ok(registry::issue_trn(
                    &trainee.record,
                    &trn,
                    &holders,
                    provider.today(),
                    provider.change_date(),
                )?)
            })
        }
        RegistryAction::Award => apply(session, trainee_id, cause, |provider, trainee| {
            Ok(registry::award(&trainee.record, provider.change_date())?)
        }),
        RegistryAction::Reinstate(back) => {
            let mut dates_are_left = false;
            let outcome = apply(session, trainee_id, cause, |provider, trainee| {
                let today = provider.today();
                dates_are_left = *back != registry::Reinstatement::default()
                    && registry::missed_no_training(&trainee.record, today);
                Ok(registry::reinstate(
                    &trainee.record,
                    *back,
                    today,
                    provider.change_date(),
                )?)
            })?;
            let left = if dates_are_left { DATES_ARE_LEFT } else { "" };
            Ok(Outcome {
                standing: outcome.standing + left,
                ..outcome
            })
        }
        RegistryAction::ReturnRecommendation => {
            apply(session, trainee_id, cause, |provider, trainee| {
                Ok(registry::return_recommendation(
                    &trainee.record,
                    provider.change_date(),
                )?)
            })
        }
        RegistryAction::UndoWithdrawal => apply(session, trainee_id, cause, |provider, trainee| {
            let last = trainee.last_withdrawal()?;
            Ok(registry::undo_withdrawal(
                &trainee.record,
                last,
                provider.change_date(),
            )?)
        }),
        RegistryAction::Discard => apply(session, trainee_id, cause, |provider, trainee| {
            Ok(registry::discard(&trainee.record, provider.change_date())?)
        }),
    }
}

/// The number to be issued to a trainee, and who else has it: the one that is requested, otherwise
/// the one that the trainee has, otherwise one that nobody has.
fn number(
    session: &mut Session<'_>,
    trainee_id: &str,
    requested: Option<&Trn>,
    cause: Cause<'_>,
) -> Result<(Trn, Vec<Holder>), RegistryActionError> {
    if let Some(trn) = requested {
        return Ok((trn.clone(), session.holders_of(trn, trainee_id)?));
    }
    if session.environment()? == Environment::Production {
        return Err(RegistryActionError::NumberRequired);
    }
    let mut provider = open(session, trainee_id, cause)?;
    let trn = match registry::trn_of(&find(&mut provider, trainee_id)?.record) {
        Some(trn) => trn,
        None => provider.draw_trn()?,
    };
    Ok((trn, Vec::new()))
}

/// A trainee of a sandbox after what the registry does next: it issues a TRN, confirms the award,
/// and issues a TRN first where there is none, or a deferred trainee is back since today. `None` in
/// a state after which nothing follows.
///
/// # Errors
///
/// [`RegistryActionError::Refused`], or when the store fails.
pub fn advance(
    session: &mut ProviderSession<'_>,
    trainee: &Trainee,
) -> Result<Option<Decision<Trainee>>, RegistryActionError> {
    let (today, now) = (session.today(), session.change_date());
    let mut with_trn = |trainee: &Trainee| {
        let trn = session.draw_trn()?;
        Ok::<_, RegistryActionError>(registry::issue_trn(trainee, &trn, &[], today, now)?)
    };
    Ok(Some(match trainee.state_or_draft() {
        State::SubmittedForTrn => with_trn(trainee)?,
        State::RecommendedForAward if trainee.trn.is_none() => {
            registry::award(&with_trn(trainee)?.record, now)?
        }
        State::RecommendedForAward => registry::award(trainee, now)?,
        State::Deferred => {
            let back = registry::Reinstatement {
                date: Some(today),
                itt_end_date: None,
            };
            registry::reinstate(trainee, back, today, now)?
        }
        State::Draft | State::TrnReceived | State::Withdrawn | State::Awarded => return Ok(None),
    }))
}

fn open<'a>(
    session: &'a mut Session<'_>,
    trainee_id: &str,
    cause: Cause<'a>,
) -> Result<ProviderSession<'a>, RegistryActionError> {
    session
        .open_trainee(trainee_id, cause)?
        .ok_or(RegistryActionError::UnknownTrainee)
}

fn find(
    provider: &mut ProviderSession<'_>,
    trainee_id: &str,
) -> Result<StoredTrainee, RegistryActionError> {
    let trainee = provider
        .find_hidden_trainee(trainee_id)?
        .ok_or(RegistryActionError::UnknownTrainee)?;
    if trainee.record.discarded_at.is_some() && provider.erasure_of(trainee_id)?.is_some() {
        return Err(RegistryActionError::Erased);
    }
    Ok(trainee)
}

/// Saves what is decided of a trainee, when it is a change. Only when the trainee was found is it
/// known when the change is made: nobody else changes it any more, and the provider's `now` comes
/// after its last change.
fn apply(
    session: &mut Session<'_>,
    trainee_id: &str,
    cause: Cause<'_>,
    decide: impl FnOnce(
        &mut ProviderSession<'_>,
        &StoredTrainee,
    ) -> Result<Decision<Trainee>, RegistryActionError>,
) -> Result<Outcome, RegistryActionError> {
    let mut provider = open(session, trainee_id, cause)?;
    let trainee = find(&mut provider, trainee_id)?;
    let decision = decide(&mut provider, &trainee)?;
    if decision.changed {
        provider.update_trainee(&trainee, &decision.record)?;
    }
    Ok(Outcome {
        changed: decision.changed,
        standing: registry::status_summary(&decision.record),
    })
}

/// As [`perform`] for an operator: a change stands in the activity log too.
///
/// # Errors
///
/// [`RegistryActionError`]; nothing has changed then.
pub fn perform_for_operator(
    session: &mut Session<'_>,
    trainee_id: &str,
    action: &RegistryAction,
    by: Actor<'_>,
) -> Result<Outcome, RegistryActionError> {
    let name = by.to_string();
    let outcome = perform(
        session,
        trainee_id,
        action,
        Cause::new(action.operation()).by(&name),
    )?;
    if outcome.changed {
        session.record_registry_action(by, trainee_id, action.operation())?;
    }
    Ok(outcome)
}

/// As [`perform_for_operator`] for a command that somebody runs, in a transaction of its own, with
/// retries. Blocks.
///
/// # Errors
///
/// [`RegistryActionError`]; nothing has changed then.
pub fn perform_blocking(
    store: &Store,
    trainee_id: &str,
    action: &RegistryAction,
    by: &str,
) -> Result<Outcome, RegistryActionError> {
    let (trainee_id, action, by) = (trainee_id.to_owned(), action.clone(), by.to_owned());
    write_blocking_with_retries(store, move |session| {
        perform_for_operator(session, &trainee_id, &action, Actor::operator(&by))
    })
}
