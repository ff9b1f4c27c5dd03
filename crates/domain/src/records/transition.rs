//! What a request says when it asks for a transition: the inputs of defer, withdraw and recommend.
//!
//! Each is written for a trainee, its owner, whose state and dates the rules of the transition
//! read.

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
            /// Why; the codes depend on the trigger.
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
            /// Day on which the pause begins.
            defer_date: Date;
            /// Why.
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
            /// Day on which the trainee met the standards for QTS or EYTS.
            qts_standards_met_date: Date;
        }
        service {}
        derived {}
    }
}

impl Withdrawal {
    /// The request that withdrew the trainee, as far as the record shows; `None` when there was
    /// none.
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
    /// The request that deferred the trainee last; `None` when there was none.
    #[must_use]
    pub fn from_trainee(trainee: &dyn Stored<Trainee>) -> Option<Self> {
        trainee.get(F::defer_date).map(|date| Self {
            defer_date: Some(date),
            defer_reason: trainee.get(F::defer_reason),
        })
    }
}

impl Recommendation {
    /// The request that recommended the trainee; `None` when there was none.
    #[must_use]
    pub fn from_trainee(trainee: &dyn Stored<Trainee>) -> Option<Self> {
        trainee.get(F::outcome_date).map(|date| Self {
            qts_standards_met_date: Some(date),
        })
    }
}
