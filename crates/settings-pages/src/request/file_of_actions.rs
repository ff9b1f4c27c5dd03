//! The rows of a file that an operator has sent, before they are done.

use registry::actions::RegistryAction;
use registry::import::RowProblem;
use storage::accounts::users::SignedIn;

/// A row: the identifier of the trainee and the action, or what is wrong with it.
pub(crate) type ActionRow = Result<(String, RegistryAction), RowProblem>;
/// ActionRows with the lines on which they begin.
pub(crate) type ActionRows = Vec<(u64, ActionRow)>;

/// The rows of a file that was received, to be done for an operator.
#[derive(Debug)]
pub(crate) struct FileOfActions {
    pub(crate) signed_in: SignedIn,
    pub(crate) action: RegistryAction,
    pub(crate) rows: ActionRows,
}
