//! Deferrals (contract, section 4.11).

use crate::lifecycle::Action;
use crate::problem::ProblemKind;
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::trainee::TraineeField;
use crate::records::transition::{Deferral, DeferralField as F};
use crate::rules::{Findings, Run, found_if};

required_rules! { Deferral:
    DATE("4.11") = "defer_date_required": [F::defer_date];
}

rules! { Deferral:
    // The state is checked only if the fields are valid.
    STATE("3") = "deferral_state": "the state is submitted_for_trn or trn_received",
        [F::defer_date, F::defer_reason] => Run::Check(state);
}

/// Reports a state of the trainee that does not allow a deferral.
fn state(candidate: &Candidate<Deferral>, _: &Context<'_>) -> Findings {
    let refused = candidate.owner.next_state(Action::Defer).is_err();
    found_if(refused, TraineeField::state, || ProblemKind::WrongState {
        action: Action::Defer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::State;
    use crate::records::trainee::Trainee;
    use crate::records::transition::DeferralChanges;
    use crate::rules::testing::{apply, paths};

    #[test]
    fn draft_cannot_be_deferred() {
        let refused = |state| {
            let trainee = Trainee {
                state,
                ..Trainee::default()
            };
            paths(&apply(trainee, None, DeferralChanges::default(), &[STATE]))
        };
        assert_eq!(refused(None), [TraineeField::state.into()]);
        assert_eq!(refused(Some(State::SubmittedForTrn)), []);
    }
}
