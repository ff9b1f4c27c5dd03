//! Cells that a spreadsheet has changed: repairs them as the person has allowed, and refuses the rows
//! whose values are not certain, like the upload of the register does.

use std::time::SystemTime;

use anyhow::{Result, bail};
use trainee_file::{
    Codes, Column, DateOrder, Mangled, Problem, Remedy, Repair, RepairContext, Table, find_repairs,
};

use crate::cli::RepairOptions;

/// The code of the problem of a cell whose value is not certain.
const DOUBTFUL: &str = "changed_by_spreadsheet";

/// Repairs the table, and returns the problems of cells that cannot be repaired. Prints each repair
/// that was found.
///
/// # Errors
///
/// If repairs were found that the person has not allowed. Nothing may be sent then.
pub(crate) fn repair(
    table: &mut Table,
    columns: &[Column],
    codes: &dyn Codes,
    options: &RepairOptions,
) -> Result<Vec<Problem>> {
    let date_order = options.dates.map(DateOrder::from);
    let context = RepairContext::at(SystemTime::now(), date_order);
    let mut problems = Vec::new();
    let mut is_refused = false;
    for found in find_repairs(table, columns, codes, &context) {
        eprintln!("{}", describe(&found, columns));
        match found.kind.remedy() {
            Remedy::Repair if options.repair || is_chosen(found.kind, date_order) => {
                found.apply(table);
            }
            Remedy::Repair => is_refused = true,
            Remedy::Correct if options.as_is => {}
            Remedy::ChooseDateOrder | Remedy::Correct => {
                problems.extend(cell_problems(&found, table, columns));
            }
        }
    }
    if is_refused {
        bail!("a spreadsheet has changed the file; push it with --repair, or correct it");
    }
    Ok(problems)
}

/// Whether the person has chosen the order of day and month that the repair follows.
fn is_chosen(kind: Mangled, date_order: Option<DateOrder>) -> bool {
    match date_order {
        Some(DateOrder::DayFirst) => kind == Mangled::DayFirst,
        Some(DateOrder::MonthFirst) => kind == Mangled::MonthFirst,
        None => false,
    }
}

fn describe(found: &Repair, columns: &[Column]) -> String {
    let mut line = format!(
        "{}: {} ({} cells)",
        column_name(found, columns),
        found.kind,
        found.cells.len()
    );
    for (from, to) in &found.examples {
        line += &format!("\n    {from:?} -> {to:?}");
    }
    if found.kind.remedy() == Remedy::ChooseDateOrder {
        line += "\n    Say which with --dates day-first or --dates month-first.";
    }
    line
}

fn column_name(found: &Repair, columns: &[Column]) -> String {
    columns
        .get(found.column)
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn cell_problems(found: &Repair, table: &Table, columns: &[Column]) -> Vec<Problem> {
    let column = column_name(found, columns);
    let rows = found.cells.iter();
    rows.filter_map(|(place, _)| table.rows.get(*place))
        .map(|row| Problem::new(row.line, &column, DOUBTFUL, found.kind.to_string()))
        .collect()
}
