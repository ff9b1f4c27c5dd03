//! Finds columns that a spreadsheet has changed, and proposes a repair for each.
//!
//! A repair is for a whole column, because one cell alone does not show the change. Whether
//! `03/04/2026` is a day in April or in March is decided for the whole file: by the dates of all
//! columns that exist in one order only, or by the person.

mod code_names;
pub(crate) mod dates;
mod formulas;
mod numbers;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};

pub use self::code_names::CodeNames;
use crate::columns::{Column, List};
use crate::table::Table;

/// The maximum number of examples of a repair.
const MAX_EXAMPLES: usize = 3;

/// The kind of values in the cells of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Any text.
    Text,
    /// A day, as `YYYY-MM-DD`. A year of two digits is the one within 50 years around today.
    Date,
    /// A date of birth, as `YYYY-MM-DD`. A year of two digits is the latest one that is past.
    BirthDate,
    /// A year of four digits.
    Year,
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

/// The order of day and month in dates such as `03/04/2026`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// Day, month, year.
    DayFirst,
    /// Month, day, year.
    MonthFirst,
}

/// What finding repairs depends on, besides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairContext {
    /// Today, for years of two digits.
    pub today: NaiveDate,
    /// The order of day and month that the person has chosen. `None` if the dates decide.
    pub date_order: Option<DateOrder>,
}

impl RepairContext {
    /// The context at a time.
    #[must_use]
    pub fn at(now: SystemTime, date_order: Option<DateOrder>) -> Self {
        Self {
            today: DateTime::<Utc>::from(now).date_naive(),
            date_order,
        }
    }
}

/// A kind of change of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mangled {
    /// Zeros at the beginning were lost.
    LostZeros,
    /// Whole numbers have the form `11.0`.
    Decimals,
    /// Numbers have the form `1.23456E+5`, which still contains all digits.
    ScientificNotation,
    /// Numbers were shortened, and digits were lost.
    LostDigits,
    /// Dates are written as year, month and day, in another form than `YYYY-MM-DD`.
    YearFirst,
    /// Dates are written as day, month and year.
    DayFirst,
    /// Dates are written as month, day and year.
    MonthFirst,
    /// Some dates of the file exist only with the day first, and others only with the month first.
    MixedDates,
    /// All dates of the file exist with the day first and with the month first.
    UndecidedDates,
    /// The months of dates are written as names.
    MonthNames,
    /// Dates are written as the day numbers of a spreadsheet.
    DayNumbers,
    /// Years are written as dates.
    DatesOfYears,
    /// Codes are written as their names.
    CodeNames,
    /// The cells have formulas that only show a text, such as `="01"`.
    TextFormulas,
    /// The cells have formulas instead of values.
    Formulas,
    /// Error values of formulas, or `####`.
    ErrorValues,
}

/// What can be done about changed cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The values are known: the cells can be repaired.
    Repair,
    /// The values are known once the person chooses the [`DateOrder`] of the file.
    ChooseDateOrder,
    /// The values are not in the file. The person corrects the file, or says that the cells are
    /// right as they are.
    Correct,
}

impl Mangled {
    /// All kinds.
    pub const ALL: [Self; 16] = [
        Self::LostZeros,
        Self::Decimals,
        Self::ScientificNotation,
        Self::LostDigits,
        Self::YearFirst,
        Self::DayFirst,
        Self::MonthFirst,
        Self::MixedDates,
        Self::UndecidedDates,
        Self::MonthNames,
        Self::DayNumbers,
        Self::DatesOfYears,
        Self::CodeNames,
        Self::TextFormulas,
        Self::Formulas,
        Self::ErrorValues,
    ];

    /// Returns the name for forms and stored results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LostZeros => "lost_zeros",
            Self::Decimals => "decimals",
            Self::ScientificNotation => "scientific_notation",
            Self::LostDigits => "lost_digits",
            Self::YearFirst => "year_first",
            Self::DayFirst => "day_first",
            Self::MonthFirst => "month_first",
            Self::MixedDates => "mixed_dates",
            Self::UndecidedDates => "undecided_dates",
            Self::MonthNames => "month_names",
            Self::DayNumbers => "day_numbers",
            Self::DatesOfYears => "dates_of_years",
            Self::CodeNames => "code_names",
            Self::TextFormulas => "text_formulas",
            Self::Formulas => "formulas",
            Self::ErrorValues => "error_values",
        }
    }

    /// Returns what can be done about the cells.
    #[must_use]
    pub fn remedy(self) -> Remedy {
        match self {
            Self::LostZeros
            | Self::Decimals
            | Self::ScientificNotation
            | Self::YearFirst
            | Self::DayFirst
            | Self::MonthFirst
            | Self::MonthNames
            | Self::DayNumbers
            | Self::DatesOfYears
            | Self::CodeNames
            | Self::TextFormulas => Remedy::Repair,
            Self::MixedDates | Self::UndecidedDates => Remedy::ChooseDateOrder,
            Self::LostDigits | Self::Formulas | Self::ErrorValues => Remedy::Correct,
        }
    }
}

impl fmt::Display for Mangled {
    /// Writes sentences about the change, and an advice if the cells cannot be repaired.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::LostZeros => "Zeros at the beginning are missing.",
            Self::Decimals => "The numbers have a decimal point.",
            Self::ScientificNotation => "The numbers are in scientific notation.",
            Self::LostDigits => {
                "A spreadsheet may have shortened the numbers: it replaces the last digits by \
                 zeros. Format the column as text, and enter the numbers again."
            }
            Self::YearFirst => "The dates are not written as YYYY-MM-DD.",
            Self::DayFirst => "The dates are day, month and year.",
            Self::MonthFirst => "The dates are month, day and year.",
            Self::MixedDates => {
                "Some dates of the file begin with the day, and others with the month."
            }
            Self::UndecidedDates => {
                "The file does not show whether its dates begin with the day or with the month."
            }
            Self::MonthNames => "The dates have names of months.",
            Self::DayNumbers => "The dates are day numbers of a spreadsheet.",
            Self::DatesOfYears => "The years are written as dates or with decimals.",
            Self::CodeNames => "The cells have names in the place of codes.",
            Self::TextFormulas => "The cells are formulas that show a text.",
            Self::Formulas => {
                "The cells are formulas. Copy the column in a spreadsheet, and paste it as values."
            }
            Self::ErrorValues => {
                "The cells are error values of a spreadsheet. Correct the formulas, or make the \
                 column wider."
            }
        })
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
    /// the value is not in the file, and has both dates if the order of day and month is not known.
    pub examples: Vec<(String, String)>,
    /// The positions of rows in [`Table::rows`], each with its repaired cell, or what the examples
    /// have.
    pub cells: Vec<(usize, String)>,
}

impl Repair {
    /// Repairs the cells of the table that the repair was found in. Cells with another [`Remedy`]
    /// stay as they are.
    pub fn apply(&self, table: &mut Table) {
        if self.kind.remedy() != Remedy::Repair {
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
pub fn find_repairs(
    table: &Table,
    columns: &[Column],
    codes: &dyn Codes,
    context: &RepairContext,
) -> Vec<Repair> {
    let mut read_columns = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let (list, field) = match column {
            Column::Field(field) => (None, field),
            Column::Nested { list, field, .. } if field != list.id => (Some(*list), field),
            Column::Nested { .. } | Column::TraineeId | Column::UpdatedAt | Column::Ignored => {
                continue;
            }
        };
        read_columns.push(ReadColumn {
            place,
            list,
            field,
            kind: codes.kind(list, field),
            cells: filled_cells(table, place),
        });
    }
    let dates = dates::decide_order(&read_columns, context);
    read_columns
        .iter()
        .flat_map(|column| find_in_column(column, codes, &dates))
        .collect()
}

/// A column with a field, and its cells that are not blank with the positions of their rows.
struct ReadColumn<'a> {
    place: usize,
    list: Option<List>,
    field: &'a str,
    kind: CellKind,
    cells: Vec<(usize, &'a str)>,
}

/// Finds the repairs of a column.
fn find_in_column(
    column: &ReadColumn<'_>,
    codes: &dyn Codes,
    dates: &dates::FileDates,
) -> Vec<Repair> {
    let mut found = Found::new();
    // Each different text is read once.
    let mut read = HashMap::new();
    for (row, text) in &column.cells {
        let repaired = read
            .entry(*text)
            .or_insert_with(|| read_cell(text, column, codes, dates));
        if let Some((kind, cell)) = repaired {
            found.entry(*kind).or_default().push((*row, cell.clone()));
        }
    }
    found
        .into_iter()
        .map(|(kind, cells)| Repair {
            column: column.place,
            kind,
            examples: collect_examples(&column.cells, &cells),
            cells,
        })
        .collect()
}

/// Returns the kind of change of a cell and the repaired text, which is blank if it is not known.
/// `None` for a cell that was not changed.
fn read_cell(
    text: &str,
    column: &ReadColumn<'_>,
    codes: &dyn Codes,
    dates: &dates::FileDates,
) -> Option<(Mangled, String)> {
    // What a formula shows can be changed too, but a text does not lose digits.
    if let Some(inner) = formulas::read_text_formula(text) {
        return match read_cell(&inner, column, codes, dates) {
            Some((Mangled::LostDigits, _)) | None => Some((Mangled::TextFormulas, inner)),
            changed @ Some(_) => changed,
        };
    }
    if let Some(kind) = formulas::find_kind(text) {
        return Some((kind, String::new()));
    }
    let by_kind = match column.kind {
        CellKind::Text => None,
        CellKind::Date | CellKind::BirthDate => dates.repair(text, column.kind),
        CellKind::Year => dates.repair_year(text),
        CellKind::Code => restore_code(text, column.list, column.field, codes),
        CellKind::Digits(lengths) => numbers::restore_digits(text, lengths),
    };
    by_kind.or_else(|| numbers::read_scientific(text))
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
    if let Some(whole) = numbers::remove_decimals(text) {
        let restored = [whole.to_owned()]
            .into_iter()
            .chain(numbers::pad_with_zeros(whole))
            .find(is_code)?;
        return Some((Mangled::Decimals, restored));
    }
    Some((Mangled::CodeNames, code?))
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
