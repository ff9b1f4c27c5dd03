//! The transitions requested by providers: withdraw, defer and recommend.

use super::decision::{Decision, advance, decide, wrong_state};
use crate::fields::parsed::ParsedRecord;
use crate::fields::value::Timestamp;
use crate::fields::vocabulary::STARTED_ON_TIME;
use crate::lifecycle::Action;
use crate::problem::Problem;
use crate::records::context::Context;
use crate::records::record::Record;
use crate::records::trainee::Trainee;
use crate::records::transition::{Deferral, Recommendation, Withdrawal};
use crate::rules::{Rule, Rules};

/// The input of a transition.
pub trait Transition: Record<Owner = Trainee> {
    /// The action of the transition.
    const ACTION: Action;

    /// Returns the rules of a version for the input.
    fn rules(rules: &Rules) -> &'static [Rule<Self>];

    /// Copies the input to the fields of the trainee.
    fn write_to(self, trainee: &mut Trainee, now: Timestamp);
}

/// Applies a transition to a trainee (contract, sections 4.11 to 4.13).
///
/// # Errors
///
/// All problems of the input and of the state of the trainee.
pub fn transition<T: Transition>(
    trainee: &Trainee,
    sent: ParsedRecord<T>,
    rules: &Rules,
    context: &Context<'_>,
    now: Timestamp,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let Decision {
        record: request,
        notices,
        ..
    } = decide(trainee.clone(), None, sent, T::rules(rules), context)?;
    let mut record = advance(trainee, T::ACTION, now).map_err(wrong_state)?;
    request.write_to(&mut record, now);
    Ok(Decision {
        record,
        changed: true,
        notices,
    })
}

impl Transition for Withdrawal {
    const ACTION: Action = Action::Withdraw;

    fn rules(rules: &Rules) -> &'static [Rule<Self>] {
        rules.withdrawal
    }

    fn write_to(self, trainee: &mut Trainee, _: Timestamp) {
        trainee.withdrawal_date = self.withdrawal_date;
        trainee.withdrawal_trigger = self.trigger;
        trainee.withdrawal_future_interest = self.future_interest;
        trainee.withdrawal_reasons = self.reasons;
        trainee.withdrawal_another_reason = self.another_reason;
        trainee.withdrawal_safeguarding_concern_reasons = self.safeguarding_concern_reasons;
    }
}

impl Transition for Deferral {
    const ACTION: Action = Action::Defer;

    fn rules(rules: &Rules) -> &'static [Rule<Self>] {
        rules.deferral
    }

    fn write_to(self, trainee: &mut Trainee, _: Timestamp) {
        trainee.defer_date = self.defer_date;
        trainee.defer_reason = self.defer_reason;
        if trainee.commencement_status.as_deref() == Some(STARTED_ON_TIME) {
            trainee.trainee_start_date = trainee.itt_start_date;
        }
    }
}

impl Transition for Recommendation {
    const ACTION: Action = Action::Recommend;

    fn rules(rules: &Rules) -> &'static [Rule<Self>] {
        rules.recommendation
    }

    fn write_to(self, trainee: &mut Trainee, now: Timestamp) {
        trainee.outcome_date = self.qts_standards_met_date;
        trainee.recommended_for_award_at = Some(now);
    }
}
