//! Queued queries: each is sent together with the next statement, and its rows are taken later.

use std::sync::{Arc, OnceLock};

use tokio_postgres::Row;

/// The rows of a queued query. They arrive with the answer to a later statement.
#[derive(Debug)]
pub struct QueuedRows(Arc<OnceLock<Vec<Row>>>);

/// How to run the next query.
#[derive(Debug, Default)]
pub(crate) enum NextQuery {
    /// Send the statement behind the queued and deferred ones, and wait for its rows.
    #[default]
    Load,
    /// Queue the statement, and return no rows.
    Queue,
    /// Return the rows of the queued statement.
    Take(QueuedRows),
}

impl QueuedRows {
    /// An empty handle, and the cell that receives its rows.
    pub(crate) fn new() -> (Self, Arc<OnceLock<Vec<Row>>>) {
        let rows = Arc::default();
        (Self(Arc::clone(&rows)), rows)
    }

    /// Whether the rows have arrived.
    pub(crate) fn have_arrived(&self) -> bool {
        self.0.get().is_some()
    }

    /// The rows; `None` if they have not arrived.
    pub(crate) fn into_rows(self) -> Option<Vec<Row>> {
        // The request drops its reference once the rows have arrived.
        Arc::into_inner(self.0)?.into_inner()
    }
}
