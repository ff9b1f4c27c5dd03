//! Reads the cells of an OpenDocument spreadsheet (`.ods`).
//!
//! calamine reads this format too, but writes out repeated cells of all sheets before a limit can
//! stop it, and does not end on some damaged files.

use std::iter;

use quick_xml::events::{BytesEnd, BytesRef, BytesStart, Event};
use quick_xml::name::LocalName;
use quick_xml::{Reader, escape};

use super::archive::{self, attribute};
use super::cell_text::{iso_date_text, number_text};
use super::rows::{SheetRows, cell_name};
use crate::cells::{Row, trim_cell};
use crate::fault::{FileFault, Limits};
use crate::workbook_fault::WorkbookFault;

/// The part with the cells of all sheets.
const CONTENT: &str = "content.xml";
/// The rows of a spreadsheet. No element is repeated more often.
const MAX_REPEATS: usize = 1_048_576;

/// Returns the names of the sheets.
pub(super) fn sheet_names(bytes: &[u8]) -> Result<Vec<String>, WorkbookFault> {
    find_names(&read_content(bytes)?)
}

fn find_names(content: &str) -> Result<Vec<String>, WorkbookFault> {
    let mut content = ContentReader::new(content);
    let mut names = Vec::new();
    while let Some(table) = content.next_table()? {
        names.push(attribute(&table, "name")?.unwrap_or_default());
        content.skip(&table)?;
    }
    Ok(names)
}

/// Returns the rows of a sheet, or of the first one.
pub(super) fn read_rows(
    bytes: &[u8],
    sheet: Option<&str>,
    limits: &Limits,
) -> Result<Vec<Row>, FileFault> {
    let content = read_content(bytes)?;
    let names = find_names(&content)?;
    let name = super::choose_sheet(&names, sheet)?;
    let mut content = ContentReader::new(&content);
    while let Some(table) = content.next_table()? {
        if attribute(&table, "name")?.as_ref() == Some(name) {
            break;
        }
        content.skip(&table)?;
    }
    let mut rows = SheetRows::new(limits);
    content.read_table(&mut rows, limits)?;
    rows.finish(name)
}

/// Returns the text of the part with the cells, whose size [`archive::check`] has limited.
fn read_content(bytes: &[u8]) -> Result<String, WorkbookFault> {
    let content = archive::read_part(&mut archive::open(bytes)?, CONTENT)?;
    content.ok_or(WorkbookFault::Damaged)
}

/// A cell with a value.
struct FilledCell {
    column: usize,
    /// The number of equal cells from this column on.
    repeats: usize,
    text: String,
}

/// A piece of the content. An empty element has a start and an end.
enum Piece<'a> {
    Start(BytesStart<'a>),
    End(BytesEnd<'a>),
    Text(String),
    /// A comment or a declaration.
    Other,
    EndOfFile,
}

struct ContentReader<'a> {
    reader: Reader<&'a [u8]>,
}

impl<'a> ContentReader<'a> {
    fn new(content: &'a str) -> Self {
        let mut reader = Reader::from_str(content);
        reader.config_mut().expand_empty_elements = true;
        Self { reader }
    }

    fn next(&mut self) -> Result<Piece<'a>, WorkbookFault> {
        let event = self.reader.read_event();
        Ok(match event.map_err(|_| WorkbookFault::Damaged)? {
            Event::Start(element) | Event::Empty(element) => Piece::Start(element),
            Event::End(element) => Piece::End(element),
            Event::Text(text) => Piece::Text(text.xml10_content().into_owned()),
            Event::CData(text) => Piece::Text(text.xml10_content().into_owned()),
            Event::GeneralRef(reference) => Piece::Text(resolve(&reference)?),
            Event::Eof => Piece::EndOfFile,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => Piece::Other,
        })
    }

    /// Skips to the end of an element.
    fn skip(&mut self, element: &BytesStart<'_>) -> Result<(), WorkbookFault> {
        let skipped = self.reader.read_to_end(element.name());
        skipped.map(drop).map_err(|_| WorkbookFault::Damaged)
    }

    /// Returns the start of the next sheet; `None` after the last one.
    fn next_table(&mut self) -> Result<Option<BytesStart<'a>>, WorkbookFault> {
        loop {
            match self.next()? {
                Piece::Start(element) if element.local_name().as_ref() == "table" => {
                    return Ok(Some(element));
                }
                Piece::EndOfFile => return Ok(None),
                Piece::Start(_) | Piece::End(_) | Piece::Text(_) | Piece::Other => {}
            }
        }
    }

    /// Reads the rows of a sheet after its start.
    fn read_table(&mut self, rows: &mut SheetRows<'_>, limits: &Limits) -> Result<(), FileFault> {
        let mut row = 0;
        loop {
            match self.next()? {
                Piece::Start(element) => match element.local_name().as_ref() {
                    "table-row" => {
                        let repeats = repeats(&element, "number-rows-repeated")?;
                        let cells = self.read_row(row, limits)?;
                        // Blank rows at the end of a sheet are repeated a million times.
                        if !cells.is_empty() {
                            add_rows(rows, row, repeats, &cells)?;
                        }
                        row += repeats;
                    }
                    "table-row-group" | "table-header-rows" | "table-rows" => {}
                    _ => self.skip(&element)?,
                },
                Piece::End(element) if element.local_name().as_ref() == "table" => return Ok(()),
                Piece::EndOfFile => return Err(WorkbookFault::Damaged.into()),
                Piece::End(_) | Piece::Text(_) | Piece::Other => {}
            }
        }
    }

    /// Reads the cells of a row after its start.
    fn read_row(&mut self, row: usize, limits: &Limits) -> Result<Vec<FilledCell>, FileFault> {
        let mut cells = Vec::new();
        let mut column = 0;
        loop {
            match self.next()? {
                Piece::Start(element) if is_cell(element.local_name()) => {
                    let repeats = repeats(&element, "number-columns-repeated")?;
                    let shown = self.read_paragraphs(row, limits)?;
                    let text = value_text(&element, shown, || cell_name(row, column))?;
                    let text = trim_cell(&text);
                    if !text.is_empty() {
                        cells.push(FilledCell {
                            column,
                            repeats,
                            text,
                        });
                    }
                    column += repeats;
                }
                Piece::Start(element) => self.skip(&element)?,
                Piece::End(_) => return Ok(cells),
                Piece::EndOfFile => return Err(WorkbookFault::Damaged.into()),
                Piece::Text(_) | Piece::Other => {}
            }
        }
    }

    /// Reads the text that a cell shows, up to the end of the cell.
    fn read_paragraphs(&mut self, row: usize, limits: &Limits) -> Result<String, FileFault> {
        let mut text = String::new();
        let mut is_within = false;
        loop {
            match self.next()? {
                Piece::Start(element) => match element.local_name().as_ref() {
                    "p" if !is_within => is_within = true,
                    "p" | "line-break" => text.push('\n'),
                    "tab" => text.push('\t'),
                    "s" => {
                        let spaces = repeats(&element, "c")?;
                        text.extend(iter::repeat_n(' ', spaces));
                    }
                    "span" | "a" => {}
                    _ => self.skip(&element)?,
                },
                // White space before the first paragraph is no text.
                Piece::Text(part) if is_within => text.push_str(&part),
                Piece::End(element) if is_cell(element.local_name()) => return Ok(text),
                Piece::EndOfFile => return Err(WorkbookFault::Damaged.into()),
                Piece::End(_) | Piece::Text(_) | Piece::Other => {}
            }
            if text.len() > limits.cell_bytes {
                return Err(FileFault::CellTooLong(row as u64 + 1, limits.cell_bytes));
            }
        }
    }
}

fn is_cell(name: LocalName<'_>) -> bool {
    matches!(name.as_ref(), "table-cell" | "covered-table-cell")
}

/// Returns how often an element is repeated, up to [`MAX_REPEATS`].
fn repeats(element: &BytesStart<'_>, name: &str) -> Result<usize, WorkbookFault> {
    match attribute(element, name)? {
        Some(number) => {
            let number: usize = number.parse().map_err(|_| WorkbookFault::Damaged)?;
            Ok(number.min(MAX_REPEATS))
        }
        None => Ok(1),
    }
}

/// Returns the text of a reference such as `&amp;` or `&#x20;`.
fn resolve(reference: &BytesRef<'_>) -> Result<String, WorkbookFault> {
    let character = reference.resolve_char_ref();
    if let Some(character) = character.map_err(|_| WorkbookFault::Damaged)? {
        return Ok(character.to_string());
    }
    let known = escape::resolve_xml_entity(reference.as_ref());
    known.map(str::to_owned).ok_or(WorkbookFault::Damaged)
}

/// Returns the text of a cell by the type of its value. `shown` is what the cell shows.
fn value_text(
    cell: &BytesStart<'_>,
    shown: String,
    name: impl Fn() -> String,
) -> Result<String, WorkbookFault> {
    let Some(kind) = attribute(cell, "value-type")? else {
        return match attribute(cell, "formula")? {
            Some(_) => Err(WorkbookFault::NotCalculated(name())),
            None => Ok(String::new()),
        };
    };
    let value = |name| attribute(cell, name).map(Option::unwrap_or_default);
    match kind.as_str() {
        "float" | "percentage" | "currency" => {
            let number = value("value")?
                .parse()
                .map_err(|_| WorkbookFault::Damaged)?;
            number_text(number).ok_or_else(|| WorkbookFault::LongNumber(name()))
        }
        "date" => Ok(iso_date_text(&value("date-value")?).to_owned()),
        "time" => value("time-value"),
        "boolean" => value("boolean-value"),
        _ => {
            let stated = value("string-value")?;
            Ok(if stated.is_empty() { shown } else { stated })
        }
    }
}

/// Adds equal rows.
fn add_rows(
    rows: &mut SheetRows<'_>,
    first: usize,
    repeats: usize,
    cells: &[FilledCell],
) -> Result<(), FileFault> {
    for row in first..first + repeats {
        for cell in cells {
            for column in cell.column..cell.column + cell.repeats {
                rows.add(row, column, &cell.text)?;
            }
        }
    }
    Ok(())
}
