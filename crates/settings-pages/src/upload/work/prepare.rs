//! Prepares the rows for the check: finds the cells that a spreadsheet has changed, and makes the
//! repairs that the person has chosen.

use std::collections::BTreeMap;

use adapter_kit::Versions;
use chrono::NaiveDate;
use domain::{Lists, RecordField as _, TraineeField};
use storage::accounts::uploads::{RowStatus, UploadRow, UploadState};
use trainee_file::{Column, Remedy, Repair, RepairContext, Row, Table, TraineeRow, find_repairs};

use super::{Work, WorkEnd};
use crate::upload::codes::NewestCodes;
use crate::upload::content::{Doubt, FileContent, Proposal, RowDetails, join_cells, split_cells};
use crate::upload::receiving::{run_in_turn, take_turn};

const ROWS_AT_A_TIME: i64 = 500;

struct File {
    content: FileContent,
    columns: Vec<Column>,
    rows: Vec<Row>,
    versions: &'static Versions,
    lists: &'static Lists,
    today: NaiveDate,
}

impl Work {
    /// Asks the person about repairs, or makes the chosen ones.
    pub(super) async fn prepare(&self) -> Result<(), WorkEnd> {
        let turn = take_turn().await.ok_or(WorkEnd::Stopping)?;
        let file = File {
            content: self.content.clone(),
            columns: self.columns.clone(),
            rows: self.read_rows().await?,
            versions: self.state.versions,
            lists: self.state.lists,
            today: self.state.store.now().date_naive(),
        };
        let prepared = run_in_turn(turn, move || file.prepare()).await;
        let (Prepared { content, rows }, _turn) = prepared.ok_or(WorkEnd::Stopping)?;
        if content.choices.are_made || content.proposals.is_empty() {
            self.store_rows(rows, Vec::new()).await?;
            let content = content.to_stored();
            self.finish(UploadState::Checking, Some(content)).await
        } else {
            let content = content.to_stored();
            self.finish(UploadState::Prepared, Some(content)).await
        }
    }

    async fn read_rows(&self) -> Result<Vec<Row>, WorkEnd> {
        let mut all = Vec::new();
        let mut after = 0;
        loop {
            let waiting = &[RowStatus::Waiting];
            let rows = self.list_rows(waiting, after, ROWS_AT_A_TIME).await?;
            let Some(last) = rows.last() else {
                return Ok(all);
            };
            after = last.line;
            all.extend(rows.into_iter().map(|row| Row {
                line: u64::try_from(row.line).unwrap_or_default(),
                cells: split_cells(&row.cells),
            }));
        }
    }
}

struct Prepared {
    /// With the repairs that the person must decide about.
    content: FileContent,
    /// With the repairs that are made.
    rows: Vec<UploadRow>,
}

impl File {
    fn prepare(self) -> Prepared {
        let mut content = self.content;
        let mut table = Table {
            header: content.header.clone(),
            rows: self.rows,
            short_rows: Vec::new(),
        };
        let context = RepairContext {
            today: self.today,
            date_order: content.choices.date_order(),
        };
        let codes = NewestCodes::new(self.versions, self.lists);
        let mut doubts: BTreeMap<usize, Vec<Doubt>> = BTreeMap::new();
        content.proposals.clear();
        for repair in find_repairs(&table, &self.columns, &codes, &context) {
            let name = format!("repair-{}-{}", repair.column + 1, repair.kind.name());
            if content.choices.accepts(&name, &repair) {
                repair.apply(&mut table);
            } else if content.choices.are_made {
                add_doubts(&repair, &mut doubts);
            } else {
                content.proposals.push(propose(name, repair, &table));
            }
        }
        let rows = table.rows.into_iter().enumerate().map(|(place, row)| {
            let doubts = doubts.remove(&place).unwrap_or_default();
            build_row(row, &self.columns, doubts)
        });
        Prepared {
            rows: rows.collect(),
            content,
        }
    }
}

/// Adds the cells of a repair that is not made.
fn add_doubts(repair: &Repair, doubts: &mut BTreeMap<usize, Vec<Doubt>>) {
    // The person has decided that such a cell is sent as it is.
    if repair.kind.remedy() == Remedy::Repair {
        return;
    }
    for (row, _) in &repair.cells {
        let doubt = Doubt(repair.column, repair.kind.name().to_owned());
        doubts.entry(*row).or_default().push(doubt);
    }
}

fn propose(name: String, repair: Repair, table: &Table) -> Proposal {
    Proposal {
        name,
        heading: table.header.get(repair.column).cloned().unwrap_or_default(),
        kind: repair.kind.name().to_owned(),
        cells: repair.cells.len(),
        examples: repair.examples,
    }
}

fn build_row(row: Row, columns: &[Column], doubts: Vec<Doubt>) -> UploadRow {
    let read = TraineeRow::new(&row, columns);
    let details = RowDetails {
        doubts,
        ..RowDetails::default()
    };
    UploadRow {
        line: i64::try_from(row.line).unwrap_or(i64::MAX),
        status: RowStatus::Waiting,
        record_key: read_key(&read),
        trainee_id: read.trainee_id,
        cells: join_cells(&row.cells),
        details: details.to_stored(),
    }
}

fn read_key(row: &TraineeRow) -> Option<String> {
    let name = TraineeField::provider_trainee_id.info().name;
    let words = row.field(name)?.split_whitespace();
    // The register stores keys with single spaces.
    Some(words.collect::<Vec<_>>().join(" ")).filter(|key| !key.is_empty())
}
