//! Workbooks that no spreadsheet writes, or that hide something, get one sentence.

use rust_xlsxwriter::{Format, Workbook};
use trainee_file::{Limits, Table};

use super::workbook_maker::{Part, add, archive, open_document, replace, workbook};
use super::{check, outcome};

const SHEET: &str = "xl/worksheets/sheet1.xml";
const DAMAGED: &str = "The workbook is damaged; open it in a spreadsheet and save it again.";
const TOO_LARGE: &str = "The workbook has more than 5 MB when it is unpacked; remove sheets and \
    pictures that are not needed.";
const LINKS: &str =
    "The workbook has links to other files; paste its cells as values into a new workbook.";
const PASSWORD: &str = "The workbook has a password; save a copy without a password.";
const MACROS: &str =
    "The workbook has macros; save it as an Excel workbook (.xlsx) without macros.";
const DOCUMENT_TYPE: &str =
    "The workbook declares a document type; save it again in a spreadsheet.";

fn small() -> Vec<u8> {
    workbook("first_names,email\nAyo,a@x\n")
}

/// Replaces all equal numbers of four bytes.
fn replace_number(file: &[u8], from: u32, to: u32) -> Vec<u8> {
    let mut changed = file.to_owned();
    for at in 0..file.len() - 4 {
        if file[at..at + 4] == from.to_le_bytes() {
            changed[at..at + 4].copy_from_slice(&to.to_le_bytes());
        }
    }
    assert_ne!(changed, file);
    changed
}

/// Limits that unpacked parts of 5 MB keep.
const LIMITS: Limits = Limits {
    bytes: 1024 * 1024,
    ..Limits::UPLOAD
};

#[test]
fn bombs_are_refused() {
    let bomb = add(&small(), "xl/media/image1.png", &vec![0; 6_123_457]);
    let long = "x".repeat(32_000);
    let repeated = |text: &str, columns: &str, rows: &str| {
        open_document(&format!(
            "<table:table-row table:number-rows-repeated=\"{rows}\"><table:table-cell \
             table:number-columns-repeated=\"{columns}\" office:value-type=\"string\">\
             <text:p>{text}</text:p></table:table-cell></table:table-row>"
        ))
    };
    let stated = ("uniqueCount=\"4\"", "uniqueCount=\"1000000000000\"");
    let spaces = "<table:table-row><table:table-cell office:value-type=\"string\"><text:p>\
        <text:s text:c=\"1000000000000\"/></text:p></table:table-cell></table:table-row>";
    let styles = |from: &str, to: &str| replace(&small(), "xl/styles.xml", from, to);
    let font = format!("<name val=\"{long}\"/></font>");
    let formats = format!("<cellXfs>{}", "<xf/>".repeat(150_000));
    let sheets = format!("<sheets>{}", "<sheet/>".repeat(2_000));
    let attributes: Vec<_> = (0..200_000)
        .map(|number| format!(" a{number}=\"\""))
        .collect();
    let attributes = format!("<sst{}", attributes.concat());
    let cases = [
        ("large part", bomb, TOO_LARGE),
        ("long name of a font", styles("</font>", &font), DAMAGED),
        (
            "many cell formats",
            styles("<cellXfs count=\"1\">", &formats),
            DAMAGED,
        ),
        (
            "many sheets",
            replace(&small(), "xl/workbook.xml", "<sheets>", &sheets),
            DAMAGED,
        ),
        (
            "many attributes",
            replace(
                &replace(&small(), "xl/sharedStrings.xml", "<sst", &attributes),
                "xl/worksheets/sheet1.xml",
                "<v>3</v>",
                "<v>4</v>",
            ),
            DAMAGED,
        ),
        (
            "large part of XML with a small stated size",
            replace_number(
                &add(&small(), "a.xml", &vec![b' '; 6_123_457]),
                6_123_457,
                100,
            ),
            DAMAGED,
        ),
        (
            "long text in many cells",
            workbook(&format!("email\n{}", format!("{long}\n").repeat(200))),
            TOO_LARGE,
        ),
        (
            "large stated number of texts",
            replace(&small(), "xl/sharedStrings.xml", stated.0, stated.1),
            TOO_LARGE,
        ),
        (
            "repeated columns",
            repeated("a", "1000000000000", "1"),
            "Line 1 has more than 200 cells; remove columns that are not needed.",
        ),
        (
            "repeated rows",
            repeated(&long, "1", "1000000000000"),
            TOO_LARGE,
        ),
        (
            "repeated spaces",
            open_document(spaces),
            "Line 1 has a cell of more than 64 KB; check its quotation marks.",
        ),
    ];
    for (name, file, expected) in cases {
        let fault = Table::read_within(&file, &LIMITS).unwrap_err();
        assert_eq!(fault.to_string(), expected, "{name}");
    }
}

#[test]
fn sheets_beyond_a_limit_are_refused() {
    let cells = "<c><v>1</v></c>".repeat(1_000_000);
    let wide = format!("<sheetData><row>{cells}</row>");
    check(&[
        (
            "a million columns",
            replace(&small(), SHEET, "<sheetData>", &wide),
            "Line 1 has more than 200 cells; remove columns that are not needed.",
        ),
        (
            "one row too many",
            workbook(&format!("email\n{}", "a\n".repeat(5_001))),
            "The file has more than 5000 rows of trainees; split it into smaller files.",
        ),
        (
            "cell far to the right",
            replace(&small(), SHEET, "r=\"B2\"", "r=\"XFD2\""),
            "Line 2 has more than 200 cells; remove columns that are not needed.",
        ),
        (
            "cell without a heading",
            replace(&small(), SHEET, "r=\"B2\"", "r=\"D2\""),
            "Column 4 has no heading; write a name in the first row.",
        ),
    ]);
}

#[test]
fn macros_links_and_entities_are_refused() {
    let entity = "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><worksheet";
    let relationship = |kind: &str| {
        format!(
            "<Relationship Id=\"rId9\" Type=\"http://x/{kind}\" Target=\"file:///x\" \
             TargetMode=\"External\"/></Relationships>"
        )
    };
    let related = |kind: &str| {
        let rels = "xl/_rels/workbook.xml.rels";
        replace(&small(), rels, "</Relationships>", &relationship(kind))
    };
    let content_types = "[Content_Types].xml";
    let kind = "spreadsheetml.sheet.main";
    let open_document_with = |table: &str| {
        open_document(&format!(
            "<table:table-row><table:table-cell office:value-type=\"string\"><text:p>&e;</text:p>\
             </table:table-cell></table:table-row>{table}"
        ))
    };
    let macro_project = add(&small(), "xl/vbaProject.bin", b"x");
    check(&[
        (
            "external entity",
            replace(&small(), SHEET, "<worksheet", entity),
            DOCUMENT_TYPE,
        ),
        (
            "entity in the document properties",
            replace(
                &small(),
                "docProps/app.xml",
                "<Properties",
                "<!DOCTYPE x><Properties",
            ),
            DOCUMENT_TYPE,
        ),
        ("undeclared entity", open_document_with(""), DAMAGED),
        (
            "linked workbook",
            add(&small(), "xl/externalLinks/externalLink1.xml", b"<x/>"),
            LINKS,
        ),
        ("external relationship", related("image"), LINKS),
        (
            "linked table",
            open_document_with("<table:table-source xlink:href=\"file:///x\"/>"),
            LINKS,
        ),
        ("macros", macro_project, MACROS),
        (
            "kind of a workbook with macros",
            replace(
                &small(),
                content_types,
                kind,
                "ms-excel.sheet.macroEnabled.main",
            ),
            MACROS,
        ),
        (
            "Basic macros",
            add(&open_document(""), "Basic/Standard/Module1.xml", b"<x/>"),
            MACROS,
        ),
        (
            "link of a mail address",
            related("hyperlink"),
            "first_names|email\n2 Ayo|a@x",
        ),
    ]);
}

#[test]
fn encrypted_workbooks_are_refused() {
    let package: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    // The signature of a listed part, the versions, and the bit of encryption.
    let mut listed = small();
    let at = listed.windows(4).rposition(|four| four == b"PK\x01\x02");
    listed[at.unwrap() + 8] |= 1;
    let encrypted_part = open_document("<!-- -->");
    check(&[
        (
            "Excel workbook",
            [b"\xd0\xcf\x11\xe0\xa1\xb1".as_slice(), &package].concat(),
            PASSWORD,
        ),
        ("encrypted part", listed, PASSWORD),
        (
            "OpenDocument spreadsheet",
            replace(
                &replace(&encrypted_part, "content.xml", "<office:", "\u{1}<</x"),
                "META-INF/manifest.xml",
                "<manifest/>",
                "<manifest><encryption-data/></manifest>",
            ),
            PASSWORD,
        ),
    ]);
}

#[test]
fn other_archives_and_damaged_workbooks_are_refused() {
    let whole = small();
    let part = |name: &str, text: &str| -> Part { (name.to_owned(), text.into()) };
    let document = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let binary = "application/vnd.ms-excel.sheet.binary.macroEnabled.main";
    let other = "The file is a zip archive without a workbook; choose an Excel workbook (.xlsx) or a \
        CSV file.";
    check(&[
        (
            "text document",
            archive(&[part("[Content_Types].xml", document)]),
            other,
        ),
        ("zip archive", archive(&[part("a.csv", "email\n")]), other),
        (
            "binary workbook",
            archive(&[part("[Content_Types].xml", binary)]),
            "The file is an Excel binary workbook; save it as an Excel workbook (.xlsx).",
        ),
        ("first half", whole[..whole.len() / 2].to_owned(), DAMAGED),
        (
            "missing sheet",
            replace(&whole, "xl/_rels/workbook.xml.rels", "sheet1.xml", "x.xml"),
            DAMAGED,
        ),
        (
            "cell reference that is too long",
            replace(&whole, SHEET, "r=\"B2\"", "r=\"ZZZZZZZZZ2\""),
            DAMAGED,
        ),
        (
            "rows in another order",
            replace(
                &whole,
                SHEET,
                "r=\"B2\"",
                "r=\"B1\"><v>0</v></c><c r=\"B0\"",
            ),
            DAMAGED,
        ),
        (
            "unfinished sheet",
            replace(&whole, SHEET, "</sheetData>", "<!--"),
            DAMAGED,
        ),
        (
            "unfinished table",
            replace(
                &open_document(""),
                "content.xml",
                "</table:table></office:spreadsheet></office:body></office:document-content>",
                "",
            ),
            DAMAGED,
        ),
    ]);
}

#[test]
fn cells_without_a_certain_value_are_named() {
    let mut formula = Workbook::new();
    let sheet = formula.add_worksheet();
    sheet.write_string(0, 0, "email").unwrap();
    sheet.write_formula(2, 0, "=B1").unwrap();
    let formula = formula.save_to_buffer().unwrap();
    let mut long = Workbook::new();
    let sheet = long.add_worksheet();
    sheet.write_string(0, 2, "agency_id").unwrap();
    let shown = Format::new().set_num_format("0");
    sheet
        .write_with_format(2, 2, 11_103_102_615_531_011.0, &shown)
        .unwrap();
    let long_number = |cell: &str| {
        format!(
            "Cell {cell} has a number of more than 15 digits, and a spreadsheet keeps 15; format the \
             column as text, and enter the numbers again."
        )
    };
    check(&[
        (
            "formula that was not calculated",
            replace(&formula, SHEET, "<f>B1</f><v>0</v>", "<f>B1</f>"),
            "Cell A3 has a formula without a value; open the file in a spreadsheet and save it.",
        ),
        (
            "17 digits as a number",
            long.save_to_buffer().unwrap(),
            &long_number("C3"),
        ),
        (
            "17 digits in an OpenDocument spreadsheet",
            open_document(
                "<table:table-row><table:table-cell office:value-type=\"float\" \
                 office:value=\"11103102615531011\"/></table:table-row>",
            ),
            &long_number("A1"),
        ),
        (
            "control character",
            workbook("email\na\u{1b}[2J\n"),
            "Cell A2 has a control character; delete the text and enter it again.",
        ),
    ]);
    assert_eq!(
        outcome(&workbook("email\nn:999999999999999\n")),
        "email\n2 999999999999999"
    );
}
