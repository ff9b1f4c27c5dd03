//! Compares two registers row by row.

use std::collections::BTreeMap;
use std::fmt;

use database::connection::{Access, DatabaseConnection};

use super::rows::{Key, Row, TableAccess, key_of, show_key};
use super::tables::{COPIED, CopiedTable};
use super::{BATCH, CopyError, CopyReport, Step, source_error, target_error};

/// A row that differs between source and target. Identified by its key, without personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: &'static str,
    /// The key of the row.
    pub key: String,
    /// The kind of difference.
    pub kind: DifferenceKind,
}

/// The kind of a difference.
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
        write!(
            formatter,
            "table {}, key {}: the row {what}",
            self.table, self.key
        )
    }
}

/// Compares all copied tables, each database in one snapshot.
pub(super) fn compare(
    source: &mut DatabaseConnection,
    target: &mut DatabaseConnection,
    report_step: &mut dyn FnMut(Step),
) -> Result<CopyReport, CopyError> {
    source.begin(Access::Read).map_err(source_error)?;
    target.begin(Access::Read).map_err(target_error)?;
    let mut report = CopyReport::default();
    for table in COPIED {
        let rows = compare_rows(source, target, table, &mut report.differences, report_step)?;
        report.rows.push((table.name, rows));
    }
    source.roll_back().map_err(source_error)?;
    target.roll_back().map_err(target_error)?;
    Ok(report)
}

/// Compares one table page by page, and appends to `differences`. Returns the number of rows in the
/// source.
fn compare_rows(
    source: &mut DatabaseConnection,
    target: &mut DatabaseConnection,
    table: &'static CopiedTable,
    differences: &mut Vec<Difference>,
    report_step: &mut dyn FnMut(Step),
) -> Result<u64, CopyError> {
    let source_access = TableAccess::new(source, table).map_err(source_error)?;
    let target_access = TableAccess::new(target, table).map_err(target_error)?;
    let mut after = None;
    let mut rows = 0;
    loop {
        let source_page = source_access
            .page(source, after.as_ref())
            .map_err(source_error)?;
        let target_page = target_access
            .page(target, after.as_ref())
            .map_err(target_error)?;
        // Both pages are complete up to the smaller of the last keys of full pages. Later keys are
        // compared with the next pages.
        let end = [&source_page, &target_page]
            .into_iter()
            .filter(|page| page.len() == BATCH)
            .filter_map(|page| page.last())
            .map(|row| key_of(table, row))
            .min();
        let mut pairs = pair_rows(table, source_page, target_page);
        if let Some(end) = &end {
            pairs.retain(|key, _| key <= end);
        }
        let compared = pairs.values().filter(|(row, _)| row.is_some()).count() as u64;
        rows += compared;
        report_step(Step::Compared(compared));
        for (key, pair) in pairs {
            let kind = match pair {
                (Some(_), None) => DifferenceKind::Missing,
                (None, _) => DifferenceKind::Extra,
                (row, other) if row != other => DifferenceKind::Unequal,
                _ => continue,
            };
            differences.push(Difference {
                table: table.name,
                key: show_key(table, key),
                kind,
            });
        }
        if end.is_none() {
            return Ok(rows);
        }
        after = end;
    }
}

/// The rows of both databases by key: the row of the source, then that of the target.
fn pair_rows(
    table: &CopiedTable,
    source_rows: Vec<Row>,
    target_rows: Vec<Row>,
) -> BTreeMap<Key, (Option<Row>, Option<Row>)> {
    let mut pairs: BTreeMap<Key, (Option<Row>, Option<Row>)> = BTreeMap::new();
    for row in source_rows {
        let key = key_of(table, &row);
        pairs.entry(key).or_default().0 = Some(row);
    }
    for row in target_rows {
        let key = key_of(table, &row);
        pairs.entry(key).or_default().1 = Some(row);
    }
    pairs
}
