//! The states of a trainee's record, and the only table of their transitions (contract, section 3).

use std::fmt;

use thiserror::Error;

use crate::fields::named_enum::named_enum;
use crate::fields::value::{FieldType, Kind, Value};

named_enum! {
    /// The state of a trainee's record.
    State or UnknownState = "not the name of a state" {
        /// An unfinished import. The API neither shows nor creates drafts.
        Draft = "draft",
        /// Registered, without a teacher reference number.
        SubmittedForTrn = "submitted_for_trn",
        /// Registered, with a teacher reference number.
        TrnReceived = "trn_received",
        /// The training is paused.
        Deferred = "deferred",
        /// The trainee has left the training.
        Withdrawn = "withdrawn",
        /// The provider says that the standards are met.
        RecommendedForAward = "recommended_for_award",
        /// QTS or EYTS has been granted.
        Awarded = "awarded",
    }
}

impl State {
    /// The names that the API shows.
    pub const NAMES: &'static [&'static str] = &[
        Self::SubmittedForTrn.name(),
        Self::TrnReceived.name(),
        Self::Deferred.name(),
        Self::Withdrawn.name(),
        Self::RecommendedForAward.name(),
        Self::Awarded.name(),
    ];

    /// Whether the training is over: recommended, withdrawn or awarded.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        match self {
            Self::RecommendedForAward | Self::Withdrawn | Self::Awarded => true,
            Self::Draft | Self::SubmittedForTrn | Self::TrnReceived | Self::Deferred => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FieldType for State {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> Value<'_> {
        Value::text(self.name())
    }

    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_text()?.parse().ok()
    }
}

/// An action on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A provider changes the record, a placement or a degree.
    Update,
    /// A provider defers the trainee.
    Defer,
    /// A provider recommends the trainee for the award.
    Recommend,
    /// A provider withdraws the trainee.
    Withdraw,
    /// The registry issues a teacher reference number.
    IssueTrn,
    /// The registry confirms the award.
    Award,
    /// An operator brings a deferred trainee back.
    Reinstate,
    /// An operator returns a recommendation.
    ReturnRecommendation,
    /// An operator undoes a withdrawal.
    UndoWithdrawal {
        /// The state before the withdrawal.
        previous: StateBeforeWithdrawal,
    },
    /// An operator removes the record from lists, reads and duplicate checks.
    Discard,
    /// A provider resets its sandbox. Like `Discard`, but allowed in every state except draft.
    Reset,
}

/// A state that allows a withdrawal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateBeforeWithdrawal {
    /// See [`State::SubmittedForTrn`].
    SubmittedForTrn,
    /// See [`State::TrnReceived`].
    TrnReceived,
    /// See [`State::Deferred`].
    Deferred,
}

impl StateBeforeWithdrawal {
    /// Converts a state. Returns `None` for a state that does not allow a withdrawal.
    #[must_use]
    pub const fn from_state(state: State) -> Option<Self> {
        match state {
            State::SubmittedForTrn => Some(Self::SubmittedForTrn),
            State::TrnReceived => Some(Self::TrnReceived),
            State::Deferred => Some(Self::Deferred),
            State::Draft | State::Withdrawn | State::RecommendedForAward | State::Awarded => None,
        }
    }

    /// Returns the state.
    #[must_use]
    pub const fn state(self) -> State {
        match self {
            Self::SubmittedForTrn => State::SubmittedForTrn,
            Self::TrnReceived => State::TrnReceived,
            Self::Deferred => State::Deferred,
        }
    }
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 13] = [
        Self::Update,
        Self::Defer,
        Self::Recommend,
        Self::Withdraw,
        Self::IssueTrn,
        Self::Award,
        Self::Reinstate,
        Self::ReturnRecommendation,
        Self::UndoWithdrawal {
            previous: StateBeforeWithdrawal::SubmittedForTrn,
        },
        Self::UndoWithdrawal {
            previous: StateBeforeWithdrawal::TrnReceived,
        },
        Self::UndoWithdrawal {
            previous: StateBeforeWithdrawal::Deferred,
        },
        Self::Discard,
        Self::Reset,
    ];

    /// Returns the action as a verb, to be followed by "a trainee".
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Defer => "defer",
            Self::Recommend => "recommend",
            Self::Withdraw => "withdraw",
            Self::IssueTrn => "issue a TRN for",
            Self::Award => "award",
            Self::Reinstate => "reinstate",
            Self::ReturnRecommendation => "return the recommendation of",
            Self::UndoWithdrawal { .. } => "undo the withdrawal of",
            Self::Discard => "discard",
            Self::Reset => "reset",
        }
    }
}

/// The state of the record does not allow the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot {} a trainee in state {state}", action.verb())]
pub struct TransitionError {
    /// The requested action.
    pub action: Action,
    /// The state of the record.
    pub state: State,
}

/// Returns the states that allow an action, for a record with a teacher reference number.
pub fn states_before(action: Action) -> impl Iterator<Item = State> {
    State::ALL
        .iter()
        .copied()
        .filter(move |state| next_state(*state, action, true).is_ok())
}

/// Returns the state after an action.
///
/// `has_trn`: whether the record has a teacher reference number. A record that returns to training
/// becomes `trn_received` with a number, else `submitted_for_trn`.
///
/// # Errors
///
/// [`TransitionError`] if the state does not allow the action.
pub const fn next_state(
    state: State,
    action: Action,
    has_trn: bool,
) -> Result<State, TransitionError> {
    use State::{
        Awarded, Deferred, Draft, RecommendedForAward, SubmittedForTrn, TrnReceived, Withdrawn,
    };
    let in_training = if has_trn {
        TrnReceived
    } else {
        SubmittedForTrn
    };
    match (action, state) {
        (
            Action::Update | Action::Discard,
            SubmittedForTrn | TrnReceived | Deferred | Withdrawn,
        )
        | (Action::Update, RecommendedForAward | Awarded)
        | (Action::Discard, Draft)
        | (
            Action::Reset,
            SubmittedForTrn | TrnReceived | Deferred | Withdrawn | RecommendedForAward | Awarded,
        )
        | (Action::IssueTrn, TrnReceived | Deferred | Withdrawn | RecommendedForAward) => Ok(state),

        (Action::Defer, SubmittedForTrn | TrnReceived) => Ok(Deferred),
        (Action::Recommend, SubmittedForTrn | TrnReceived) => Ok(RecommendedForAward),
        (Action::Withdraw, SubmittedForTrn | TrnReceived | Deferred) => Ok(Withdrawn),
        (Action::IssueTrn, SubmittedForTrn) => Ok(TrnReceived),
        (Action::Award, RecommendedForAward) if has_trn => Ok(Awarded),
        (Action::Reinstate, Deferred) | (Action::ReturnRecommendation, RecommendedForAward) => {
            Ok(in_training)
        }
        (Action::UndoWithdrawal { previous }, Withdrawn) => Ok(match previous {
            // The registry may have issued a number after the withdrawal.
            StateBeforeWithdrawal::SubmittedForTrn | StateBeforeWithdrawal::TrnReceived => {
                in_training
            }
            StateBeforeWithdrawal::Deferred => Deferred,
        }),

        (Action::Update | Action::IssueTrn | Action::Reset, Draft)
        | (Action::IssueTrn, Awarded)
        | (Action::Discard, RecommendedForAward | Awarded)
        | (
            Action::Defer | Action::Recommend,
            Draft | Deferred | Withdrawn | RecommendedForAward | Awarded,
        )
        | (Action::Withdraw, Draft | Withdrawn | RecommendedForAward | Awarded)
        | (
            Action::Award,
            Draft | SubmittedForTrn | TrnReceived | Deferred | Withdrawn | RecommendedForAward
            | Awarded,
        )
        | (
            Action::Reinstate,
            Draft | SubmittedForTrn | TrnReceived | Withdrawn | RecommendedForAward | Awarded,
        )
        | (
            Action::ReturnRecommendation,
            Draft | SubmittedForTrn | TrnReceived | Deferred | Withdrawn | Awarded,
        )
        | (
            Action::UndoWithdrawal { .. },
            Draft | SubmittedForTrn | TrnReceived | Deferred | RecommendedForAward | Awarded,
        ) => Err(TransitionError { action, state }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_states_are_parsed() {
        for state in State::ALL {
            assert_eq!(state.name().parse(), Ok(*state));
        }
        assert_eq!("Deferred".parse::<State>(), Err(UnknownState));
    }
}
