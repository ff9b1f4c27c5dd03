//! Notices when SQLite ends a whole transaction because of a failure.
//!
//! A full disk or a failed read or write rolls everything back, not only the statement, and leaves
//! the connection without a transaction. A job that passed over such a failure would go on with
//! statements that are committed one by one, behind the back of the group. So from then on the
//! connection lets no statement through but a roll-back.

use std::sync::{Arc, OnceLock};

use diesel::connection::{Instrumentation as _, InstrumentationEvent, get_default_instrumentation};
use diesel::result::{DatabaseErrorKind, Error as DieselError};

use crate::connection::DatabaseConnection;
use crate::error::DatabaseError;

/// The messages of failures that may end a transaction of SQLite ("Response To Errors Within A
/// Transaction", <https://sqlite.org/lang_transaction.html>). Its result codes do not reach us
/// through diesel.
const CONDITIONS: [&str; 3] = [
    "database or disk is full",
    "disk I/O error",
    "out of memory",
];

/// What one connection met.
#[derive(Debug)]
pub(super) struct Watch {
    condition: Arc<OnceLock<&'static str>>,
}

impl Watch {
    /// Watches a connection until it is closed.
    pub(super) fn new(connection: &mut DatabaseConnection) -> Self {
        let condition = Arc::new(OnceLock::new());
        let met = Arc::clone(&condition);
        // A listener to all connections also gets the events of this one.
        let mut listener = get_default_instrumentation();
        connection.count_statements(move |event: InstrumentationEvent<'_>| {
            notice(&event, &met);
            listener.on_connection_event(event);
        });
        Self { condition }
    }

    /// Fails when the connection met a failure that may have ended its transaction.
    pub(super) fn require_open(&self) -> Result<(), DatabaseError> {
        match self.condition.get() {
            Some(condition) => Err(DatabaseError::TransactionEnded { condition }),
            None => Ok(()),
        }
    }
}

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
        // The only way to stop a statement from here. The job is unwound, and the writer finds the
        // condition.
        panic!("a query was made after sqlite ended the transaction: {condition}");
    }
}
