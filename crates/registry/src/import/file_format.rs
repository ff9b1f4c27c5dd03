//! Detects files that are not comma-separated values, by their header row.

use std::borrow::Cow;

use csv::ByteRecord;

/// The formats of files that are not comma-separated values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileFormat {
    /// An empty file.
    #[error("the file is empty")]
    Empty,
    /// Cells separated by semicolons.
    #[error("the file has semicolons between cells: save it with commas")]
    Semicolons,
    /// Cells separated by tabs.
    #[error("the file has tabs between cells: save it with commas")]
    Tabs,
    /// Text in UTF-16.
    #[error("the file is in UTF-16: save it as CSV in UTF-8")]
    Utf16,
    /// A ZIP archive, such as the workbook of a spreadsheet program.
    #[error("the file is a workbook (xlsx) or another archive: save it as CSV in UTF-8")]
    Archive,
    /// A binary file.
    #[error("the file is not text: save it as CSV in UTF-8")]
    Binary,
}

/// Detects the format of a file whose header row lacks columns. Returns `None` if the format does
/// not explain the missing columns.
pub(super) fn detect<'a>(
    header: &ByteRecord,
    names: impl Iterator<Item = Cow<'a, str>>,
    columns: &[&str],
) -> Option<FileFormat> {
    let first = header.get(0).unwrap_or_default();
    if first.starts_with(&[0xff, 0xfe]) || first.starts_with(&[0xfe, 0xff]) {
        return Some(FileFormat::Utf16);
    }
    if first.starts_with(b"PK\x03\x04") {
        return Some(FileFormat::Archive);
    }
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    if header.iter().any(|cell| cell.iter().any(is_control)) {
        return Some(FileFormat::Binary);
    }
    if header.iter().all(|cell| cell.trim_ascii().is_empty()) {
        return Some(FileFormat::Empty);
    }
    // With another separator, the names of several columns are in one cell.
    let row = names.collect::<Vec<_>>().join(",");
    let is_known = |name: &&str| columns.iter().any(|column| is_column(name, column));
    let is_separated_by = |separator| row.split(separator).filter(is_known).count() > 1;
    [(';', FileFormat::Semicolons), ('\t', FileFormat::Tabs)]
        .into_iter()
        .find_map(|(separator, format)| is_separated_by(separator).then_some(format))
}

/// Whether a name in a header row refers to the column. Ignores case and surrounding white space.
pub(super) fn is_column(name: &str, column: &str) -> bool {
    name.trim().eq_ignore_ascii_case(column)
}
