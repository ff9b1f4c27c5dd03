//! Excel workbooks (`.xlsx`) and OpenDocument spreadsheets (`.ods`).
//!
//! The format is found by the content of a file, not by its name. [`archive::check`] refuses files
//! that a spreadsheet did not write, before another module reads a cell of them. `xlsx` and `ods`
//! then read the cells of one sheet, and [`SheetRows`](rows::SheetRows) keeps the limits.

mod archive;
mod cell_text;
mod ods;
mod rows;
mod xlsx;

use self::archive::Format;
use crate::cells::Row;
use crate::fault::{FileFault, Limits};
use crate::workbook_fault::WorkbookFault;

/// The first bytes of a zip archive. Both formats are zip archives.
const ZIP_SIGNATURE: &[u8] = b"PK\x03\x04";
/// The first bytes of an old Excel workbook, and of a workbook with a password.
const COMPOUND_FILE_SIGNATURE: &[u8] = b"\xd0\xcf\x11\xe0";
/// The name of the encrypted workbook in a compound file, in UTF-16.
const ENCRYPTED_PACKAGE: &[u8] = b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0";

/// Returns the names of the sheets of a workbook that a person can choose; none for other files.
///
/// # Errors
///
/// [`FileFault`], whose `Display` is one sentence for the person who chose the file.
pub fn sheet_names(bytes: &[u8], limits: &Limits) -> Result<Vec<String>, FileFault> {
    limits.check_size(bytes)?;
    if !is_workbook(bytes)? {
        return Ok(Vec::new());
    }
    let names = match archive::check(bytes, limits)? {
        Format::Excel => xlsx::sheet_names(bytes)?,
        Format::OpenDocument => ods::sheet_names(bytes)?,
    };
    Ok(names)
}

/// Returns whether a file is a workbook that can be read.
///
/// # Errors
///
/// [`WorkbookFault::Password`] if the file is a workbook with a password.
pub(crate) fn is_workbook(bytes: &[u8]) -> Result<bool, WorkbookFault> {
    let is_encrypted = |bytes: &[u8]| {
        let mut parts = bytes.windows(ENCRYPTED_PACKAGE.len());
        parts.any(|part| part == ENCRYPTED_PACKAGE)
    };
    if bytes.starts_with(COMPOUND_FILE_SIGNATURE) && is_encrypted(bytes) {
        return Err(WorkbookFault::Password);
    }
    Ok(bytes.starts_with(ZIP_SIGNATURE))
}

/// Returns the rows of a sheet, or of the first one, without blank rows. All have the same number of
/// cells.
pub(crate) fn read_rows(
    bytes: &[u8],
    sheet: Option<&str>,
    limits: &Limits,
) -> Result<Vec<Row>, FileFault> {
    match archive::check(bytes, limits)? {
        Format::Excel => xlsx::read_rows(bytes, sheet, limits),
        Format::OpenDocument => ods::read_rows(bytes, sheet, limits),
    }
}

/// Returns the name of the sheet to read: the chosen one, or else the first one.
fn choose_sheet<'a>(
    names: &'a [String],
    chosen: Option<&str>,
) -> Result<&'a String, WorkbookFault> {
    let Some(chosen) = chosen else {
        return names.first().ok_or(WorkbookFault::NoSheets);
    };
    let found = names.iter().find(|name| *name == chosen);
    found.ok_or_else(|| WorkbookFault::UnknownSheet(chosen.to_owned()))
}
