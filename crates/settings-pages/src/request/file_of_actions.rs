//! The received rows of a file of actions, before processing.

use registry::actions::RegistryAction;
use registry::import::RowProblem;
use storage::accounts::users::SignedIn;

/// A row: the identifier of the trainee and the action, or the problem of the row.
pub(crate) type ActionRow = Result<(String, RegistryAction), RowProblem>;
/// Rows with their first lines.
pub(crate) type ActionRows = Vec<(u64, ActionRow)>;

/// The rows of a received file, to be processed for an operator.
#[derive(Debug)]
pub(crate) struct FileOfActions {
    pub(crate) signed_in: SignedIn,
    pub(crate) action: RegistryAction,
    pub(crate) rows: ActionRows,
}
