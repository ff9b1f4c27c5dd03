//! Compares two registers row by row.

use std::cmp::Ordering;
use std::fmt;

use super::tables::{Copied, Visitor, visit_all};
use super::{BATCH, CopyError, CopyReport, Step};
use crate::connection::{Access, DatabaseConnection};
use crate::error::StorageError;

/// A row that is not the same in source and target. It is named by its key and holds nothing of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: &'static str,
    /// The row's key.
    pub key: String,
    /// What is different.
    pub kind: DifferenceKind,
}

/// What can be different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The target lacks the row.
    Missing,
    /// The source lacks the row.
    Extra,
    /// A value differs.
    Unequal,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DifferenceKind::Missing => "is not in the target",
            DifferenceKind::Extra => "is not in the source",
            DifferenceKind::Unequal => "is not the same in both",
        };
        write!(formatter, "table {}, key {}: the row {what}", self.table, self.key)
    }
}

/// Compares all copied tables, each database in one snapshot.
pub(super) fn compare(
    source: &mut DatabaseConnection,
    target: &mut DatabaseConnection,
    report_step: &mut dyn FnMut(Step),
) -> Result<CopyReport, CopyError> {
    source.begin(Access::Read).map_err(|error| CopyError::Source(error.into()))?;
    target.begin(Access::Read).map_err(|error| CopyError::Target(error.into()))?;
    let mut comparison = Comparison { source, target, report_step, report: CopyReport::default() };
    let outcome = visit_all(&mut comparison);
    let Comparison { source, target, report, .. } = comparison;
    source.roll_back().map_err(|error| CopyError::Source(error.into()))?;
    target.roll_back().map_err(|error| CopyError::Target(error.into()))?;
    outcome.map(|()| report)
}

struct Comparison<'a> {
    source: &'a mut DatabaseConnection,
    target: &'a mut DatabaseConnection,
    report_step: &'a mut dyn FnMut(Step),
    report: CopyReport,
}

impl Visitor for Comparison<'_> {
    type Error = CopyError;

    fn visit<R: Copied>(&mut self) -> Result<(), CopyError> {
        let mut source = Rows::<R>::default();
        let mut target = Rows::<R>::default();
        let mut rows = 0;
        loop {
            let one = source.peek(self.source).map_err(CopyError::Source)?;
            let other = target.peek(self.target).map_err(CopyError::Target)?;
            let order = match (one, other) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.cmp(&other),
            };
            let one = if order.is_le() { source.take() } else { None };
            let other = if order.is_ge() { target.take() } else { None };
            if one.is_some() {
                rows += 1;
                (self.report_step)(Step::Compared(1));
            }
            self.report.differences.extend(difference(one.as_ref(), other.as_ref()));
        }
        self.report.rows.push((R::TABLE, rows));
        Ok(())
    }
}

fn difference<R: Copied>(source: Option<&R>, target: Option<&R>) -> Option<Difference> {
    let (row, kind) = match (source, target) {
        (Some(one), Some(other)) => (one, (one != other).then_some(DifferenceKind::Unequal)?),
        (Some(one), None) => (one, DifferenceKind::Missing),
        (None, Some(other)) => (other, DifferenceKind::Extra),
        (None, None) => return None,
    };
    Some(Difference { table: R::TABLE, key: R::shown(&row.key()), kind })
}

/// The rows of one table in the order of their keys, a batch at a time.
struct Rows<R: Copied> {
    batch: std::vec::IntoIter<R>,
    last: Option<R::Key>,
    ended: bool,
}

impl<R: Copied> Default for Rows<R> {
    fn default() -> Self {
        Self { batch: Vec::new().into_iter(), last: None, ended: false }
    }
}

impl<R: Copied> Rows<R> {
    /// The key of the next row; reads the next batch when the last one is used up.
    fn peek(&mut self, connection: &mut DatabaseConnection) -> Result<Option<R::Key>, StorageError> {
        if self.batch.as_slice().is_empty() && !self.ended {
            let rows = R::page(connection, self.last.as_ref(), BATCH)?;
            self.ended = rows.is_empty();
            self.last = rows.last().map(Copied::key);
            self.batch = rows.into_iter();
        }
        Ok(self.batch.as_slice().first().map(Copied::key))
    }

    fn take(&mut self) -> Option<R> {
        self.batch.next()
    }
}
