//! The sheets of workbooks are read like CSV files, and cells by their types.

use rust_xlsxwriter::{Format, Workbook};
use trainee_file::{FileFault, Limits, Table, WorkbookFault, sheet_names};

use super::workbook_maker::{open_document, replace, workbook, write_sheet};
use super::{check, outcome};

#[test]
fn workbooks_have_the_outcome_of_csv_files() {
    let cases = [
        (
            "several scripts",
            "first_names\nŁukasz Ёлка 李\n",
            "first_names\n2 Łukasz Ёлка 李",
        ),
        (
            "blank rows",
            "\n,,,\nfirst_names,email\n , \nAyo,\n,,,\n,",
            "first_names|email\n5 Ayo|",
        ),
        (
            "columns beside the data",
            "first_names,email,,\nAyo,a@x,,\n,,,\n",
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "blank column between others",
            "first_names,,email\nAyo,,a@x\n",
            "first_names|email\n2 Ayo|a@x",
        ),
        (
            "white space around cells",
            " first_names , email\n\u{a0}Ayo \u{a0}, a@x\t\n",
            "first_names|email\n2 Ayo|a@x",
        ),
        ("headings alone", "first_names,email\n", "first_names|email"),
        (
            "line breaks in cells",
            "first_names,email\n\"Ayo\n\nOla\",a@x\nBea,b@x\n",
            "first_names|email\n2 Ayo\n\nOla|a@x\n5 Bea|b@x",
        ),
        (
            "template of the sector",
            "'HESA ID,Training Route\n'0310261553101,'02\n",
            "agency_id|training_route\n2 0310261553101|02",
        ),
        (
            "names with apostrophes",
            "first_names,last_name\n'Abd,'t Hart\nO'Neil,''t Hooft\n",
            "first_names|last_name\n2 'Abd|'t Hart\n3 O'Neil|'t Hooft",
        ),
        ("unknown code", "training_route\n3\n", "training_route\n2 3"),
        (
            "codes of nested records",
            "degrees.1.institution,degrees.2.country\n117,France\nLoughborough University,FR\n",
            "degrees.1.institution|degrees.2.country\n\
             ~degrees.1.institution lost_zeros 1: 117 > 0117\n\
             ~degrees.1.institution code_names 1: Loughborough University > 0117\n\
             ~degrees.2.country code_names 1: France > FR\n2 0117|FR\n3 0117|FR",
        ),
        (
            "order that no cell decides",
            "date_of_birth\n1/9/2001\n5/5/2001\n",
            "date_of_birth\n~date_of_birth day_first 1: 5/5/2001 > 2001-05-05\n\
             ~date_of_birth undecided_dates 1: 1/9/2001 > 2001-09-01 or 2001-01-09\n2 1/9/2001\n\
             3 2001-05-05",
        ),
        (
            "error values",
            "first_names,email\n-,#N/A\nAyo,####\n",
            "first_names|email\n~email error_values 2: #N/A > \n2 -|#N/A\n3 Ayo|####",
        ),
        (
            "two columns of one heading",
            "email,Email\na,b\n",
            "Two columns are called \"Email\"; each needs a unique name in the first row.",
        ),
        (
            "column without a heading",
            "email,\na,b\n",
            "Column 2 has no heading; write a name in the first row.",
        ),
        (
            "long heading",
            &format!("email,{}\na,b\n", "é".repeat(201)),
            "The heading of column 2 has more than 200 characters; write a short name.",
        ),
    ];
    for (name, text, expected) in cases {
        check(&[
            (name, text.into(), expected),
            (name, workbook(text), expected),
        ]);
    }
}

#[test]
fn cells_are_read_by_their_types() {
    check(&[
        (
            "numbers",
            workbook(
                "training_route,agency_id,email,first_names\nn:2,n:310261553101,n:2.5,n:-0\n\
                 n:11,,n:0.1,n:131026155310199\n",
            ),
            "training_route|agency_id|email|first_names\n~training_route lost_zeros 1: 2 > 02\n\
             ~agency_id lost_zeros 1: 310261553101 > 0310261553101\n\
             2 02|0310261553101|2.5|0\n3 11||0.1|131026155310199",
        ),
        (
            "sum of decimals",
            workbook("email\nn:0.30000000000000004\n"),
            "email\n2 0.3",
        ),
        (
            "dates",
            workbook("date_of_birth,email\nd:2001-09-01,d:1999-12-31T14:30:00\n"),
            "date_of_birth|email\n2 2001-09-01|1999-12-31T14:30:00",
        ),
        (
            "year as date",
            workbook("Degree Graduation Year\nn:2010\nd:2010-08-01\n"),
            "degrees.1.graduation_year\n2 2010\n3 2010-08-01",
        ),
        (
            "day numbers without a date format",
            workbook("date_of_birth\nn:37135\n"),
            "date_of_birth\n~date_of_birth day_numbers 1: 37135 > 2001-09-01\n2 2001-09-01",
        ),
        (
            "time alone and late date",
            workbook("date_of_birth,email\nd:12:30,d:9999-12-31\n"),
            "date_of_birth|email\n2 12:30:00|9999-12-31",
        ),
        (
            "booleans and results of formulas",
            workbook("first_names,email,sex\nb:true,f:a@x,f:10\nb:false,f:#N/A,\n"),
            "first_names|email|sex\n~email error_values 1: #N/A > \n2 true|a@x|10\n3 false|#N/A|",
        ),
    ]);
}

#[test]
fn dates_of_1904_are_read_in_their_system() {
    let dates = workbook("date_of_birth\nd:2001-09-01\n");
    let changed = replace(
        &dates,
        "xl/workbook.xml",
        "<workbookPr",
        "<workbookPr date1904=\"1\"",
    );
    // The systems are four years and a day apart.
    assert_eq!(outcome(&changed), "date_of_birth\n2 2005-09-02");
}

#[test]
fn merged_cells_have_their_value_in_the_first_one() {
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    write_sheet(sheet, "first_names,email\n,a@x\n,b@x\n");
    sheet
        .merge_range(1, 0, 2, 0, "Ayo", &Format::new())
        .unwrap();
    let file = workbook.save_to_buffer().unwrap();
    assert_eq!(outcome(&file), "first_names|email\n2 Ayo|a@x\n3 |b@x");
}

#[test]
fn chosen_sheet_is_read_and_hidden_sheets_are_not_offered() {
    let mut workbook = Workbook::new();
    let hidden = workbook.add_worksheet().set_name("Lists").unwrap();
    write_sheet(hidden.set_hidden(true), "x\ny\n");
    let first = workbook.add_worksheet().set_name("2025 & before").unwrap();
    write_sheet(first.set_active(true), "email\na@x\n");
    write_sheet(workbook.add_worksheet(), "sex\n10\n");
    let _ = workbook.add_worksheet();
    let file = workbook.save_to_buffer().unwrap();
    let limits = Limits::UPLOAD;
    let names = sheet_names(&file, &limits).unwrap();
    assert_eq!(names, ["2025 & before", "Sheet3", "Sheet4"]);
    let read = |sheet| Table::read_sheet(&file, sheet, &limits);
    assert_eq!(read(None).unwrap().header, ["email"]);
    assert_eq!(read(Some("Sheet3")).unwrap().header, ["sex"]);
    for (sheet, fault) in [
        ("Sheet4", WorkbookFault::EmptySheet("Sheet4".to_owned())),
        ("Lists", WorkbookFault::UnknownSheet("Lists".to_owned())),
    ] {
        assert_eq!(read(Some(sheet)), Err(FileFault::Workbook(fault)));
    }
    assert_eq!(sheet_names(b"email\n", &limits), Ok(Vec::new()));
}

#[test]
fn open_document_cells_are_read_by_their_types() {
    let text = |text: &str| {
        format!(
            "<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let value = |kind: &str, name: &str, value: &str| {
        format!(
            "<table:table-cell office:value-type=\"{kind}\" office:{name}=\"{value}\">\
             <text:p>shown</text:p></table:table-cell>"
        )
    };
    let row = |cells: &[String]| format!("<table:table-row>{}</table:table-row>", cells.concat());
    let headings = ["first_names", "date_of_birth", "sex", "email"].map(text);
    let blank = "<table:table-cell table:number-columns-repeated=\"16384\"/>";
    let file = open_document(
        &[
            row(&headings),
            format!("<table:table-row table:number-rows-repeated=\"2\">{blank}</table:table-row>"),
            row(&[
                text("A<text:s text:c=\"2\"/>&amp;<text:span>y</text:span></text:p><text:p>o"),
                value("date", "date-value", "2001-09-01T00:00:00"),
                value("float", "value", "10"),
                value("boolean", "boolean-value", "true"),
                blank.to_owned(),
            ]),
            format!(
                "<table:table-row table:number-rows-repeated=\"2\">{}</table:table-row>",
                text("Bea").replace("cell ", "cell table:number-columns-repeated=\"2\" ")
            ),
            format!(
                "<table:table-row table:number-rows-repeated=\"1048570\">{blank}</table:table-row>"
            ),
        ]
        .concat(),
    );
    assert_eq!(
        outcome(&file),
        "first_names|date_of_birth|sex|email\n4 A  &y\no|2001-09-01|10|true\n5 Bea|Bea||\n6 Bea|Bea||"
    );
    assert_eq!(sheet_names(&file, &Limits::UPLOAD).unwrap(), ["Trainees"]);
}
