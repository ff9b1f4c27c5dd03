//! Reads the cells of an Excel workbook (`.xlsx`).

use std::io::Cursor;
use std::panic::{self, AssertUnwindSafe};

use calamine::{DataRef, Reader as _, SheetType, SheetVisible, Xlsx};

use super::cell_text::{date_text, iso_date_text, number_text};
use super::rows::{SheetRows, cell_name};
use crate::cells::Row;
use crate::fault::{FileFault, Limits};
use crate::workbook_fault::WorkbookFault;

type Workbook<'a> = Xlsx<Cursor<&'a [u8]>>;

/// Returns the names of the visible sheets with cells.
pub(super) fn sheet_names(bytes: &[u8]) -> Result<Vec<String>, WorkbookFault> {
    catch_panic(|| Ok(visible_sheets(&open(bytes)?)))
}

/// Returns the rows of a sheet, or of the first one.
pub(super) fn read_rows(
    bytes: &[u8],
    sheet: Option<&str>,
    limits: &Limits,
) -> Result<Vec<Row>, FileFault> {
    catch_panic(|| {
        let mut workbook = open(bytes)?;
        let names = visible_sheets(&workbook);
        let name = super::choose_sheet(&names, sheet)?;
        let mut rows = SheetRows::new(limits);
        read_cells(&mut workbook, name, &mut rows)?;
        rows.finish(name)
    })
}

/// Runs a function that reads a workbook. calamine panics on some cell references that no
/// spreadsheet writes.
fn catch_panic<T, E: From<WorkbookFault>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(WorkbookFault::Damaged.into()))
}

fn open(bytes: &[u8]) -> Result<Workbook<'_>, WorkbookFault> {
    Xlsx::new(Cursor::new(bytes)).map_err(|_| WorkbookFault::Damaged)
}

fn visible_sheets(workbook: &Workbook<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for sheet in workbook.sheets_metadata() {
        if sheet.typ == SheetType::WorkSheet && sheet.visible == SheetVisible::Visible {
            names.push(sheet.name.clone());
        }
    }
    names
}

fn read_cells(
    workbook: &mut Workbook<'_>,
    sheet: &str,
    rows: &mut SheetRows<'_>,
) -> Result<(), FileFault> {
    let cells = workbook.worksheet_cells_reader(sheet);
    let mut cells = cells.map_err(|_| WorkbookFault::Damaged)?;
    loop {
        let next = cells.next_cell_with_formula_metadata();
        let Some(cell) = next.map_err(|_| WorkbookFault::Damaged)? else {
            return Ok(());
        };
        let (row, column) = (cell.pos.0 as usize, cell.pos.1 as usize);
        if cell.formula.is_some() && cell.value == DataRef::Empty {
            return Err(WorkbookFault::NotCalculated(cell_name(row, column)).into());
        }
        let text = value_text(&cell.value);
        let text = text.ok_or_else(|| WorkbookFault::LongNumber(cell_name(row, column)))?;
        rows.add(row, column, &text)?;
    }
}

/// Returns the text of a value; `None` for a number with lost digits.
fn value_text(value: &DataRef<'_>) -> Option<String> {
    match value {
        DataRef::Empty => Some(String::new()),
        DataRef::String(text) | DataRef::DurationIso(text) => Some(text.clone()),
        DataRef::SharedString(text) => Some((*text).to_owned()),
        DataRef::DateTimeIso(text) => Some(iso_date_text(text).to_owned()),
        DataRef::Bool(value) => Some(value.to_string()),
        DataRef::Error(error) => Some(error.to_string()),
        DataRef::Int(number) => Some(number.to_string()),
        DataRef::Float(number) => number_text(*number),
        DataRef::DateTime(date) if date.is_duration() => number_text(date.as_f64()),
        DataRef::DateTime(date) => Some(date_text(date)),
    }
}
