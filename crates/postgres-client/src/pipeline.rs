//! Queries in a pipeline: sent together with the next statement, and read once that one is answered.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use tokio_postgres::Row;

/// What the connection does with a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PipelineMode {
    /// Sends it, with what was queued or deferred before it, and waits for its rows.
    #[default]
    Off,
    /// Queues it: it is sent together with the next statement that is waited for. It has no rows yet.
    Queue,
    /// Sends nothing and returns the rows of the query that was queued first and not read yet. The caller loads the same
    /// queries in the same order as it queued them.
    Read,
}

/// The rows of a query that was queued, once they have arrived.
pub(crate) type QueuedRows = Arc<OnceLock<Vec<Row>>>;

/// The queries that were queued.
#[derive(Debug, Default)]
pub(crate) struct Pipeline {
    pub(crate) mode: PipelineMode,
    queued: VecDeque<QueuedRows>,
}

impl Pipeline {
    pub(crate) fn set_mode(&mut self, mode: PipelineMode) {
        if mode == PipelineMode::Queue {
            self.clear();
        }
        self.mode = mode;
    }

    /// Drops what was queued and not read: behind a failure it is not valid.
    pub(crate) fn clear(&mut self) {
        self.queued.clear();
    }

    /// Where the rows of another query are put.
    pub(crate) fn push(&mut self) -> QueuedRows {
        let rows = QueuedRows::default();
        self.queued.push_back(Arc::clone(&rows));
        rows
    }

    /// Whether the rows of the first query that was not read yet have not arrived.
    pub(crate) fn is_waiting(&self) -> bool {
        self.queued.front().is_some_and(|rows| rows.get().is_none())
    }

    /// The rows of the first query that was not read yet; nothing when they have not arrived.
    pub(crate) fn pop(&mut self) -> Option<Vec<Row>> {
        let rows = self.queued.pop_front()?;
        // Whoever put them there has dropped its share by then.
        Arc::into_inner(rows)?.into_inner()
    }
}
