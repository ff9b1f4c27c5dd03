//! A stored file, opened for work on its rows.

use std::collections::BTreeMap;

use actix_web::rt::task::spawn_blocking;
use adapter_kit::Versions;
use chrono::NaiveDate;
use domain::{Lists, RecordField as _, TraineeField};
use storage::accounts::uploads::UploadRecord;
use tokio::sync::Semaphore;
use trainee_file::{
    Column, FileFault, Remedy, Repair, RepairContext, Row, Table, TraineeRow, find_repairs,
};

use crate::upload::codes::NewestCodes;
use crate::upload::names;
use crate::upload::repair_choices::RepairChoices;
use crate::upload::row_details::{CellProblem, FileDetails, Proposal};

/// The number of files that a server reads at once. Reading takes several times the memory of the
/// file.
const READ_AT_ONCE: usize = 1;

static READING: Semaphore = Semaphore::const_new(READ_AT_ONCE);

/// Runs a function that reads a whole file outside of the event loop, after the reading of other
/// files. Returns `None` if the function panics or the server stops.
pub(crate) async fn read_in_turn<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let permit = READING.acquire().await.ok()?;
    // The function goes on, and has the permit, if the request ends before it.
    let reading = spawn_blocking(move || {
        let found = read();
        drop(permit);
        found
    });
    reading.await.ok()
}

/// The rows of a file with their columns, and what was found of the whole file.
pub(crate) struct OpenedFile {
    header: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// The repairs that were not accepted.
    pub(crate) details: FileDetails,
    /// The problems of rows with cells that a spreadsheet has changed and that cannot be repaired,
    /// by line.
    doubtful: BTreeMap<u64, Vec<CellProblem>>,
}

impl OpenedFile {
    /// Reads a file, and repairs the accepted columns. Takes time by the size of the file: call it
    /// outside of the event loop.
    ///
    /// # Errors
    ///
    /// [`FileFault`], which receiving the file has excluded.
    pub(crate) fn read(
        bytes: &[u8],
        upload: &UploadRecord,
        versions: &Versions,
        lists: &Lists,
        today: NaiveDate,
    ) -> Result<Self, FileFault> {
        let mut table = Table::read(bytes)?;
        let columns = names::read(&names::names(versions), &upload.columns);
        let columns: Vec<_> = columns
            .into_iter()
            .map(|column| column.unwrap_or(Column::Ignored))
            .collect();
        let choices = RepairChoices::read(&upload.repairs);
        let context = RepairContext {
            today,
            date_order: choices.date_order,
        };
        let mut details = FileDetails {
            short_rows: table.short_rows.clone(),
            ..FileDetails::default()
        };
        let mut doubtful = BTreeMap::new();
        let codes = NewestCodes::new(versions, lists);
        for repair in find_repairs(&table, &columns, &codes, &context) {
            let name = repair_name(&repair);
            if choices.accepts(&name, &repair) {
                repair.apply(&mut table);
                continue;
            }
            if repair.kind.remedy() != Remedy::Repair {
                add_doubtful_cells(&repair, &table, &mut doubtful);
            }
            details.proposals.push(proposal(name, repair, &table));
        }
        Ok(Self {
            header: table.header,
            columns,
            rows: table.rows,
            details,
            doubtful,
        })
    }

    /// The rows after a line.
    pub(crate) fn rows_after(&self, line: i64) -> &[Row] {
        let first = self.rows.partition_point(|row| line_of(row) <= line);
        self.rows.get(first..).unwrap_or_default()
    }

    /// The row at a line.
    pub(crate) fn row_at(&self, line: i64) -> Option<&Row> {
        self.rows_after(line - 1)
            .first()
            .filter(|row| line_of(row) == line)
    }

    /// A row by its columns.
    pub(crate) fn trainee_row(&self, row: &Row) -> TraineeRow {
        TraineeRow::new(row, &self.columns)
    }

    /// The problems of a row with cells whose value is not certain.
    pub(crate) fn doubtful_cells(&self, row: &Row) -> &[CellProblem] {
        self.doubtful.get(&row.line).map_or(&[], Vec::as_slice)
    }

    /// The position of a row in the file, from 0.
    pub(crate) fn position(&self, row: &Row) -> u32 {
        let place = self.rows.partition_point(|other| other.line < row.line);
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// Whether a row names its trainee by the key of the provider only.
    pub(crate) fn has_provider_keys(&self) -> bool {
        let name = provider_key_name();
        let is_key = |column: &Column| matches!(column, Column::Field(field) if field == name);
        self.columns.iter().any(is_key)
    }

    /// The heading of the column with a name, or else the name.
    pub(crate) fn heading(&self, column_name: &str) -> String {
        let place = self
            .columns
            .iter()
            .position(|column| column.to_string() == column_name);
        place
            .and_then(|place| self.header.get(place))
            .map_or(column_name, String::as_str)
            .to_owned()
    }
}

/// The first line of a row.
pub(crate) fn line_of(row: &Row) -> i64 {
    i64::try_from(row.line).unwrap_or(i64::MAX)
}

/// The name of the field with the key that a provider gives a trainee.
pub(crate) fn provider_key_name() -> &'static str {
    TraineeField::provider_trainee_id.info().name
}

/// Adds a problem for each cell of a repair that cannot be made.
fn add_doubtful_cells(
    repair: &Repair,
    table: &Table,
    doubtful: &mut BTreeMap<u64, Vec<CellProblem>>,
) {
    let heading = table.header.get(repair.column);
    for (place, _) in &repair.cells {
        let Some(row) = table.rows.get(*place) else {
            continue;
        };
        doubtful.entry(row.line).or_default().push(CellProblem {
            heading: heading.cloned().unwrap_or_default(),
            words: repair.kind.to_string(),
        });
    }
}

/// The name of a repair in forms, and in the list of accepted repairs.
fn repair_name(repair: &Repair) -> String {
    format!("repair-{}-{}", repair.column + 1, repair.kind.name())
}

fn proposal(name: String, repair: Repair, table: &Table) -> Proposal {
    Proposal {
        name,
        heading: table.header.get(repair.column).cloned().unwrap_or_default(),
        sentence: repair.kind.to_string(),
        cells: repair.cells.len(),
        remedy: repair.kind.remedy().into(),
        examples: repair.examples,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    static RUNNING: AtomicUsize = AtomicUsize::new(0);

    fn count_running() -> usize {
        let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
        thread::sleep(Duration::from_millis(20));
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        running
    }

    #[actix_web::test]
    async fn files_are_read_one_after_the_other() {
        let reading = (0..4).map(|_| read_in_turn(count_running));
        assert_eq!(join_all(reading).await, [Some(1); 4]);
    }
}
