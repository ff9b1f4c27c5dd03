//! The result of queries that are queued.

use database::connection::DatabaseConnection;

use crate::error::StorageError;

/// Takes the rows of one or more queued queries and returns what they say together.
pub(crate) type PendingResult<T> =
    Box<dyn FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>>;
