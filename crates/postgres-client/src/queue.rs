//! Queries that are sent together with the next statement, and whose rows are taken once that one
//! is answered.

use std::sync::{Arc, OnceLock};

use tokio_postgres::Row;

/// The rows of a query that was queued. They are there once a later statement was answered.
#[derive(Debug)]
pub struct QueuedRows(Arc<OnceLock<Vec<Row>>>);

/// What becomes of the next query.
#[derive(Debug, Default)]
pub(crate) enum NextQuery {
    /// Sends the statement with the queued and deferred ones before it, and waits for its rows.
    #[default]
    Load,
    /// Queues the statement; there are no rows yet.
    Queue,
    /// Takes the rows of the queued statement.
    Take(QueuedRows),
}

impl QueuedRows {
    /// The place of rows, and where they are put when they arrive.
    pub(crate) fn new() -> (Self, Arc<OnceLock<Vec<Row>>>) {
        let rows = Arc::default();
        (Self(Arc::clone(&rows)), rows)
    }

    pub(crate) fn have_arrived(&self) -> bool {
        self.0.get().is_some()
    }

    /// The rows; nothing when they have not arrived.
    pub(crate) fn into_rows(self) -> Option<Vec<Row>> {
        // The other owner has dropped its reference by then.
        Arc::into_inner(self.0)?.into_inner()
    }
}
