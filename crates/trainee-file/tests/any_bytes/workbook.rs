//! Any bytes as a part of a workbook: reading never panics, keeps the limits, and each fault is one
//! sentence.

use std::io::{Cursor, Write as _};

use trainee_file::{Limits, Table, sheet_names};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const SHEET: &str = "xl/worksheets/sheet1.xml";
const STRINGS: &str = "xl/sharedStrings.xml";
const STYLES: &str = "xl/styles.xml";
const OPEN_DOCUMENT_CONTENT: &str = "content.xml";

/// The smallest Excel workbook, without the sheet.
const EXCEL_PARTS: &[(&str, &str)] = &[
    (
        "[Content_Types].xml",
        "<Types>spreadsheetml.sheet.main+xml</Types>",
    ),
    (
        "_rels/.rels",
        "<Relationships><Relationship Id=\"a\" Type=\"/relationships/officeDocument\" \
         Target=\"xl/workbook.xml\"/></Relationships>",
    ),
    (
        "xl/_rels/workbook.xml.rels",
        "<Relationships><Relationship Id=\"a\" Type=\"/worksheet\" \
         Target=\"worksheets/sheet1.xml\"/></Relationships>",
    ),
    (
        "xl/workbook.xml",
        "<workbook><sheets><sheet name=\"A\" id=\"a\"/></sheets></workbook>",
    ),
];
/// A sheet with a shared text and a formatted number.
const SMALL_SHEET: &str = "<worksheet><sheetData><row><c t=\"s\"><v>0</v></c>\
    <c s=\"1\"><v>1</v></c></row></sheetData></worksheet>";
const OPEN_DOCUMENT_PARTS: &[(&str, &str)] = &[
    ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
    ("META-INF/manifest.xml", "<manifest/>"),
];

/// Reads the bytes after the first one as a part of a workbook that the first one chooses.
pub(crate) fn holds(bytes: &[u8]) {
    let Some((kind, part)) = bytes.split_first() else {
        return;
    };
    let (parts, name) = match kind % 4 {
        0 => (EXCEL_PARTS, SHEET),
        1 => (EXCEL_PARTS, STRINGS),
        2 => (EXCEL_PARTS, STYLES),
        _ => (OPEN_DOCUMENT_PARTS, OPEN_DOCUMENT_CONTENT),
    };
    let mut parts: Vec<_> = parts
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    if matches!(name, STRINGS | STYLES) {
        parts.push((SHEET, SMALL_SHEET.as_bytes()));
    }
    parts.push((name, part));
    read(&archive(&parts));
}

fn read(file: &[u8]) {
    let limits = Limits {
        bytes: 64 * 1024,
        rows: 50,
        columns: 20,
        cell_bytes: 200,
    };
    let names = sheet_names(file, &limits);
    match Table::read_within(file, &limits) {
        Ok(table) => {
            assert!(names.is_ok());
            assert!(table.rows.len() <= limits.rows && table.header.len() <= limits.columns);
            for row in &table.rows {
                assert_eq!(row.cells.len(), table.header.len());
                assert!(row.cells.iter().all(|cell| cell.len() <= limits.cell_bytes));
            }
        }
        Err(fault) => {
            let sentence = fault.to_string();
            assert!(
                sentence.ends_with('.') && !sentence.contains('\n'),
                "{sentence}"
            );
        }
    }
}

/// Makes an archive of parts that are not compressed.
fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
