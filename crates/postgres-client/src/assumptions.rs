//! Queries with assumed rows: the caller goes on before the server has confirmed them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::Row;

use crate::row::bytes_of;

/// The rows of a result as the server sent them, to be compared with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRows(Arc<[Vec<Option<Vec<u8>>>]>);

impl RawRows {
    /// One row with one number of four bytes (`integer`).
    #[must_use]
    pub fn of_integer(number: i32) -> Self {
        Self(Arc::new([vec![Some(number.to_be_bytes().to_vec())]]))
    }

    /// No row.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::new([]))
    }

    /// Each row by itself.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.0.iter().map(|row| Self(Arc::new([row.clone()])))
    }

    /// The rows of all, one after the other.
    #[must_use]
    pub fn concat<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        Self(all.into_iter().flat_map(|rows| rows.0.iter().cloned()).collect())
    }

    pub(crate) fn of(rows: &[Row]) -> Self {
        Self(rows.iter().map(|row| (0..row.len()).map(|at| bytes_of(row, at).map(<[u8]>::to_vec)).collect()).collect())
    }
}

/// Whether the queries of a job had the rows that were assumed.
#[derive(Debug, Default)]
pub(crate) struct Assumptions {
    open: Vec<Arc<AtomicBool>>,
}

impl Assumptions {
    /// What is set when another query has the rows that are assumed.
    pub(crate) fn begin(&mut self) -> Arc<AtomicBool> {
        let met = Arc::new(AtomicBool::new(false));
        self.open.push(Arc::clone(&met));
        met
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(crate) fn is_met(&self) -> bool {
        self.open.iter().all(|met| met.load(Ordering::Relaxed))
    }

    /// Whether all were met; none is open from then on.
    pub(crate) fn end(&mut self) -> bool {
        let is_met = self.is_met();
        self.open.clear();
        is_met
    }
}
