//! Whatever comes from outside is read, or refused, as it should be: queries of lists, labels of
//! versions, and files of comma-separated values. Bodies have a conformance check
//! (`conformance::no_input_panics`).
//!
//! What must hold is given any bytes by the targets in `fuzz/` as well. Here it is tried on pieces
//! of what is meant, put together at random. `PROPERTY_CASES` sets how many are tried.

mod csv;
mod label;
mod query;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use registry::import::Importable as _;
use registry::rows::{NumberRow, ReturnRow};
use storage::records::organisations::merge::{PartnerDetails, SchoolDetails};

use crate::api::trainees::properties::cases;

/// How many more of these are tried than of what goes through a server.
const CHEAPER: u32 = 20;

/// Tries texts of several pieces, each one of these or any text.
fn try_on(pieces: &[&str], holds: impl Fn(&str)) {
    let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
    let piece = prop_oneof![9 => select(pieces), 1 => any::<String>()];
    let texts = vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    let config = Config {
        cases: CHEAPER * cases(),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&texts, |text| {
            holds(&text);
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_query_is_parsed_or_refused_with_a_reason() {
    let pieces = [
        "academic_cycle=",
        "status=",
        "since=",
        "has_trn=",
        "sort_order=",
        "page=",
        "per_page=",
        "&",
        "=",
        "+",
        "%",
        "2025",
        "in_training",
        "2026-03-01",
        "T09:30:00",
        ".1239",
        "Z",
        "+01:00",
        "%2B01:00",
        "0000-01-01",
        "-23:59",
        "true",
        "asc",
        "desc",
        "9223372036854775807",
        "501",
        "%00",
        "%ff",
    ];
    try_on(&pieces, query::holds);
}

#[test]
fn any_label_reads_as_it_was_written_or_is_none() {
    let pieces = [
        "v", ".", "-", "rc", "pre", "0", "1", "2026", "65535", "65536", " ", "+", "٣",
    ];
    try_on(&pieces, label::holds);
}

#[test]
fn any_file_is_read_to_its_end() {
    let columns = [
        SchoolDetails::COLUMNS,
        PartnerDetails::COLUMNS,
        NumberRow::COLUMNS,
        ReturnRow::COLUMNS,
    ];
    let headers = columns.map(|columns| format!("{}\n", columns.join(",")));
    let cells = [
        ",",
        "\n",
        "\r",
        "\"",
        "\"\"",
        "\"\n\"",
        "100000",
        "10000001",
        "1234567",
        "2026-01-31",
        "Ash",
        "Open",
        " ",
        "\u{feff}",
        "\u{85}",
        "é",
        "\0",
    ];
    for (kind, header) in [0, 1, 3, 4].into_iter().zip(&headers) {
        try_on(&cells, |rows| {
            csv::holds(&[&[kind], header.as_bytes(), rows.as_bytes()].concat());
        });
        // Also where it is no UTF-8.
        try_on(&cells, |rows| {
            let bytes: Vec<u8> = rows
                .chars()
                .map(|letter| u8::try_from(letter).unwrap_or(0x92))
                .collect();
            csv::holds(&[&[kind], header.as_bytes(), &bytes].concat());
        });
    }
}
