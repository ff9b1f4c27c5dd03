//! Detects that SQLite has ended a whole transaction because of a failure.
//!
//! After a full disk or a failed read or write, SQLite rolls back the whole transaction instead of
//! the statement. If a job ignored the failure, each of its later statements would be committed
//! separately, outside the group's transaction. From then on the connection therefore rejects all
//! statements except ROLLBACK.

use std::sync::{Arc, OnceLock};

use diesel::connection::{Instrumentation as _, InstrumentationEvent, get_default_instrumentation};
use diesel::result::{DatabaseErrorKind, Error as DieselError};

use super::database_connection::DatabaseConnection;
use crate::error::DatabaseError;

/// The messages of failures that may end a SQLite transaction ("Response To Errors Within A
/// Transaction", <https://sqlite.org/lang_transaction.html>). diesel does not pass on the result
/// codes.
const CONDITIONS: [&str; 3] = [
    "database or disk is full",
    "disk I/O error",
    "out of memory",
];

/// The failure that one connection encountered, if any.
#[derive(Debug)]
pub(crate) struct Watch {
    condition: Arc<OnceLock<&'static str>>,
}

impl Watch {
    /// Watches a connection until it is closed.
    pub(crate) fn new(connection: &mut DatabaseConnection) -> Self {
        let condition = Arc::new(OnceLock::new());
        let met = Arc::clone(&condition);
        // Also forwards the events to the default listener.
        let mut listener = get_default_instrumentation();
        connection.count_statements(move |event: InstrumentationEvent<'_>| {
            notice(&event, &met);
            listener.on_connection_event(event);
        });
        Self { condition }
    }

    /// Fails if the connection encountered a failure that may have ended its transaction.
    pub(crate) fn require_open(&self) -> Result<(), DatabaseError> {
        match self.condition.get() {
            Some(condition) => Err(DatabaseError::TransactionEnded { condition }),
            None => Ok(()),
        }
    }
}

/// Records the first failure that may end a transaction. Panics at each later statement except
/// ROLLBACK.
fn notice(event: &InstrumentationEvent<'_>, met: &OnceLock<&'static str>) {
    if let InstrumentationEvent::FinishQuery {
        error: Some(DieselError::DatabaseError(kind, information)),
        ..
    } = event
        && matches!(kind, DatabaseErrorKind::Unknown)
        && let Some(condition) = CONDITIONS
            .into_iter()
            .find(|condition| *condition == information.message())
    {
        // The first failure is the cause of those that follow.
        let _ = met.set(condition);
    } else if let InstrumentationEvent::StartQuery { query, .. } = event
        && let Some(condition) = met.get()
        && !query.to_string().starts_with("ROLLBACK")
    {
        // A panic is the only way to stop a statement from a listener. The panic unwinds the job,
        // and the writer then finds the condition.
        panic!("a query was made after sqlite ended the transaction: {condition}");
    }
}
