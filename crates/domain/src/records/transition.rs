//! The inputs of the transitions defer, withdraw and recommend.
//!
//! The owner of an input is a trainee. Rules read the state and the dates of the trainee.

use crate::fields::dictionary::record;
use crate::fields::value::{Date, Text, TextList};
use crate::fields::vocabulary::{FUTURE_INTERESTS, WITHDRAWAL_TRIGGERS};
use crate::records::record::Stored;
use crate::records::trainee::{Trainee, TraineeField as F};

record! {
    /// A trainee leaves the training.
    Withdrawal / WithdrawalField / WithdrawalChanges named "withdrawal" of Trainee {
        inputs {
            /// Day of the withdrawal.
            withdrawal_date: Date;
            /// Whose decision it was.
            trigger: Text, one_of WITHDRAWAL_TRIGGERS;
            /// Whether the trainee may want to train later.
            future_interest: Text, one_of FUTURE_INTERESTS;
            /// Reasons; the codes depend on the trigger.
            reasons: TextList;
            /// The reason in the provider's words, when a reason says that it is another.
            another_reason: Text;
            /// What the concerns were, when safeguarding concerns are among the reasons.
            safeguarding_concern_reasons: Text;
        }
        service {}
        derived {}
    }
}

record! {
    /// A trainee pauses the training.
    Deferral / DeferralField / DeferralChanges named "deferral" of Trainee {
        inputs {
            /// First day of the pause.
            defer_date: Date;
            /// Reason of the deferral.
            defer_reason: Text, max 500;
        }
        service {}
        derived {}
    }
}

record! {
    /// A provider recommends a trainee for the award.
    Recommendation / RecommendationField / RecommendationChanges named "recommendation" of Trainee {
        inputs {
            /// Day of meeting the standards for QTS or EYTS.
            qts_standards_met_date: Date;
        }
        service {}
        derived {}
    }
}

impl Withdrawal {
    /// Restores the input of the withdrawal from the fields of a trainee. Returns `None` if the
    /// trainee is not withdrawn.
    #[must_use]
    pub fn from_trainee(trainee: &dyn Stored<Trainee>) -> Option<Self> {
        trainee.get(F::withdrawal_date).map(|date| Self {
            withdrawal_date: Some(date),
            trigger: trainee.get(F::withdrawal_trigger),
            future_interest: trainee.get(F::withdrawal_future_interest),
            reasons: trainee.get(F::withdrawal_reasons),
            another_reason: trainee.get(F::withdrawal_another_reason),
            safeguarding_concern_reasons: trainee.get(F::withdrawal_safeguarding_concern_reasons),
        })
    }
}

impl Deferral {
    /// Restores the input of the last deferral from the fields of a trainee. Returns `None` if the
    /// trainee was never deferred.
    #[must_use]
    pub fn from_trainee(trainee: &dyn Stored<Trainee>) -> Option<Self> {
        trainee.get(F::defer_date).map(|date| Self {
            defer_date: Some(date),
            defer_reason: trainee.get(F::defer_reason),
        })
    }
}

impl Recommendation {
    /// Restores the input of the recommendation from the fields of a trainee. Returns `None` if the
    /// trainee is not recommended.
    #[must_use]
    pub fn from_trainee(trainee: &dyn Stored<Trainee>) -> Option<Self> {
        trainee.get(F::outcome_date).map(|date| Self {
            qts_standards_met_date: Some(date),
        })
    }
}
