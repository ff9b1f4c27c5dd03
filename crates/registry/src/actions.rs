//! Registry actions on a trainee, and actions that only operators may perform. Each action finds
//! the trainee of any provider, calls the domain for the decision, and saves the result in one
//! transaction.

use domain::commands::{Decision, registry};
use domain::values::trn::{Holder, Trn};
use domain::{State, Trainee};
use storage::accounts::users::Actor;
use storage::base::cause::Cause;
use storage::base::token::Environment;
use storage::error::{DatabaseError, JobError, StorageError};
use storage::records::trainees::StoredTrainee;
use storage::session::{ProviderSession, Session};
use storage::store::Store;

/// Text after the outcome of a reinstatement whose dates are not stored, because the trainee missed
/// no training.
const NOT_STORED_DATES: &str =
    "; no date was stored, because the course or the deferral has not begun";

/// An action on a trainee outside the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryAction {
    /// Issues a teacher reference number. `None` draws an unused number, in a sandbox only.
    IssueTrn(Option<Trn>),
    /// Confirms the award.
    Award,
    /// Reinstates a deferred trainee.
    Reinstate(registry::Reinstatement),
    /// Returns a recommendation.
    ReturnRecommendation,
    /// Undoes a withdrawal.
    UndoWithdrawal,
    /// Discards the record.
    Discard,
}

impl RegistryAction {
    /// The name of the action in the history and in the activity log.
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

/// The result of an action.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Whether the record changed; `false` if the action had been performed before.
    pub changed: bool,
    /// The status of the trainee, in a few words.
    pub standing: String,
}

/// The reasons why an action fails.
#[derive(Debug, thiserror::Error)]
pub enum RegistryActionError {
    /// No trainee has the identifier.
    #[error("no trainee has this identifier")]
    UnknownTrainee,
    /// A number is required in production, where the registry issues numbers.
    #[error("a TRN is required: in production only the registry issues TRNs")]
    NumberRequired,
    /// The trainee was erased.
    #[error("the trainee was erased")]
    Erased,
    /// The state or the data of the trainee do not allow the action.
    #[error(transparent)]
    Refused(#[from] registry::RegistryError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<DatabaseError> for RegistryActionError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for RegistryActionError {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Storage(error) = self {
            error.database_error()
        } else {
            None
        }
    }
}

/// Performs an action on a trainee. The history records `cause`.
///
/// # Errors
///
/// [`RegistryActionError`]; the transaction must then be rolled back.
pub fn perform(
    session: &mut Session<'_>,
    trainee_id: &str,
    action: &RegistryAction,
    cause: Cause<'_>,
) -> Result<Outcome, RegistryActionError> {
    match action {
        RegistryAction::IssueTrn(trn) => {
            if trn.is_none() && session.environment()? == Environment::Production {
                return Err(RegistryActionError::NumberRequired);
            }
            apply(session, trainee_id, cause, |provider, trainee| {
                let (trn, holders) = choose_trn(provider, trainee_id, trainee, trn.as_ref())?;
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
            let mut dates_do_not_apply = false;
            let outcome = apply(session, trainee_id, cause, |provider, trainee| {
                let today = provider.today();
                dates_do_not_apply = *back != registry::Reinstatement::default()
                    && registry::missed_no_training(&trainee.record, today);
                Ok(registry::reinstate(
                    &trainee.record,
                    *back,
                    today,
                    provider.change_date(),
                )?)
            })?;
            let suffix = if dates_do_not_apply {
                NOT_STORED_DATES
            } else {
                ""
            };
            Ok(Outcome {
                standing: outcome.standing + suffix,
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

/// The number to issue to a trainee, and the other holders of a requested number. Without a
/// requested number, returns the trainee's own number, or else draws an unused one.
fn choose_trn(
    provider: &mut ProviderSession<'_>,
    trainee_id: &str,
    trainee: &StoredTrainee,
    requested: Option<&Trn>,
) -> Result<(Trn, Vec<Holder>), RegistryActionError> {
    if let Some(trn) = requested {
        return Ok((trn.clone(), provider.holders_of(trn, trainee_id)?));
    }
    let trn = match registry::trn_of(&trainee.record) {
        Some(trn) => trn,
        None => provider.draw_trn()?,
    };
    Ok((trn, Vec::new()))
}

/// Performs the next step of the registry for a trainee of a sandbox. A submitted trainee gets a
/// TRN. A recommended trainee gets the award, after a TRN if there is none. A deferred trainee
/// returns today. Returns `None` in all other states.
///
/// # Errors
///
/// [`RegistryActionError::Refused`], or when the store fails.
pub fn advance(
    session: &mut ProviderSession<'_>,
    trainee: &Trainee,
) -> Result<Option<Decision<Trainee>>, RegistryActionError> {
    let today = session.today();
    let now = session.change_date();
    let mut issue_drawn_trn = |trainee: &Trainee| {
        let trn = session.draw_trn()?;
        Ok::<_, RegistryActionError>(registry::issue_trn(trainee, &trn, &[], today, now)?)
    };
    Ok(Some(match trainee.state_or_draft() {
        State::SubmittedForTrn => issue_drawn_trn(trainee)?,
        State::RecommendedForAward if trainee.trn.is_none() => {
            registry::award(&issue_drawn_trn(trainee)?.record, now)?
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

/// The trainee, also if discarded, but not if erased.
fn find_trainee(
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

/// Finds a trainee, calls `decide`, and saves a change. Finding the trainee locks the provider, and
/// sets the date of changes after the trainee's last change. So `decide` must not run earlier.
fn apply(
    session: &mut Session<'_>,
    trainee_id: &str,
    cause: Cause<'_>,
    decide: impl FnOnce(
        &mut ProviderSession<'_>,
        &StoredTrainee,
    ) -> Result<Decision<Trainee>, RegistryActionError>,
) -> Result<Outcome, RegistryActionError> {
    let mut provider = session
        .open_trainee(trainee_id, cause)?
        .ok_or(RegistryActionError::UnknownTrainee)?;
    let trainee = find_trainee(&mut provider, trainee_id)?;
    let decision = decide(&mut provider, &trainee)?;
    if decision.changed {
        provider.update_trainee(&trainee, &decision.record)?;
    }
    Ok(Outcome {
        changed: decision.changed,
        standing: registry::status_summary(&decision.record),
    })
}

/// Like [`perform`], but for an operator: a change is also recorded in the activity log.
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

/// Like [`perform_for_operator`], but for a command: runs in its own transaction.
/// Blocks.
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
    let trainee_id = trainee_id.to_owned();
    let action = action.clone();
    let by = by.to_owned();
    store.write_blocking(move |session| {
        perform_for_operator(session, &trainee_id, &action, Actor::operator(&by))
    })
}
