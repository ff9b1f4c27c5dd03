//! Writes CSV files that a spreadsheet opens without changing a cell, and that this crate can read.

use std::io;

use csv::{Terminator, WriterBuilder};

use crate::apostrophe::{APOSTROPHE, FORMULA_STARTS, remove_apostrophe};

/// The mark that shows spreadsheets that a file is UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The maximum number of digits that a spreadsheet shows of a number.
const SHOWN_DIGITS: usize = 11;

/// Returns a CSV file, UTF-8 with commas and CRLF. Cells are written as [`spreadsheet_cell`]
/// returns them. A byte order mark tells spreadsheets the encoding.
///
/// # Errors
///
/// If a row cannot be written.
pub fn write_csv<'a>(
    header: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = impl IntoIterator<Item = &'a str>>,
) -> io::Result<String> {
    let mut text = BYTE_ORDER_MARK.to_owned();
    text.push_str(&write_csv_rows([header])?);
    text.push_str(&write_csv_rows(rows)?);
    Ok(text)
}

/// Writes rows of a CSV file that [`write_csv`] has begun.
///
/// # Errors
///
/// If a row cannot be written.
pub fn write_csv_rows<'a>(
    rows: impl IntoIterator<Item = impl IntoIterator<Item = &'a str>>,
) -> io::Result<String> {
    let mut file = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .flexible(true)
        .from_writer(Vec::new());
    for row in rows {
        file.write_record(row.into_iter().map(spreadsheet_cell))?;
    }
    let bytes = file.into_inner().map_err(csv::IntoInnerError::into_error)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Returns the cell of a text, with an apostrophe before formulas and before text that a
/// spreadsheet would change, such as `01`, `2026-09-01` and numbers of 12 digits. The apostrophe is
/// removed when the cell is read.
#[must_use]
pub fn spreadsheet_cell(text: &str) -> String {
    let needs_apostrophe =
        remove_apostrophe(text).is_some() || text.starts_with(FORMULA_STARTS) || is_changed(text);
    if needs_apostrophe {
        format!("{APOSTROPHE}{text}")
    } else {
        text.to_owned()
    }
}

/// Whether a spreadsheet would change a text, because it reads the text as a number or a date.
fn is_changed(text: &str) -> bool {
    let is_numeric = |character: char| {
        character.is_ascii_digit()
            || matches!(character, '.' | ',' | '/' | '-' | ':' | 'e' | 'E' | '+')
    };
    if !text.starts_with(|first: char| first.is_ascii_digit()) || !text.chars().all(is_numeric) {
        return false;
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    !is_plain || text.len() > SHOWN_DIGITS || (text.len() > 1 && text.starts_with('0'))
}

/// Returns the cell of a text, with an apostrophe before a formula, and before an apostrophe that
/// reading the cell would remove. Unlike in [`spreadsheet_cell`], numbers stay as they are.
#[must_use]
pub fn add_apostrophe(text: String) -> String {
    if text.starts_with(FORMULA_STARTS) || remove_apostrophe(&text).is_some() {
        format!("{APOSTROPHE}{text}")
    } else {
        text
    }
}
