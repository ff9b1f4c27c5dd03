//! Files of the kinds that spreadsheets and student-record systems write, and malicious ones.
//!
//! A case is a name, the bytes of the file, and the expected outcome as text: the columns, then each
//! row with its line, after all repairs. `~` precedes a repair with its first example. A file that
//! cannot be read has one sentence.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod dates;
mod headings;
mod hostile_workbooks;
mod workbook_maker;
mod workbooks;

use chrono::NaiveDate;
use trainee_file::{
    CellKind, Codes, Column, DateOrder, Limits, List, Names, RepairContext, Table, TraineeRow,
    find_repairs, write_csv,
};

/// The code lists of the tests, by field.
const LISTS: &[(&str, &[(&str, &str)])] = &[
    ("sex", &[("10", "Female"), ("11", "Male")]),
    (
        "training_route",
        &[("02", "School Direct"), ("11", "Provider-led")],
    ),
    ("subject", &[("100003", "Ceramics")]),
    ("institution", &[("0117", "Loughborough University")]),
    ("country", &[("FR", "France")]),
];
const FIELDS: &[&str] = &[
    "provider_trainee_id",
    "application_id",
    "agency_id",
    "first_names",
    "last_name",
    "previous_last_name",
    "date_of_birth",
    "ni_number",
    "sex",
    "email",
    "nationality",
    "ethnicity",
    "disability1",
    "disability2",
    "disability3",
    "disability4",
    "disability5",
    "disability6",
    "disability7",
    "disability8",
    "disability9",
    "itt_aim",
    "training_route",
    "itt_qualification_aim",
    "course_subject_1",
    "course_subject_2",
    "course_subject_3",
    "study_mode",
    "itt_start_date",
    "itt_end_date",
    "course_age_range",
    "course_year",
    "training_partner_urn",
    "employing_school_urn",
    "trainee_start_date",
    "pg_apprenticeship_start_date",
    "fund_code",
    "funding_method",
    "training_initiative",
    "additional_training_initiative",
];
const DEGREE_FIELDS: &[&str] = &[
    "uk_degree",
    "non_uk_degree",
    "subject",
    "grade",
    "graduation_year",
    "institution",
    "country",
];

struct TestCodes;

impl Codes for TestCodes {
    fn kind(&self, _: Option<List>, field: &str) -> CellKind {
        match field {
            "agency_id" => CellKind::Digits(&[13, 17]),
            "date_of_birth" => CellKind::BirthDate,
            "graduation_year" => CellKind::Year,
            _ if field.contains("date") => CellKind::Date,
            _ if LISTS.iter().any(|(name, _)| *name == field) => CellKind::Code,
            _ => CellKind::Text,
        }
    }

    fn code(&self, _: Option<List>, field: &str, text: &str) -> Option<String> {
        let (_, entries) = LISTS.iter().find(|(name, _)| *name == field)?;
        let is_entry =
            |(code, name): &&(&str, &str)| *code == text || name.eq_ignore_ascii_case(text);
        entries
            .iter()
            .find(is_entry)
            .map(|(code, _)| (*code).to_owned())
    }
}

fn names() -> Names {
    let mut names = Names::default();
    for field in FIELDS {
        names.add_field(field, field);
    }
    names.add_nested("placements", "urn", "urn");
    for field in DEGREE_FIELDS {
        names.add_nested("degrees", field, field);
    }
    names
}

fn columns(table: &Table) -> Vec<Column> {
    let recognise = |heading: &String| names().recognise(heading).unwrap_or(Column::Ignored);
    table.header.iter().map(recognise).collect()
}

/// The date that counts as today.
const TODAY: NaiveDate = match NaiveDate::from_ymd_opt(2026, 11, 28) {
    Some(date) => date,
    None => NaiveDate::MIN,
};

/// What reading and repairing a file comes to, as text.
fn outcome(bytes: &[u8]) -> String {
    outcome_with(bytes, None)
}

/// Like [`outcome`], with an order of day and month that the person has chosen.
fn outcome_with(bytes: &[u8], date_order: Option<DateOrder>) -> String {
    let context = RepairContext {
        today: TODAY,
        date_order,
    };
    let mut table = match Table::read(bytes) {
        Ok(table) => table,
        Err(fault) => return fault.to_string(),
    };
    let columns = columns(&table);
    let repairs = find_repairs(&table, &columns, &TestCodes, &context);
    let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let mut lines = vec![names.join("|")];
    for repair in &repairs {
        let (from, to) = &repair.examples[0];
        let (count, kind) = (repair.cells.len(), repair.kind.name());
        lines.push(format!(
            "~{} {kind} {count}: {from} > {to}",
            names[repair.column]
        ));
        repair.apply(&mut table);
    }
    if !table.short_rows.is_empty() {
        lines.push(format!("short {:?}", table.short_rows));
    }
    for row in &table.rows {
        lines.push(format!("{} {}", row.line, row.cells.join("|")));
    }
    lines.join("\n")
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = format!("\u{feff}{text}");
    text.encode_utf16().flat_map(bytes).collect()
}

fn check(cases: &[(&str, Vec<u8>, &str)]) {
    for (name, bytes, expected) in cases {
        assert_eq!(&outcome(bytes), expected, "{name}");
    }
}

#[test]
fn files_in_all_encodings_are_read() {
    let expected = "first_names|last_name\n2 Zoë|O’Neil";
    let (comma, tab) = (
        "first_names,last_name\r\nZoë,O’Neil\r\n",
        "first_names\tlast_name\r\nZoë\tO’Neil\r\n",
    );
    check(&[
        (
            "CSV UTF-8 of Excel",
            format!("\u{feff}{comma}").into_bytes(),
            expected,
        ),
        ("CSV of LibreOffice", comma.into(), expected),
        (
            "CSV of Excel on Windows",
            b"first_names,last_name\r\nZo\xeb,O\x92Neil\r\n".into(),
            expected,
        ),
        (
            "CSV of Excel in Germany",
            b"first_names;last_name\r\nZo\xeb;O\x92Neil\r\n".into(),
            expected,
        ),
        (
            "Unicode text of Excel",
            utf_16(tab, u16::to_le_bytes),
            expected,
        ),
        (
            "UTF-16, other byte order",
            utf_16(comma, u16::to_be_bytes),
            expected,
        ),
        (
            "CSV (Macintosh) of Excel",
            b"first_names,last_name\rJos\x8e,O\xd5Neil\r".into(),
            "first_names|last_name\n2 José|O’Neil",
        ),
        (
            "UTF-8 with lines that end with CR",
            "first_names,last_name\rZoë,O’Neil\r".into(),
            expected,
        ),
        (
            "several scripts",
            "first_names\nŁukasz Ёлка 李\n".into(),
            "first_names\n2 Łukasz Ёлка 李",
        ),
        (
            "UTF-8 with a line of Windows-1252",
            [comma.as_bytes(), b"Zo\xeb,x\r\n"].concat(),
            "Line 3 is not UTF-8, unlike other lines; save the file as CSV UTF-8.",
        ),
        (
            "byte that no encoding has",
            b"first_names\na\n\x81\n".into(),
            "Line 3 has bytes that are not text; save the file as CSV UTF-8.",
        ),
        (
            "UTF-8 with a mark and a wrong byte",
            b"\xef\xbb\xbffirst_names\na\nb\xff\n".into(),
            "Line 3 has bytes that are not text; save the file as CSV UTF-8.",
        ),
    ]);
}

#[test]
fn separators_are_found() {
    let expected = "first_names|last_name\n2 Ayo|Ola";
    check(&[
        ("commas", "first_names,last_name\nAyo,Ola".into(), expected),
        (
            "semicolons",
            "first_names;last_name\nAyo;Ola".into(),
            expected,
        ),
        ("tabs", "first_names\tlast_name\nAyo\tOla".into(), expected),
        (
            "line that names the separator",
            "sep=;\r\nfirst_names;last_name\r\nAyo;Ola".into(),
            "first_names|last_name\n3 Ayo|Ola",
        ),
        (
            "commas within cells of semicolons",
            "first_names;email;\"Other, long\"\nAyo, B.;a@x;1,5\n".into(),
            "first_names|email|ignored\n2 Ayo, B.|a@x|1,5",
        ),
        (
            "one column",
            "first_names\nAyo\nBea\n".into(),
            "first_names\n2 Ayo\n3 Bea",
        ),
    ]);
}

#[test]
fn lines_are_counted_as_an_editor_does() {
    let lines = ["first_names,email", "1,2", "", "\"x", "y\",2", ",", "3,4"];
    for end in ["\n", "\r\n", "\r"] {
        let expected = format!("first_names|email\n2 1|2\n4 x{end}y|2\n7 3|4");
        let name = format!("{end:?}");
        check(&[(&name, lines.join(end).into_bytes(), &expected)]);
        let ended = format!("{}{end}", lines.join(end));
        check(&[(&name, ended.into_bytes(), &expected)]);
    }
    check(&[(
        "mixed line ends",
        "first_names,email\r1,2\r\n\r\"x\ny\",2\n,\r3,4\r".into(),
        "first_names|email\n2 1|2\n4 x\ny|2\n7 3|4",
    )]);
}

#[test]
fn blank_rows_and_columns_are_left_out() {
    check(&[
        (
            "blank rows",
            "\n,,,\nfirst_names,email\n , \nAyo,\n,,,\n,".into(),
            "first_names|email\n5 Ayo|",
        ),
        (
            "columns beside the data",
            "first_names,email,,\nAyo,a@x,,\n,,,\n".into(),
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "blank column between others",
            "first_names,,email\nAyo,,a@x\n".into(),
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "blank cells beyond the headings",
            "first_names,email\nAyo,a@x,,\n".into(),
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "white space around cells",
            " first_names , email\n\u{a0}Ayo \u{a0}, a@x\t\n".into(),
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "rows of invisible cells",
            "first_names,email\n\u{200b},\u{feff}\n\u{2800},\u{3164}\nAyo,\u{200b}\n".into(),
            "first_names|email\n4 Ayo|",
        ),
        (
            "headings alone",
            "first_names,email\n".into(),
            "first_names|email",
        ),
    ]);
}

#[test]
fn missing_cells_are_blank_and_named() {
    check(&[
        (
            "last blank cells left out",
            "first_names,email,sex\nAyo,a@x\nBea,b@x,10\nCleo\n".into(),
            "first_names|email|sex\nshort [2, 4]\n2 Ayo|a@x|\n3 Bea|b@x|10\n4 Cleo||",
        ),
        (
            "separator at the end of the headings only",
            "first_names,email,\nAyo,a@x\n".into(),
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "footer",
            "first_names,email\nAyo,a@x\n\nTotal: 1\n".into(),
            "first_names|email\nshort [4]\n2 Ayo|a@x\n4 Total: 1|",
        ),
    ]);
}

#[test]
fn quoted_cells_are_read() {
    check(&[
        (
            "all cells quoted",
            "\"first_names\",\"email\"\r\n\"Ayo\",\"a@x\"\r\n".into(),
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "separators and quotation marks in cells",
            "first_names,email\n\"Ayo, \"\"Ay\"\"\",a@x\n".into(),
            "first_names|email\n2 Ayo, \"Ay\"|a@x",
        ),
        (
            "line breaks in cells",
            "first_names,email\n\"Ayo\n\nOla\",a@x\nBea,b@x\n".into(),
            "first_names|email\n2 Ayo\n\nOla|a@x\n5 Bea|b@x",
        ),
        (
            "quotation mark within a cell",
            "first_names,email\nA\"yo,a@x\n".into(),
            "first_names|email\n2 A\"yo|a@x",
        ),
    ]);
}

#[test]
fn apostrophe_is_removed_only_where_a_spreadsheet_adds_it() {
    check(&[
        (
            "template of the sector",
            "'HESA ID,Training Route\n'0310261553101,'02\n".into(),
            "agency_id|training_route\n2 0310261553101|02",
        ),
        (
            "names with apostrophes",
            "first_names,last_name\n'Abd,'t Hart\nO'Neil,''t Hooft\n\u{2019}a,'\u{2bc}x\n".into(),
            "first_names|last_name\n2 'Abd|'t Hart\n3 O'Neil|'t Hooft\n4 \u{2019}a|'\u{2bc}x",
        ),
        (
            "apostrophes before digits, signs and apostrophes",
            "first_names,last_name\n' 02 ,''\n',x\n'=1,'-\n'\u{ff1d}1,'@a\n".into(),
            "first_names|last_name\n~first_names text_formulas 1: =1 > 1\n\
             ~first_names formulas 1: \u{ff1d}1 > \n~last_name formulas 1: @a > \n2 02|'\n3 |x\n\
             4 1|-\n5 \u{ff1d}1|@a",
        ),
    ]);
}

#[test]
fn lost_zeros_are_restored_in_codes_and_identifiers() {
    check(&[
        (
            "codes",
            "training_route,sex\n2,10\n11,11\n02,10\n".into(),
            "training_route|sex\n~training_route lost_zeros 1: 2 > 02\n2 02|10\n3 11|11\n4 02|10",
        ),
        (
            "student identifiers",
            "agency_id\n310261553101\n0310261553102\n1103102615531011\n".into(),
            "agency_id\n~agency_id lost_zeros 2: 310261553101 > 0310261553101\n2 0310261553101\n\
             3 0310261553102\n4 01103102615531011",
        ),
        (
            "unknown code",
            "training_route\n3\n".into(),
            "training_route\n2 3",
        ),
        ("text of digits", "last_name\n2\n".into(), "last_name\n2 2"),
    ]);
}

#[test]
fn shortened_numbers_are_restored_only_if_all_digits_are_there() {
    check(&[
        (
            "scientific notation, 6 digits",
            "agency_id\n1.23457E+12\n0310261553101\n".into(),
            "agency_id\n~agency_id lost_digits 1: 1.23457E+12 > \n2 1.23457E+12\n3 0310261553101",
        ),
        (
            "scientific notation, all digits",
            "agency_id\n1.310261553101E+12\n".into(),
            "agency_id\n~agency_id scientific_notation 1: 1.310261553101E+12 > 1310261553101\n\
             2 1310261553101",
        ),
        (
            "scientific notation in text, decimal comma",
            "provider_trainee_id;email\n1,2E+11;a\n".into(),
            "provider_trainee_id|email\n~provider_trainee_id lost_digits 1: 1,2E+11 > \n2 1,2E+11|a",
        ),
        (
            "17 digits as numbers",
            "agency_id\n11103102615531000\n11103102615539900\n".into(),
            "agency_id\n~agency_id lost_digits 2: 11103102615531000 > \n2 11103102615531000\n\
             3 11103102615539900",
        ),
        (
            "17 digits as numbers, beside a whole one",
            "agency_id\n12345678901234500\n32345678901234567\n".into(),
            "agency_id\n~agency_id lost_digits 1: 12345678901234500 > \n2 12345678901234500\n\
             3 32345678901234567",
        ),
        (
            "numbers with decimals",
            "agency_id,training_route\n0310261553101.0,2.0\n310261553102.0,11.0\n".into(),
            "agency_id|training_route\n~agency_id decimals 2: 0310261553101.0 > 0310261553101\n\
             ~training_route decimals 2: 2.0 > 02\n2 0310261553101|02\n3 0310261553102|11",
        ),
        (
            "17 digits",
            "agency_id\n11103102615531011\n".into(),
            "agency_id\n2 11103102615531011",
        ),
        (
            "text like a number",
            "last_name\nE+1\nE10\n1E5\n".into(),
            "last_name\n2 E+1\n3 E10\n4 1E5",
        ),
    ]);
}

#[test]
fn names_of_codes_are_translated() {
    check(&[(
        "names",
        "sex,Degree subject\nFEMALE,Ceramics\n11,100003\nUnknown,x\n".into(),
        "sex|degrees.1.subject\n~sex code_names 1: FEMALE > 10\n\
         ~degrees.1.subject code_names 1: Ceramics > 100003\n2 10|100003\n3 11|100003\n4 Unknown|x",
    )]);
    check(&[(
        "codes of nested records",
        "degrees.1.institution,degrees.2.country\n117,France\nLoughborough University,FR\n".into(),
        "degrees.1.institution|degrees.2.country\n\
         ~degrees.1.institution lost_zeros 1: 117 > 0117\n\
         ~degrees.1.institution code_names 1: Loughborough University > 0117\n\
         ~degrees.2.country code_names 1: France > FR\n2 0117|FR\n3 0117|FR",
    )]);
}

#[test]
fn headings_of_the_template_are_all_recognised() {
    let template = "Provider Trainee ID,Application ID,HESA ID,First Names,Last Name,Previous Last Name,\
        Date of Birth,NI Number,Sex,Email,Nationality,Ethnicity,Disability 1,Disability 2,\
        Disability 3,Disability 4,Disability 5,Disability 6,Disability 7,Disability 8,Disability 9,\
        ITT Aim,Training Route,Qualification Aim,Course Subject One,Course Subject Two,\
        Course Subject Three,Study Mode,ITT Start Date,ITT End Date,Course Age Range,Course Year,\
        Lead Partner URN,Employing School URN,Trainee Start Date,PG Apprenticeship Start Date,\
        Fund Code,Funding Method,Training Initiative,Additional Training Initiative,Placement 1 URN,\
        Placement 2 URN,Placement 3 URN,UK Degree Type,Non-UK Degree Type,Degree Subject,\
        Degree Grade,Degree Graduation Year,Awarding Institution,Degree Country\n";
    let newer = "training_partner_urn,placement_1_urn,placement_2_urn,uk_degree,non_uk_degree,\
        degree_subject,degree_grade,awarding_institution,course_subject_1,itt_qualification_aim\n";
    for (text, count) in [(template, 50), (newer, 10)] {
        let table = Table::read(text.as_bytes()).unwrap();
        let columns = columns(&table);
        assert_eq!(columns.len(), count);
        assert!(!columns.contains(&Column::Ignored), "{columns:?}");
        assert_eq!(trainee_file::find_repeated_column(&columns), None);
    }
    let table = Table::read(format!("{template}{}1\n", ",".repeat(49)).as_bytes()).unwrap();
    let row = TraineeRow::new(&table.rows[0], &columns(&table));
    assert_eq!(
        row.nested[0].fields.last().unwrap(),
        &("country".to_owned(), "1".to_owned())
    );
}

#[test]
fn other_formats_and_damaged_files_get_one_sentence() {
    let save = "not CSV; open it in a spreadsheet and save it as CSV UTF-8.";
    let sentence = |kind: &str| format!("The file is {kind}, {save}");
    let binary = "Line 2 has bytes that are not text; save the file as CSV UTF-8.";
    check(&[
        (
            "beginning of a workbook",
            b"PK\x03\x04\x14\x00\x06\x00".into(),
            "The workbook is damaged; open it in a spreadsheet and save it again.",
        ),
        (
            "old workbook",
            b"\xd0\xcf\x11\xe0\xa1\xb1".into(),
            &sentence("an old Excel workbook"),
        ),
        ("PDF", b"%PDF-1.7\n".into(), &sentence("a PDF document")),
        (
            "gzip",
            b"\x1f\x8b\x08\x00".into(),
            &sentence("a gzip archive"),
        ),
        (
            "report of a web page",
            b"\r\n<html><table>".into(),
            &sentence("a web page or XML"),
        ),
        ("zeros", b"first_names\n\x00\x00\n".into(), binary),
        (
            "control characters",
            b"first_names\n\x1b[2J\n".into(),
            binary,
        ),
        (
            "UTF-16 without a mark",
            b"f\x00i\x00".into(),
            "Line 1 has bytes that are not text; save the file as CSV UTF-8.",
        ),
        ("empty", Vec::new(), "The file is empty."),
        ("mark alone", "\u{feff}\r\n".into(), "The file is empty."),
        (
            "blank cells alone",
            ",,\n\n ,\n".into(),
            "The file is empty.",
        ),
        (
            "quotation mark never closed",
            "first_names,email\nAyo,a@x\n\"Bea,b@x\nCleo,c@x\n".into(),
            "The quotation mark at the beginning of a cell in the row at line 3 is never closed; add \
             the second one.",
        ),
        (
            "quotation mark at the end",
            "first_names\nAyo\n\"".into(),
            "The quotation mark at the beginning of a cell in the row at line 3 is never closed; add \
             the second one.",
        ),
        (
            "two columns of one heading",
            "email,Email\na,b\n".into(),
            "Two columns are called \"Email\"; each needs a unique name in the first row.",
        ),
        (
            "column without a heading",
            "email,\na,b\n".into(),
            "Column 2 has no heading; write a name in the first row.",
        ),
        (
            "too many cells",
            "email;sex\na;10\nb;c;10\n".into(),
            "Line 3 has 3 cells, and the first row has 2; put quotation marks around cells that \
             contain semicolons.",
        ),
    ]);
}

#[test]
fn files_beyond_a_limit_get_one_sentence() {
    let Limits {
        bytes,
        rows,
        columns,
        cell_bytes,
    } = Limits::UPLOAD;
    let many_columns = "Line 2 has more than 200 cells; remove columns that are not needed.";
    let cell = |length: usize| format!("email\n{}\n", "x".repeat(length)).into_bytes();
    check(&[
        (
            "a million columns",
            format!("email\n{}", ",".repeat(1_000_000)).into_bytes(),
            many_columns,
        ),
        (
            "a million headings",
            format!("\n{}", "a;".repeat(1_000_000)).into_bytes(),
            many_columns,
        ),
        (
            "one row too many",
            format!("email\n{}", "a\n".repeat(rows + 1)).into_bytes(),
            "The file has more than 5000 rows of trainees; split it into smaller files.",
        ),
        (
            "one byte too many",
            vec![b'a'; bytes + 1],
            "The file is larger than 10 MB; split it into smaller files.",
        ),
        (
            "long cell",
            cell(cell_bytes + 1),
            "Line 2 has a cell of more than 64 KB; check its quotation marks.",
        ),
        (
            "long cell after a quotation mark",
            format!("email\n\"{}", "x,y\n".repeat(100_000)).into_bytes(),
            "Line 2 has a cell of more than 64 KB; check its quotation marks.",
        ),
    ]);
    assert_eq!(Table::read(&cell(cell_bytes)).unwrap().rows.len(), 1);
    let wide = vec!["a"; columns].join(",");
    assert!(matches!(
        Table::read(wide.as_bytes()),
        Err(trainee_file::FileFault::RepeatedHeading(_))
    ));
    let full = format!("email\n{}", "a\n".repeat(rows));
    assert_eq!(Table::read(full.as_bytes()).unwrap().rows.len(), rows);
    assert!(Table::read_within(&cell(cell_bytes * 4), &Limits::NONE).is_ok());
}

#[test]
fn formulas_and_error_values_are_found() {
    check(&[(
        "formulas",
        "first_names,email\n=A1&B1,#N/A\n-,a@x\nAyo,####\n".into(),
        "first_names|email\n~first_names formulas 1: =A1&B1 > \n~email error_values 2: #N/A > \n\
         2 =A1&B1|#N/A\n3 -|a@x\n4 Ayo|####",
    )]);
    check(&[(
        "formulas of texts",
        "agency_id,last_name\n\"=\"\"0310261553101\"\"\",=12\n0310261553102,\"=\"\"a\"\"&\"\"b\"\"\"\n".into(),
        "agency_id|last_name\n~agency_id text_formulas 1: =\"0310261553101\" > 0310261553101\n\
         ~last_name text_formulas 1: =12 > 12\n~last_name formulas 1: =\"a\"&\"b\" > \n\
         2 0310261553101|12\n3 0310261553102|=\"a\"&\"b\"",
    )]);
    check(&[(
        "changed values of formulas",
        "itt_start_date,itt_end_date,agency_id,last_name\n\
         9/1/2026,\"=\"\"7/16/2027\"\"\",=310261553101,\"=\"\"#N/A\"\"\"\n\
         2026-09-01,2027-07-16,\"=\"\"12345678901234500\"\"\",Hart\n"
            .into(),
        "itt_start_date|itt_end_date|agency_id|last_name\n\
         ~itt_start_date month_first 1: 9/1/2026 > 2026-09-01\n\
         ~itt_end_date month_first 1: =\"7/16/2027\" > 2027-07-16\n\
         ~agency_id lost_zeros 1: =310261553101 > 0310261553101\n\
         ~agency_id text_formulas 1: =\"12345678901234500\" > 12345678901234500\n\
         ~last_name error_values 1: =\"#N/A\" > \n\
         2 2026-09-01|2027-07-16|0310261553101|=\"#N/A\"\n\
         3 2026-09-01|2027-07-16|12345678901234500|Hart",
    )]);
}

#[test]
fn kinds_of_repairs_are_named_and_explained() {
    for kind in trainee_file::Mangled::ALL {
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(kind.name().chars().all(is_name), "{kind:?}");
        assert!(kind.to_string().ends_with('.'));
    }
}

#[test]
fn formula_cells_are_read_as_text_and_written_defused() {
    let text = "first_names\n\"=HYPERLINK(\"\"http://x\"\")\"\n@SUM(1)\n";
    let table = Table::read(text.as_bytes()).unwrap();
    assert_eq!(table.rows[0].cells, ["=HYPERLINK(\"http://x\")"]);
    let rows = table
        .rows
        .iter()
        .map(|row| row.cells.iter().map(String::as_str));
    let file = write_csv(["first_names"], rows).unwrap();
    assert_eq!(
        file,
        "\u{feff}first_names\r\n\"'=HYPERLINK(\"\"http://x\"\")\"\r\n'@SUM(1)\r\n"
    );
}
