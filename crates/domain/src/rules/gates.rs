//! Gates: preconditions of actions on a trainee, such as a required state.

use super::Gate;
use crate::lifecycle::{Action, State};
use crate::records::trainee::Trainee;

/// A finished record is not changed (contract, section 3).
pub const FINISHED_RECORDS: Gate = Gate {
    name: "finished_records",
    description: "refuses changes of a trainee who is recommended, withdrawn or awarded",
    section: "3",
    refuses: |trainee: &Trainee, action| {
        action == Action::Update && trainee.state.is_some_and(State::is_finished)
    },
};
