//! What binds this version alone.

use domain::rules::Gate;
use domain::{Action, Trainee};

/// A finished record is not changed (contract, section 3: arrived with this version).
pub(crate) const FINISHED_RECORDS: Gate = Gate {
    name: "finished_records",
    description: "refuses changes of a trainee who is recommended, withdrawn or awarded",
    section: "3",
    refuses: |trainee: &Trainee, action| {
        action == Action::Update && trainee.state.is_some_and(domain::State::is_finished)
    },
};
