//! The result of queued queries.

use database::connection::DatabaseConnection;

use crate::error::StorageError;

/// Takes the rows of one or more queued queries and combines them into one result.
pub(crate) type PendingResult<T> =
    Box<dyn FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>>;
