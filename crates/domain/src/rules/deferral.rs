//! Deferrals (contract, section 4.11).

use crate::candidate::Candidate;
use crate::lifecycle::{Action, State, next};
use crate::problem::ProblemKind;
use crate::rules::{Context, Findings, Rule, Run, found_if};
use crate::trainee::TraineeField;
use crate::transition::{Deferral, DeferralField};

/// A deferral begins on a day.
pub const DATE: Rule<Deferral> = Rule {
    name: "defer_date_required",
    demands: "must be there",
    section: "4.11",
    reads: &[DeferralField::defer_date],
    run: Run::Present,
};

/// The state of the record allows a deferral. It is looked at once the fields are fine.
pub const STATE: Rule<Deferral> = Rule {
    name: "deferral_state",
    demands: "is submitted_for_trn or trn_received",
    section: "3",
    reads: &[DeferralField::defer_date, DeferralField::defer_reason],
    run: Run::Check(state),
};

fn state(candidate: &Candidate<Deferral>, _: &Context<'_>) -> Findings {
    let trainee = &candidate.owner;
    let refused = next(trainee.state.unwrap_or(State::Draft), Action::Defer, trainee.trn.is_some()).is_err();
    found_if(refused, TraineeField::state, || ProblemKind::WrongState { action: Action::Defer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trainee;
    use crate::rules::trial::{judged, places};
    use crate::transition::DeferralChanges;

    #[test]
    fn a_record_without_a_state_is_a_draft_which_has_no_deferral() {
        let refused = |state| {
            let trainee = Trainee { state, ..Trainee::default() };
            places(&judged(trainee, None, DeferralChanges::default(), &[STATE]))
        };
        assert_eq!(refused(None), [TraineeField::state.into()]);
        assert_eq!(refused(Some(State::SubmittedForTrn)), []);
    }
}
