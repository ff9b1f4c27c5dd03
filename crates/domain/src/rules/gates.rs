//! Gates: refusals of actions depending on the state of a trainee.

use super::Gate;
use crate::lifecycle::{Action, State};
use crate::records::trainee::Trainee;

/// Refuses changes of finished records (contract, section 3).
pub const FINISHED_RECORDS: Gate = Gate {
    name: "finished_records",
    description: "refuses changes of a trainee who is recommended, withdrawn or awarded",
    section: "3",
    refuses: |trainee: &Trainee, action| {
        action == Action::Update && trainee.state.is_some_and(State::is_finished)
    },
};
