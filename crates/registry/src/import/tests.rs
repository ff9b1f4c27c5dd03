//! Files of schools and training partners in each form.

use storage::records::organisations::merge::{PartnerDetails, SchoolDetails};

use super::*;

type Rows<O> = Vec<(u64, Result<O, RowProblem>)>;

fn rows<O: Importable + Organisation>(file: &[u8]) -> Result<Rows<O>, ImportError> {
    let mut rows = Vec::new();
    read_unique_rows(
        &mut Table::open(&decode(file)?, O::COLUMNS, O::OPTIONAL_COLUMNS)?,
        |line, row| {
            rows.push((line, row));
            Ok(())
        },
    )?;
    Ok(rows)
}

fn schools(rows: &str) -> Rows<SchoolDetails> {
    super::tests::rows(
        format!("URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n{rows}").as_bytes(),
    )
    .unwrap()
}

/// The result of each row: its line with its URN or UKPRN, or with the reason for rejecting it.
fn outcomes<O: Organisation>(rows: &Rows<O>) -> Vec<String> {
    let outcome = |row: &Result<O, RowProblem>| match row {
        Ok(organisation) => organisation.key().to_owned(),
        Err(problem) => problem.to_string(),
    };
    rows.iter()
        .map(|(line, row)| format!("{line}: {}", outcome(row)))
        .collect()
}

fn school(urn: &str, name: &str, postcode: Option<&str>, open: bool) -> SchoolDetails {
    SchoolDetails {
        urn: urn.to_owned(),
        name: name.to_owned(),
        postcode: postcode.map(str::to_owned),
        open,
    }
}

#[test]
fn columns_are_found_by_name_others_are_ignored() {
    let file = "LA (code),Postcode,URN,EstablishmentStatus (name),EstablishmentName\r\n\
        201,EC3A 5DE,100000,Open,The Aldgate School\r\n201,,100001,\"Open, but proposed to close\",Ash\r\n\
        201,EC4M 9AD,100002,Closed,Beech\r\n201,EC4M 9AE,100003,Proposed to open,Cedar";
    let expected = [
        (
            2,
            Ok(school(
                "100000",
                "The Aldgate School",
                Some("EC3A 5DE"),
                true,
            )),
        ),
        (3, Ok(school("100001", "Ash", None, true))),
        (4, Ok(school("100002", "Beech", Some("EC4M 9AD"), false))),
        (5, Ok(school("100003", "Cedar", Some("EC4M 9AE"), false))),
    ];
    assert_eq!(rows::<SchoolDetails>(file.as_bytes()).unwrap(), expected);
}

#[test]
fn both_encodings_are_read_with_and_without_byte_order_mark() {
    let utf_8 = "URN,UKPRN,Name\n100000,,St Zoë’s\n";
    let marked = format!("\u{feff}{utf_8}");
    let windows_1252 = b"URN,UKPRN,Name\n100000,,St Zo\xeb\x92s\n";
    for file in [utf_8.as_bytes(), marked.as_bytes(), windows_1252.as_slice()] {
        let rows = rows::<PartnerDetails>(file).unwrap();
        let [(2, Ok(partner))] = rows.as_slice() else {
            panic!("{rows:?}")
        };
        assert_eq!(partner.name, "St Zoë’s");
    }
}

#[test]
fn quoted_name_with_commas_and_line_breaks_is_one_cell() {
    for end in ["\n", "\r\n"] {
        let rows = schools(
            &[
                "100000,\"Ash,",
                "the \"\"old\"\"  School\",\"ZZ1 1AA\",\"Open\"",
                "",
                "100000,,,Open",
            ]
            .join(end),
        );
        let expected = [
            (
                2,
                Ok(school(
                    "100000",
                    "Ash, the \"old\" School",
                    Some("ZZ1 1AA"),
                    true,
                )),
            ),
            (5, Err(RowProblem::Blank("EstablishmentName"))),
        ];
        assert_eq!(rows, expected, "{end:?}");
    }
}

#[test]
fn unclosed_quote_is_rejected_with_its_line() {
    let closed = "100000,Ash,,\"Open\"\n\n100001,\"Be\nech\n\",,Open";
    assert!(schools(closed).iter().all(|(_, row)| row.is_ok()));
    for opened in [
        "\"",
        "\"Open\n100003,Fir,,Open\n",
        "\"Open\"\"",
        "\"Open\r\n\r\n100003,Fir,,Open\r\n",
    ] {
        let rows = schools(&format!("{closed}\n\n100002,Elm,,{opened}"));
        assert_eq!(rows.len(), 3, "{opened:?}: {rows:?}");
        assert_eq!(rows[2], (8, Err(RowProblem::Unclosed)), "{opened:?}");
    }
}

#[test]
fn invalid_row_is_rejected_with_line_others_are_read() {
    let long = "x".repeat(256);
    let rows = schools(&format!(
        "12345,Ash,,Open\n100000,  ,,Open\n100001,Ash,ZZ1 1AAAA,Open\n100002,Ash,ZZ1 1AA\n100003,Ash,,Open\n\
         100003,Ash,,Closed\n100004,{long},,Open\n,Ash,,Open\n"
    ));
    assert_eq!(
        outcomes(&rows),
        [
            "2: URN must be 6 digits",
            "3: EstablishmentName is blank",
            "4: Postcode is longer than 8 characters",
            "5: the row has 3 columns, but the header row has 4",
            "6: 100003",
            "7: 100003 is already on line 6",
            "8: EstablishmentName is longer than 255 characters",
            "9: URN must be 6 digits",
        ]
    );
}

#[test]
fn partner_without_unique_urn_or_ukprn_is_rejected() {
    let file = "Name,UKPRN,URN\nAsh,10000001,\nBeech,10000002,100000\nCedar,,\nDamson,1000,\nElm,,1000\n\
        Fir,10000001,\nGorse,10000002,100001\nHazel,10000001,100002\nIvy,10000002,\nJuniper,10000003,100003\n";
    let expected = [
        "2: 10000001",
        "3: 100000",
        "4: a URN or a UKPRN is required",
        "5: UKPRN must be 8 digits",
        "6: URN must be 6 digits",
        "7: 10000001 is already on line 2",
        "8: 10000002 is already on line 3",
        "9: 10000001 is already on line 2",
        "10: 10000002 is already on line 3",
        "11: 100003",
    ];
    assert_eq!(
        outcomes(&rows::<PartnerDetails>(file.as_bytes()).unwrap()),
        expected
    );
}

#[test]
fn row_with_a_reserved_urn_is_refused() {
    for urn in ["000000", "900000", "900010", "900020", "900030"] {
        let expected = ["2: the URN is reserved: schools and training partners cannot have it"];
        assert_eq!(
            outcomes(&schools(&format!("{urn},Ash,,Open\n"))),
            expected,
            "{urn}"
        );
        let partners =
            rows::<PartnerDetails>(format!("URN,UKPRN,Name\n{urn},10000001,Ash\n").as_bytes());
        assert_eq!(outcomes(&partners.unwrap()), expected, "{urn}");
    }
    assert_eq!(
        outcomes(&schools("900001,Ash,,Open\n000001,Elm,,Open\n")),
        ["2: 900001", "3: 000001"]
    );
}

#[test]
fn name_of_invisible_characters_is_blank() {
    let rows = schools(
        "100000,\u{200b}\u{3164},,Open\n100001,\"\u{2800} \u{ad}\",,Open\n100002,Elm,\u{2060},Open\n",
    );
    let expected = [
        (2, Err(RowProblem::Blank("EstablishmentName"))),
        (3, Err(RowProblem::Blank("EstablishmentName"))),
        (4, Ok(school("100002", "Elm", None, true))),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn rows_of_blank_cells_are_skipped() {
    let rows = schools(
        ",,,\n\" \",\t,\u{a0},\u{200b}\n100000,Ash,,Open\n,\n\n,,,,,\n100001,Elm,,Open\n,,,",
    );
    assert_eq!(outcomes(&rows), ["4: 100000", "8: 100001"]);
}

#[test]
fn lines_end_at_line_feed_carriage_return_or_both() {
    let header = "URN,EstablishmentName,Postcode,EstablishmentStatus (name)";
    let lines = [
        header,
        "",
        "100000,\"Ash",
        "Grove\",,Open",
        ",,,",
        "10000,Elm,,Open",
        "100001,Fir,,Open",
    ];
    let expected = [
        (3, Ok(school("100000", "Ash Grove", None, true))),
        (6, Err(RowProblem::BadUrn)),
        (7, Ok(school("100001", "Fir", None, true))),
    ];
    for end in ["\n", "\r", "\r\n"] {
        for last in ["", end] {
            let file = lines.join(end) + last;
            assert_eq!(
                rows::<SchoolDetails>(file.as_bytes()).unwrap(),
                expected,
                "{end:?} {last:?}"
            );
        }
    }
    let mixed = format!(
        "{header}\r\r\n100000,\"Ash\nGrove\",,Open\r\n,,,\r10000,Elm,,Open\n100001,Fir,,Open\r"
    );
    assert_eq!(rows::<SchoolDetails>(mixed.as_bytes()).unwrap(), expected);
}

#[test]
fn column_names_ignore_case_and_surrounding_space() {
    let file = " urn ,establishmentname,\tPOSTCODE,\"EstablishmentStatus (Name) \"\n100000,Ash,ZZ1 1AA,Open\n";
    let expected = [(2, Ok(school("100000", "Ash", Some("ZZ1 1AA"), true)))];
    assert_eq!(rows::<SchoolDetails>(file.as_bytes()).unwrap(), expected);
    let twice = rows::<PartnerDetails>(b"URN,UKPRN,Name, urn\n").unwrap_err();
    assert!(matches!(twice, ImportError::ColumnTwice("URN")), "{twice}");
}

#[test]
fn file_without_required_column_is_rejected() {
    let refused = |file: &str| {
        rows::<PartnerDetails>(file.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("URN,Title\n100000,Ash\n"),
        r#"the header row must have the columns "URN", "UKPRN", "Name"; missing: "UKPRN", "Name""#
    );
    assert_eq!(
        refused("URN,UKPRN,Name,URN\n"),
        r#"the header row has the column "URN" twice"#
    );
}

#[test]
fn file_is_read_as_a_spreadsheet_wrote_it() {
    let utf_16: Vec<u8> = "\u{feff}URN\tUKPRN\tName\r\n100000\t\tZoë\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for file in [
        "URN;UKPRN;Name\n100000;;Zoë\n".as_bytes(),
        "URN\tUKPRN\tName\n100000\t\tZoë\n".as_bytes(),
        "URN,UKPRN,Name,\n100000,,Zoë\n".as_bytes(),
        "Name,UKPRN,URN,Town\nZoë,,'100000\n".as_bytes(),
        b"URN,UKPRN,Name\r100000,,Zo\x91\r",
        &utf_16,
    ] {
        let rows = rows::<PartnerDetails>(file).unwrap();
        let [(2, Ok(partner))] = rows.as_slice() else {
            panic!("{rows:?}")
        };
        let urn = partner.urn.clone();
        assert_eq!(
            (urn.as_deref(), partner.name.as_str()),
            (Some("100000"), "Zoë")
        );
    }
}

#[test]
fn file_of_other_format_is_rejected_with_format() {
    for (file, expected) in [
        (&b""[..], "The file is empty."),
        (b"\n\r\n", "The file is empty."),
        (b"\xef\xbb\xbf", "The file is empty."),
        (b"PK\x03\x04\x14\0\x06\0,", "an Excel workbook"),
        (b"<html>", "a web page"),
        (
            b"URN,UKPRN,Name\n1,,Zo\xc3\xab\n2,,Zo\xeb\n",
            "Line 3 is not UTF-8",
        ),
        (b"\x7fELF\x02\x01\x01\0,\n", "must have the columns"),
    ] {
        let error = rows::<PartnerDetails>(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected:?}: {error}");
    }
    // A column may be called anything.
    let error = rows::<PartnerDetails>(b"URN,Title; or name\n").unwrap_err();
    assert!(
        matches!(error, ImportError::MissingColumns { .. }),
        "{error}"
    );
}
