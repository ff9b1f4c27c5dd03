//! Finds columns that a spreadsheet has changed, and proposes a repair for each.
//!
//! A repair is for a whole column, because one cell alone does not show the change: the other cells
//! of a column show whether `03/04/2026` is a day in April or in March.

mod dates;
mod numbers;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::columns::{Column, List};
use crate::table::Table;
use crate::writing::FORMULA_STARTS;

/// Texts that spreadsheets show for a formula without a value.
const ERROR_VALUES: [&str; 8] = [
    "#N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!",
];
/// The maximum number of examples of a repair.
const MAX_EXAMPLES: usize = 3;

/// The kind of values in the cells of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Any text.
    Text,
    /// A day, as `YYYY-MM-DD`.
    Date,
    /// A code of a code list.
    Code,
    /// Digits that may begin with zeros, such as the sector's student identifiers. The field
    /// accepts texts of these lengths.
    Digits(&'static [usize]),
}

/// The kinds and the code lists of the fields. `list` is the list of a nested record, `None` for a
/// field of the trainee.
pub trait Codes {
    /// Returns the kind of values of a field.
    fn kind(&self, list: Option<List>, field: &str) -> CellKind;

    /// Returns the code of the entry with this code or this name, ignoring case. `None` if the
    /// field has no code list, or the list has no such entry or several.
    fn code(&self, list: Option<List>, field: &str, text: &str) -> Option<String>;
}

/// A kind of change of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mangled {
    /// Zeros at the beginning were lost.
    LostZeros,
    /// Numbers have the form `1.23456E+5`, which still contains all digits.
    ScientificNotation,
    /// Numbers were shortened, and digits were lost. The cells cannot be restored.
    LostDigits,
    /// Dates are written as year, month and day, in another form than `YYYY-MM-DD`.
    YearFirst,
    /// Dates are written as day, month and year.
    DayFirst,
    /// Dates are written as month, day and year.
    MonthFirst,
    /// Dates are written in several orders. The cells cannot be restored.
    MixedDates,
    /// Dates are written as the day numbers of a spreadsheet.
    DayNumbers,
    /// Codes are written as their names.
    CodeNames,
    /// The cells have formulas instead of values, and cannot be restored.
    Formulas,
    /// Error values of formulas, or `####`. The cells cannot be restored.
    ErrorValues,
}

impl Mangled {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::LostZeros,
        Self::ScientificNotation,
        Self::LostDigits,
        Self::YearFirst,
        Self::DayFirst,
        Self::MonthFirst,
        Self::MixedDates,
        Self::DayNumbers,
        Self::CodeNames,
        Self::Formulas,
        Self::ErrorValues,
    ];

    /// Returns the name, a sentence about the change, and an advice if the cells cannot be
    /// restored.
    fn describe(self) -> (&'static str, &'static str, Option<&'static str>) {
        let enter_text = "Format the column as text, and enter the numbers again.";
        let write_iso = "Write all of them as YYYY-MM-DD.";
        let paste = "Copy the column in a spreadsheet, and paste it as values.";
        let correct = "Correct the formulas, or make the column wider.";
        match self {
            Self::LostZeros => ("lost_zeros", "Zeros at the beginning are missing.", None),
            Self::ScientificNotation => (
                "scientific_notation",
                "The numbers are in scientific notation.",
                None,
            ),
            Self::LostDigits => {
                let happened = "A spreadsheet has shortened the numbers. Their digits are lost.";
                ("lost_digits", happened, Some(enter_text))
            }
            Self::YearFirst => (
                "year_first",
                "The dates are not written as YYYY-MM-DD.",
                None,
            ),
            Self::DayFirst => ("day_first", "The dates are day, month and year.", None),
            Self::MonthFirst => ("month_first", "The dates are month, day and year.", None),
            Self::MixedDates => {
                let happened = "Some dates begin with the day, and others with the month.";
                ("mixed_dates", happened, Some(write_iso))
            }
            Self::DayNumbers => (
                "day_numbers",
                "The dates are day numbers of a spreadsheet.",
                None,
            ),
            Self::CodeNames => (
                "code_names",
                "The cells have names in the place of codes.",
                None,
            ),
            Self::Formulas => ("formulas", "The cells are formulas.", Some(paste)),
            Self::ErrorValues => (
                "error_values",
                "The cells are error values of a spreadsheet.",
                Some(correct),
            ),
        }
    }

    /// Returns the name for forms and stored results.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.describe().0
    }

    /// Whether the cells can be restored.
    #[must_use]
    pub fn can_be_restored(self) -> bool {
        self.describe().2.is_none()
    }
}

impl fmt::Display for Mangled {
    /// Writes sentences about the change, and an advice if the cells cannot be restored.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.describe() {
            (_, happened, None) => formatter.write_str(happened),
            (_, happened, Some(advice)) => write!(formatter, "{happened} {advice}"),
        }
    }
}

/// Cells of a column that were changed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The position of the column, from 0.
    pub column: usize,
    /// The kind of change.
    pub kind: Mangled,
    /// Up to three different cells, each before and after the repair. The second text is blank if
    /// the cells cannot be restored.
    pub examples: Vec<(String, String)>,
    /// The positions of rows in [`Table::rows`], each with its restored cell. The cells are blank
    /// if they cannot be restored.
    pub cells: Vec<(usize, String)>,
}

impl Repair {
    /// Restores the cells of the table that the repair was found in. Cells that cannot be restored
    /// stay as they are.
    pub fn apply(&self, table: &mut Table) {
        if !self.kind.can_be_restored() {
            return;
        }
        for (row, text) in &self.cells {
            let row = table.rows.get_mut(*row);
            if let Some(cell) = row.and_then(|row| row.cells.get_mut(self.column)) {
                cell.clone_from(text);
            }
        }
    }
}

/// Finds the columns that a spreadsheet has changed, by column. A column has several repairs if its
/// cells were changed in several ways; each cell is in at most one of them.
#[must_use]
pub fn find_repairs(table: &Table, columns: &[Column], codes: &dyn Codes) -> Vec<Repair> {
    let mut repairs = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let (list, field) = match column {
            Column::Field(field) => (None, field),
            Column::Nested { list, field, .. } if field != list.id => (Some(*list), field),
            Column::Nested { .. } | Column::TraineeId | Column::UpdatedAt | Column::Ignored => {
                continue;
            }
        };
        let cells = filled_cells(table, place);
        let mut found = Found::new();
        match codes.kind(list, field) {
            CellKind::Text => {}
            CellKind::Date => dates::find(&cells, &mut found),
            CellKind::Code => find_codes(&cells, list, field, codes, &mut found),
            CellKind::Digits(lengths) => numbers::find_digits(&cells, lengths, &mut found),
        }
        numbers::find_scientific(&cells, &mut found);
        find_formulas(&cells, &mut found);
        repairs.extend(found.into_iter().map(|(kind, restored)| Repair {
            column: place,
            kind,
            examples: collect_examples(&cells, &restored),
            cells: restored,
        }));
    }
    repairs
}

/// Changed cells by kind of change: the position of the row, and the restored cell.
type Found = BTreeMap<Mangled, Vec<(usize, String)>>;

/// The cells of a column that are not blank, with the positions of their rows.
fn filled_cells(table: &Table, column: usize) -> Vec<(usize, &str)> {
    let mut cells = Vec::new();
    for (row, cell) in table.rows.iter().enumerate() {
        if let Some(text) = cell.cells.get(column).filter(|text| !text.is_empty()) {
            cells.push((row, text.as_str()));
        }
    }
    cells
}

/// Finds codes that have lost zeros, and names instead of codes.
fn find_codes(
    cells: &[(usize, &str)],
    list: Option<List>,
    field: &str,
    codes: &dyn Codes,
    found: &mut Found,
) {
    // Each different text is looked up once.
    let mut restored = HashMap::new();
    for (row, text) in cells {
        let code = restored
            .entry(*text)
            .or_insert_with(|| restore_code(text, list, field, codes));
        if let Some((kind, code)) = code {
            let cells = found.entry(*kind).or_default();
            cells.push((*row, code.clone()));
        }
    }
}

/// The kind of change and the restored code of a cell that has lost zeros or contains the name of a
/// code; `None` for a valid code and for other texts.
fn restore_code(
    text: &str,
    list: Option<List>,
    field: &str,
    codes: &dyn Codes,
) -> Option<(Mangled, String)> {
    let code = codes.code(list, field, text);
    if code.as_deref() == Some(text) {
        return None;
    }
    let is_code = |padded: &String| codes.code(list, field, padded).as_ref() == Some(padded);
    if let Some(padded) = numbers::pad_with_zeros(text).find(is_code) {
        return Some((Mangled::LostZeros, padded));
    }
    Some((Mangled::CodeNames, code?))
}

/// Finds formulas and their error values. A single character such as a hyphen is not a formula.
fn find_formulas(cells: &[(usize, &str)], found: &mut Found) {
    for (row, text) in cells {
        let kind = if ERROR_VALUES.contains(text) || text.trim_matches('#').is_empty() {
            Mangled::ErrorValues
        } else if text.starts_with(FORMULA_STARTS) && text.len() > 1 {
            Mangled::Formulas
        } else {
            continue;
        };
        let cells = found.entry(kind).or_default();
        cells.push((*row, String::new()));
    }
}

/// Up to [`MAX_EXAMPLES`] different cells with their restored texts. `cells` is sorted by row.
fn collect_examples(
    cells: &[(usize, &str)],
    restored: &[(usize, String)],
) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    for (row, restored_cell) in restored {
        let position = cells.binary_search_by_key(row, |(row, _)| *row);
        let Some((_, from)) = position.ok().and_then(|position| cells.get(position)) else {
            continue;
        };
        if examples.iter().all(|(known, _)| known != from) {
            examples.push(((*from).to_owned(), restored_cell.clone()));
        }
        if examples.len() == MAX_EXAMPLES {
            break;
        }
    }
    examples
}
