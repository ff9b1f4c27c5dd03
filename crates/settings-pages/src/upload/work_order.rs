//! The work on the rows of an upload that a page starts.

use std::sync::Arc;

use gateway::request::identity::UserIdentity;
use storage::accounts::uploads::UploadRecord;

use crate::upload::sealing::UploadKey;

/// The work to do, with the key of the browser.
pub(crate) struct WorkOrder {
    pub(crate) user: UserIdentity,
    pub(crate) upload: UploadRecord,
    pub(crate) key: Arc<UploadKey>,
}
