//! Writes what the targets in `fuzz/` begin with into a folder, and says what there is to run
//! (scripts/fuzz).
//!
//! Each line of its output is a run: the name of the run, which is the folder of its inputs, the
//! target, and the place of the version in the list, or `-` where there is none. All of it follows
//! from the versions and the dictionary.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use conformance::Bodies;
use domain::listing::Status;
use domain::{List, Lists};
use registry::import::Importable;
use registry::rows::{NumberRow, PlainRow, ReturnRow};
use storage::records::organisations::merge::{PartnerDetails, SchoolDetails};

/// Longer lists of codes would crowd everything else out of the dictionary.
const LONGEST_LIST: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("the folder is not given")?;
    let folder = Path::new(&folder);
    let sample = Bodies::sample(adapter_kit::date(2026, 10, 5))
        .map_err(|problems| format!("{problems:?}"))?;
    let mut words = BTreeSet::new();
    for (place, served) in versions::all().iter().enumerate() {
        let bodies = Bodies::new(versions::all(), served, &sample);
        let run = format!("body-{}", served.version.label);
        write(&folder.join(&run), bodies.seeds()?)?;
        words.extend(bodies.names());
        println!("{run} body {place}");
    }
    write(&folder.join("query"), queries())?;
    println!("query query -");
    write(&folder.join("label"), labels())?;
    println!("label label -");
    write(&folder.join("csv"), files())?;
    println!("csv csv -");
    write(&folder.join("workbook"), workbook_parts())?;
    println!("workbook workbook -");
    fs::write(folder.join("dictionary"), dictionary(&words))?;
    Ok(())
}

fn write(folder: &Path, inputs: Vec<Vec<u8>>) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    (0..)
        .zip(inputs)
        .try_for_each(|(number, input)| fs::write(folder.join(format!("seed-{number:03}")), input))
}

fn queries() -> Vec<Vec<u8>> {
    let plain = "academic_cycle=2026&since=2026-03-01T09:30:00.123Z&has_trn=true&sort_order=asc&page=2&per_page=100";
    let statuses = Status::ALL
        .iter()
        .map(|status| format!("status={}", status.name()));
    let moments = [
        "2026-03-01",
        "2026-03-01T09:30",
        "2026-03-01T10%3A30%3A00%2B01:00",
        "0000-01-01T00:00:00-23:59",
    ];
    let moments = moments.map(|moment| format!("since={moment}"));
    statuses
        .chain(moments)
        .chain([plain.to_owned()])
        .map(String::into_bytes)
        .collect()
}

fn labels() -> Vec<Vec<u8>> {
    let labels = versions::SERVED
        .iter()
        .map(|version| version.label.to_string());
    labels
        .flat_map(|label| ["", "-rc", "-pre"].map(|stage| format!("{label}{stage}").into_bytes()))
        .collect()
}

/// A file of each kind, behind the byte that chooses it.
fn files() -> Vec<Vec<u8>> {
    let headers = [
        SchoolDetails::COLUMNS,
        PartnerDetails::COLUMNS,
        PlainRow::COLUMNS,
        NumberRow::COLUMNS,
        ReturnRow::COLUMNS,
    ];
    let rows: [&[u8]; 5] = [
        b"100000,\"Ash, the \"\"old\"\" School\",ZZ1 1AA,Open\r\n100001,St Zo\xeb\x92s,,Closed\n",
        b"100000,10000001,Beech\n,10000002,\"Elm\nand Fir\"\n\n100001,,St Zo\xc3\xab\n",
        b"AbCdEfGhIjKlMnOpQrStUvWx\n",
        b"AbCdEfGhIjKlMnOpQrStUvWx,1234567\nbCdEfGhIjKlMnOpQrStUvWxA,\n",
        b"AbCdEfGhIjKlMnOpQrStUvWx,2026-01-31\n",
    ];
    let files = (0..).zip(headers.iter().zip(rows));
    files
        .map(|(kind, (header, rows))| [&[kind], header.join(",").as_bytes(), b"\n", rows].concat())
        .collect()
}

/// A part of a workbook of each kind, behind the byte that chooses it.
fn workbook_parts() -> Vec<Vec<u8>> {
    let parts = [
        "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" s=\"1\" t=\"str\"><f>B1</f><v>a</v></c></row></sheetData></worksheet>",
        "<sst uniqueCount=\"1\"><si><t>a&amp;</t></si></sst>",
        "<styleSheet><cellXfs><xf numFmtId=\"14\"/></cellXfs></styleSheet>",
        "<table name=\"A\"><table-row number-rows-repeated=\"2\"><table-cell number-columns-repeated=\"2\" value-type=\"string\"><p>a<s c=\"2\"/></p></table-cell></table-row></table>",
    ];
    (0..)
        .zip(parts)
        .map(|(kind, part): (u8, &str)| [&[kind], part.as_bytes()].concat())
        .collect()
}

/// The names and the codes, with and without what stands around them in JSON, and the columns of
/// files, as libFuzzer wants them.
fn dictionary(names: &BTreeSet<&str>) -> String {
    let keys = names.iter().map(|name| format!(r#""\"{name}\":""#));
    let codes = List::ALL
        .iter()
        .filter(|list| Lists::embedded().codes(**list).count() <= LONGEST_LIST);
    let codes = codes
        .flat_map(|list| Lists::embedded().codes(*list))
        .map(|code| format!(r#""\"{code}\"""#));
    let json = [
        "null",
        "true",
        "[]",
        "{}",
        r#"\"2025-09-01\""#,
        r#"\"1999-01-31T00:00:00Z\""#,
        r"\\u0000",
        r"\\ud800",
    ];
    let parameters = [
        "academic_cycle=",
        "status=",
        "since=",
        "has_trn=",
        "sort_order=",
        "page=",
        "per_page=",
    ];
    let columns = [
        SchoolDetails::COLUMNS,
        PartnerDetails::COLUMNS,
        ReturnRow::COLUMNS,
        NumberRow::COLUMNS,
    ]
    .concat();
    let others = json
        .into_iter()
        .chain(parameters)
        .chain(columns)
        .map(|word| format!("\"{word}\""));
    let lines: BTreeSet<String> = keys.chain(codes).chain(others).collect();
    lines.into_iter().map(|line| line + "\n").collect()
}
