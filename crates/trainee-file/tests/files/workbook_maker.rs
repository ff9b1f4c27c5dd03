//! Makes workbooks for tests.

use std::io::{Cursor, Read as _, Write as _};

use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook, Worksheet};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// A part of an archive: its name and its bytes.
pub(crate) type Part = (String, Vec<u8>);

/// Makes a workbook with the cells of a CSV text, each in the line that it begins in. `n:1` is a
/// number, `d:2001-09-01` a date, `b:true` a boolean, and `f:1` a formula with this value. Other
/// cells are texts.
pub(crate) fn workbook(text: &str) -> Vec<u8> {
    let mut workbook = Workbook::new();
    write_sheet(workbook.add_worksheet(), text);
    workbook.save_to_buffer().unwrap()
}

/// Writes the cells of a CSV text to a sheet.
pub(crate) fn write_sheet(sheet: &mut Worksheet, text: &str) {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    for record in reader.records() {
        let record = record.unwrap();
        let row = u32::try_from(record.position().unwrap().line() - 1).unwrap();
        for (column, cell) in (0..).zip(&record) {
            write_cell(sheet, row, column, cell);
        }
    }
}

fn write_cell(sheet: &mut Worksheet, row: u32, column: u16, cell: &str) {
    let (kind, value) = cell.split_once(':').unwrap_or(("", cell));
    let written = match kind {
        "n" => sheet.write_number(row, column, value.parse::<f64>().unwrap()),
        "b" => sheet.write_boolean(row, column, value == "true"),
        "f" => sheet.write_formula(row, column, Formula::new("=A1").set_result(value)),
        "d" => {
            let date = ExcelDateTime::parse_from_str(value).unwrap();
            let format = Format::new().set_num_format("dd/mm/yyyy");
            sheet.write_datetime_with_format(row, column, date, &format)
        }
        _ if cell.is_empty() => return,
        _ => sheet.write_string(row, column, cell),
    };
    written.unwrap();
}

/// Makes an OpenDocument spreadsheet with one sheet.
pub(crate) fn open_document(rows: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet>\
         <table:table table:name=\"Trainees\"><table:table-column/>{rows}</table:table>\
         </office:spreadsheet></office:body></office:document-content>"
    );
    let kind = "application/vnd.oasis.opendocument.spreadsheet";
    archive(&[
        ("mimetype".to_owned(), kind.into()),
        ("content.xml".to_owned(), content.into()),
        ("META-INF/manifest.xml".to_owned(), "<manifest/>".into()),
    ])
}

/// Returns the workbook with a text in one of its parts replaced.
pub(crate) fn replace(workbook: &[u8], name: &str, from: &str, to: &str) -> Vec<u8> {
    let mut parts = parts(workbook);
    let (_, bytes) = parts.iter_mut().find(|(known, _)| known == name).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains(from), "{text}");
    *bytes = text.replacen(from, to, 1).into();
    archive(&parts)
}

/// Returns the workbook with a further part.
pub(crate) fn add(workbook: &[u8], name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut parts = parts(workbook);
    parts.push((name.to_owned(), bytes.to_owned()));
    archive(&parts)
}

fn parts(workbook: &[u8]) -> Vec<Part> {
    let mut archive = ZipArchive::new(Cursor::new(workbook)).unwrap();
    let mut parts = Vec::new();
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).unwrap();
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes).unwrap();
        parts.push((part.name().unwrap().into_owned(), bytes));
    }
    parts
}

/// Makes a zip archive.
pub(crate) fn archive(parts: &[Part]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
