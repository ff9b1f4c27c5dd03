//! Any bytes: reading, repairing and writing never panic, and keep the limits.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

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
