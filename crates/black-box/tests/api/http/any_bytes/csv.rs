//! Files of comma-separated values: schools, training partners, and what the registry is to do. The
//! first byte chooses the kind.
//!
//! Whatever stands in a file, it is read to its end; rows are told by lines that there are; a byte
//! order mark and another line end mean nothing; what was accepted is accepted again when it is
//! written plainly.

use std::fmt::Debug;

use registry::import::{ImportError, Importable, RowProblem, each_row};
use registry::rows::{NumberRow, PlainRow, ReturnRow};
use storage::records::organisations::merge::{PartnerDetails, SchoolDetails};

const MARK: &[u8] = "\u{feff}".as_bytes();

type Rows<R> = Vec<(u64, Result<R, RowProblem>)>;

pub(crate) fn holds(bytes: &[u8]) {
    let Some((kind, file)) = bytes.split_first() else {
        return;
    };
    match kind % 5 {
        0 => {
            let schools = tried::<SchoolDetails>(file);
            written(
                schools,
                |SchoolDetails {
                     urn,
                     name,
                     postcode,
                     open,
                 }| {
                    [
                        urn,
                        name,
                        postcode.unwrap_or_default(),
                        if open { "Open" } else { "Closed" }.to_owned(),
                    ]
                },
            );
        }
        1 => {
            let partners = tried::<PartnerDetails>(file);
            written(partners, |PartnerDetails { urn, ukprn, name }| {
                [urn.unwrap_or_default(), ukprn.unwrap_or_default(), name]
            });
        }
        2 => drop(tried::<PlainRow>(file)),
        3 => drop(tried::<NumberRow>(file)),
        _ => drop(tried::<ReturnRow>(file)),
    }
}

/// The rows of the file; `None` where its header is not the right one.
fn rows<R: Importable>(file: &[u8]) -> Option<Rows<R>> {
    let mut rows = Vec::new();
    let read = each_row(file, |line, row| {
        rows.push((line, row));
        Ok(())
    });
    match read {
        Ok(()) => Some(rows),
        Err(
            ImportError::MissingColumns { .. } | ImportError::ColumnTwice(_) | ImportError::File(_),
        ) if rows.is_empty() => None,
        Err(error) => panic!("{error}"),
    }
}

fn tried<R: Importable + Debug>(file: &[u8]) -> Rows<R> {
    let read = rows::<R>(file);
    let shown = format!("{read:?}");
    // The mark and the line ends of other bytes tell their encoding.
    let is_utf_8 = str::from_utf8(file).is_ok();
    if is_utf_8 && !file.starts_with(MARK) {
        assert_eq!(format!("{:?}", rows::<R>(&[MARK, file].concat())), shown);
    }
    if is_utf_8 && !file.contains(&b'\r') {
        for end in [&b"\r\n"[..], b"\r"] {
            let other_ends: Vec<u8> = file
                .iter()
                .flat_map(|byte| {
                    if *byte == b'\n' {
                        end.to_vec()
                    } else {
                        vec![*byte]
                    }
                })
                .collect();
            assert_eq!(format!("{:?}", rows::<R>(&other_ends)), shown);
        }
    }
    let read = read.unwrap_or_default();
    let lines = 1 + file
        .iter()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
        .count() as u64;
    assert!(
        read.is_sorted_by(|(line, _), (next, _)| line < next),
        "{read:?}"
    );
    assert!(
        read.iter().all(|(line, _)| (2..=lines).contains(line)),
        "{lines}: {read:?}"
    );
    read
}

/// Writes the rows that were accepted with every cell in quotes, and reads them again.
fn written<R: Importable + Debug + PartialEq + Clone, const N: usize>(
    read: Rows<R>,
    cells: impl Fn(R) -> [String; N],
) {
    let accepted: Vec<R> = read.into_iter().filter_map(|(_, row)| row.ok()).collect();
    let mut file = R::COLUMNS.join(",");
    for row in &accepted {
        let cells = cells(row.clone()).map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
        file += &format!("\n{}", cells.join(","));
    }
    let again: Vec<_> = rows(file.as_bytes())
        .expect("the header is right")
        .into_iter()
        .map(|(_, row)| row)
        .collect();
    assert_eq!(again, accepted.into_iter().map(Ok).collect::<Vec<_>>());
}
