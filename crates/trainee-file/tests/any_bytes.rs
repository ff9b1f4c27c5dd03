//! Any bytes: reading, repairing and writing never panic, and keep the limits.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

#[path = "any_bytes/workbook.rs"]
mod workbook;

use std::collections::BTreeSet;

use chrono::NaiveDate;
use proptest::prelude::*;
use trainee_file::{
    CellKind, Codes, Column, Limits, List, Names, NoMemory, RepairContext, Table, TraineeRow,
    compare, find_repairs, write_csv,
};

struct AllCodes;

impl Codes for AllCodes {
    fn kind(&self, _: Option<List>, field: &str) -> CellKind {
        match field {
            "a" => CellKind::Date,
            "d" => CellKind::BirthDate,
            "e" => CellKind::Year,
            "b" => CellKind::Code,
            "c" => CellKind::Digits(&[3, 17]),
            _ => CellKind::Text,
        }
    }

    fn code(&self, _: Option<List>, _: &str, text: &str) -> Option<String> {
        (text.len() == 2).then(|| text.to_owned())
    }
}

fn columns(table: &Table) -> Vec<Column> {
    let mut names = Names::default();
    for field in ["a", "b", "c", "d", "e", "f"] {
        names.add_field(field, field);
    }
    names.add_nested("degrees", "a", "a");
    let mut columns = Vec::new();
    for (place, heading) in table.header.iter().enumerate() {
        let name = ["a", "b", "c", "d", "e", "f", "degrees.1.a"][place % 7];
        columns.push(
            names
                .recognise(heading)
                .or_else(|| names.recognise(name))
                .unwrap(),
        );
    }
    columns
}

/// Does everything with a file. Returns its rows, `None` if it cannot be read.
fn walk(bytes: &[u8], limits: &Limits) -> Option<Table> {
    let mut table = match Table::read_within(bytes, limits) {
        Ok(table) => table,
        Err(fault) => {
            let sentence = fault.to_string();
            assert!(
                sentence.ends_with('.') && !sentence.contains('\n'),
                "{sentence}"
            );
            return None;
        }
    };
    assert!(table.rows.len() <= limits.rows && table.header.len() <= limits.columns);
    let columns = columns(&table);
    let mut repaired = BTreeSet::new();
    let context = RepairContext {
        today: NaiveDate::from_ymd_opt(2026, 11, 28).unwrap(),
        date_order: None,
    };
    for repair in find_repairs(&table, &columns, &AllCodes, &context) {
        let cells = repair.cells.iter().map(|(row, _)| (*row, repair.column));
        assert!(cells.fold(true, |is_new, cell| is_new & repaired.insert(cell)));
        assert!(!repair.examples.is_empty() && !repair.cells.is_empty());
        repair.apply(&mut table);
    }
    for row in &table.rows {
        assert_eq!(row.cells.len(), table.header.len());
        assert!(row.cells.iter().all(|cell| cell.len() <= limits.cell_bytes));
        let row = TraineeRow::new(row, &columns);
        let record = serde_json::Value::Object(row.body());
        compare(&NoMemory, &row, &record).unwrap();
    }
    Some(table)
}

const SMALL: Limits = Limits {
    bytes: 400,
    rows: 5,
    columns: 6,
    cell_bytes: 20,
};

/// The kinds of parts of workbooks, with their beginnings, ends and pieces.
#[rustfmt::skip]
const WORKBOOK_PARTS: &[(u8, &str, &str, &[&str])] = &[
    (0, "<worksheet><sheetData>", "</sheetData></worksheet>", &[
        "<row><c t=\"inlineStr\"><is><t>a</t></is></c><c t=\"str\"><v>b</v></c></row>",
        "<row><c s=\"1\"><v>-1</v></c><c t=\"e\"><v>#N/A</v></c></row>",
        "<row><c/><c/></row>",
        "<row><c r=\"B7\"><v>2</v></c><c r=\"A7\" t=\"b\"><v>1</v></c></row>",
        "<row><c><v>1e300</v></c></row>",
        "<row><c r=\"ZZZZZZZZ9\"><f>A1</f></c></row>",
        "<row r=\"4294967296\"><c><v>1</v></c></row>",
    ]),
    (1, "<sst>", "</sst>", &["<si><t>a&amp;</t></si>", "<si><t>&#1;</t></si>", "<si/>"]),
    (2, "<styleSheet><cellXfs>", "</cellXfs></styleSheet>", &[
        "<xf numFmtId=\"0\"/>", "<xf numFmtId=\"14\"/>", "<xf numFmtId=\"x\" fontId=\"9\"/>",
    ]),
    (3, "<a><table:table table:name=\"A\">", "</table:table></a>", &[
        "<table-row><table-cell value-type=\"float\" value=\"1\"/></table-row>",
        "<table-row><table-cell value-type=\"string\" number-columns-repeated=\"2\"><p>a</p><p><s c=\"3\"/>b</p></table-cell></table-row>",
        "<table-row number-rows-repeated=\"18446744073709551615\"/>",
        "<table-row number-rows-repeated=\"9\"><table-cell number-columns-repeated=\"9\" value-type=\"date\" date-value=\"2\"/></table-row>",
        "<table-row-group><table-row><covered-table-cell/></table-row></table-row-group>",
        "<table-row><table-cell formula=\"A1\"/></table-row>",
    ]),
];
/// Pieces that no part has.
const FAULTY_PIECES: &[&str] = &[
    "<!DOCTYPE x>",
    "<!--",
    "&",
    "\u{1}",
    "<row>",
    "</table-row>",
];

/// A part of a workbook, after the byte of its kind.
fn workbook_part() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(WORKBOOK_PARTS);
    parts.prop_flat_map(|(kind, start, end, pieces)| {
        let piece = prop_oneof![
            20 => prop::sample::select(pieces),
            1 => prop::sample::select(FAULTY_PIECES),
        ];
        prop::collection::vec(piece, 0..6).prop_map(move |pieces| {
            [
                &[kind],
                start.as_bytes(),
                pieces.concat().as_bytes(),
                end.as_bytes(),
            ]
            .concat()
        })
    })
}

/// No file of failures: it would be written into the sources.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(512)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        walk(&bytes, &SMALL);
        walk(&bytes, &Limits::UPLOAD);
    }

    #[test]
    fn any_text_of_csv_is_read_or_refused(
        text in "[ab1,;\t\"'\r\n/E+.0-9é-]{0,300}",
    ) {
        walk(text.as_bytes(), &SMALL);
        walk(text.as_bytes(), &Limits::UPLOAD);
    }

    #[test]
    fn any_part_of_a_workbook_is_read_or_refused(part in workbook_part()) {
        workbook::holds(&part);
    }

    #[test]
    fn any_cells_are_written_and_read_back(
        cells in prop::collection::vec("[' -~é＝－\n]{0,12}[!-~]", 1..6),
    ) {
        let trimmed: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        let header: Vec<String> = (0..cells.len()).map(|at| format!("h{at}")).collect();
        let file = write_csv(header.iter().map(String::as_str), [trimmed.clone()]).unwrap();
        let table = Table::read(file.as_bytes()).unwrap();
        prop_assert_eq!(&table.rows[0].cells, &trimmed);
    }
}
