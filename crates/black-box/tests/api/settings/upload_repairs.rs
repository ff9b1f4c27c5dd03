//! Repairs of uploaded files: each changed cell is shown before it is stored, and nothing that the
//! file does not decide is chosen in advance.

use std::collections::BTreeMap;

use trainee_file::{Mangled, Remedy};

use super::browser::{Browser, text_after};
use super::upload_rows::{cells, checked, count, file, newest, registered, repair, sent, trainee};
use crate::api::support::{Register, TextChecks as _};

/// The rows of trainees, with other texts in some columns, such as `sex=10;11 & email=a;b`.
fn rows(register: &Register, columns: &str) -> Vec<BTreeMap<String, String>> {
    let api = newest(register);
    let columns = columns
        .split(" & ")
        .map(|column| column.split_once('=').unwrap());
    let columns: Vec<_> = columns
        .map(|(name, texts)| (name, texts.split(';').collect::<Vec<_>>()))
        .collect();
    let count = columns.iter().map(|(_, texts)| texts.len()).max().unwrap();
    let mut rows: Vec<_> = (0..count).map(|at| cells(trainee(&api, at))).collect();
    for (name, texts) in columns {
        for (row, text) in rows.iter_mut().zip(texts) {
            row.insert(name.to_owned(), text.to_owned());
        }
    }
    rows
}

/// The stored values of a column as texts, by the keys of the trainees.
fn stored(register: &Register, column: &str) -> Vec<String> {
    let api = newest(register);
    let list = api.get("/trainees?per_page=500&sort_order=asc").is(200);
    let trainees = list.data().as_array().unwrap().clone();
    let mut found: Vec<_> = trainees
        .iter()
        .map(|one| {
            let id = one["trainee_id"].as_str().unwrap();
            let trainee = api.get(&format!("/trainees/{id}")).is(200);
            let trainee = trainee.data();
            let value = match column.strip_prefix("degrees.1.") {
                Some(field) => &trainee["degrees"][0][field],
                None => &trainee[column],
            };
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (one["provider_trainee_id"].to_string(), text)
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found.into_iter().map(|(_, value)| value).collect()
}

/// Each kind of repair: the column, the texts of three rows, the sentence about the column, and the
/// stored values.
const REPAIRS: &str = r#"
itt_start_date | 9/13/2026;9/1/2026;2026-09-01 | The dates are month, day and year. (2 cells) | 2026-09-13;2026-09-01;2026-09-01
itt_end_date | 31-Jul-30;2030-07-31;2030/07/31 | The dates have names of months. (1 cell) | 2030-07-31;2030-07-31;2030-07-31
sex | Female;10;10.0 | The cells have names in the place of codes. (1 cell) | 10;10;10
study_mode | 1;01;31 | Zeros at the beginning are missing. (1 cell) | 01;01;31
ethnicity | African;120;997 | The cells have names in the place of codes. (1 cell) | 120;120;997
first_names | ="Ayo";'Abd;Bea | The cells are formulas that show a text. (1 cell) | Ayo;'Abd;Bea
agency_id | 1.2345678901234567E+16;12345678901234568;310261553103 | The numbers are in scientific notation. (1 cell) | 12345678901234567;12345678901234568;0310261553103
degrees.1.uk_degree | 83;083;083 | Zeros at the beginning are missing. (1 cell) | 083;083;083
degrees.1.subject | 100485;100485.0;100485 | The numbers have a decimal point. (1 cell) | 100485;100485;100485
degrees.1.grade | 2;02;02 | Zeros at the beginning are missing. (1 cell) | 02;02;02
degrees.1.institution | 117;0117;="117" | Zeros at the beginning are missing. (2 cells) | 0117;0117;0117
degrees.1.graduation_year | 01/08/2010;2010.0;45535 | The years are written as dates or with decimals. (3 cells) | 2010;2010;2024
date_of_birth | 36525;36526;1999-12-31 | The dates are day numbers of a spreadsheet. (2 cells) | 1999-12-31;2000-01-01;1999-12-31
"#;

/// The columns that degrees of the United Kingdom leave blank.
const OF_NON_UK_DEGREES: &str = "degrees.1.non_uk_degree=;; & degrees.1.country=;;";

#[test]
fn each_repaired_cell_is_shown_before_it_is_stored() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let repairs: Vec<Vec<&str>> = REPAIRS
        .trim()
        .lines()
        .map(|line| line.split(" | ").collect())
        .collect();
    let mut columns = OF_NON_UK_DEGREES.to_owned();
    for repair in &repairs {
        columns += &format!(" & {}={}", repair[0], repair[1]);
    }
    let (path, page) = checked(&editor, &file(&rows(&register, &columns)));
    let page = page.text;
    for repair in &repairs {
        page.shows(&[repair[2]]);
        for (text, value) in repair[1].split(';').zip(repair[3].split(';')) {
            if text != value && !text.starts_with('\'') {
                let text = text.replace('"', "&#34;");
                page.shows(&[&format!("{text} becomes {value}")]);
            }
        }
    }
    for kind in Mangled::ALL {
        if kind.remedy() == Remedy::Repair && kind != Mangled::DayFirst {
            page.shows(&[&kind.to_string()]);
        }
    }
    let names = page.split("type=\"checkbox\" name=\"").skip(1);
    let fields: Vec<_> = names
        .map(|rest| (rest.split('"').next().unwrap(), "on"))
        .collect();
    let page = repair(&editor, &path, &fields);
    assert_eq!(count(&page, "Will be registered"), 3, "{}", page.text);
    sent(&editor, &path);
    for repair in &repairs {
        let values = stored(&register, repair[0]).join(";");
        assert_eq!(values, repair[3], "{}", repair[0]);
    }
}

#[test]
fn dates_with_the_day_first_are_repaired() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let rows = rows(&register, "itt_start_date=13/9/2026;1/9/2026");
    let (path, page) = checked(&editor, &file(&rows));
    page.shows(&[
        "The dates are day, month and year. (2 cells)",
        "13/9/2026 becomes 2026-09-13",
        "1/9/2026 becomes 2026-09-01",
    ]);
    let name = text_after(&page.text, "type=\"checkbox\" name=\"", "\"");
    repair(&editor, &path, &[(name, "on")]);
    sent(&editor, &path);
    let dates = ["2026-09-13", "2026-09-01"];
    assert_eq!(stored(&register, "itt_start_date"), dates);
}

/// Files that only the person can decide: the columns with their texts, and the question.
const UNDECIDED: &str = "
itt_start_date=9/1/2026 | does not show whether its dates begin with the day or with the month
itt_start_date=13/1/2026 & itt_end_date=7/16/2027 | Some dates of the file begin with the day, and others with the month.
agency_id=12345678901234500;32345678901234567 | A spreadsheet may have shortened the numbers
provider_trainee_id=1.2E+11 | may have shortened the numbers
last_name=#N/A | error values of a spreadsheet
last_name=\u{ff1d}A1 | The cells are formulas.
";

#[test]
fn cell_that_only_the_person_can_decide_is_refused() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let cases = UNDECIDED.trim().lines();
    let cases: Vec<_> = cases.map(|line| line.split_once(" | ").unwrap()).collect();
    for (columns, question) in &cases {
        let (path, page) = checked(&editor, &file(&rows(&register, columns)));
        page.shows(&[question]);
        page.lacks(&[" checked"]);
        let page = repair(&editor, &path, &[]);
        assert_eq!(count(&page, "Refused"), 1, "{question}: {}", page.text);
        editor.send(&format!("{path}/delete"), &[]).is(303);
    }
    assert_eq!(registered(&register).len(), 0);
    for kind in Mangled::ALL {
        let sentence = kind.to_string();
        let is_asked = cases
            .iter()
            .any(|(_, question)| sentence.contains(question));
        assert!(is_asked || kind.remedy() == Remedy::Repair, "{kind:?}");
    }
}

#[test]
fn value_that_is_not_stored_as_written_is_named_before() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    for institution in ["117", "Oxfrod"] {
        let degree = format!(
            "degrees.1.uk_degree=083 & degrees.1.subject=100485 & degrees.1.grade=02 \
             & degrees.1.graduation_year=2020 & degrees.1.institution={institution}"
        );
        let (path, mut page) = checked(&editor, &file(&rows(&register, &degree)));
        if page.text.contains("Repairs of upload") {
            page = repair(&editor, &path, &[]);
        }
        assert_eq!(count(&page, "Refused"), 1, "{}", page.text);
        let sentence = format!("&#34;{institution}&#34; is not in the list");
        page.shows(&[&sentence]);
        editor.send(&format!("{path}/delete"), &[]).is(303);
    }
    let conflict = "ethnicity=120 & ethnic_group=asian_ethnic_group & ethnic_background=Chinese";
    let (path, page) = checked(&editor, &file(&rows(&register, conflict)));
    assert_eq!(count(&page, "Will be registered"), 1, "{}", page.text);
    let page = editor.open(&format!("{path}?status=register"));
    let rows = page.text.split("<h2 id=\"rows\">").nth(1).unwrap();
    rows.shows(&["<li>ethnic_group"]);
}

#[test]
fn chosen_order_and_confirmed_cells_are_stored() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let texts = "itt_start_date=9/1/2026 & agency_id=12345678901234500";
    let (path, page) = checked(&editor, &file(&rows(&register, texts)));
    let name = page
        .text
        .split("type=\"checkbox\" name=\"")
        .find_map(|rest| {
            rest.split('"')
                .next()
                .filter(|name| name.ends_with("lost_digits"))
        })
        .unwrap();
    let fields = [("date-order", "month_first"), (name, "on")];
    let page = repair(&editor, &path, &fields);
    assert_eq!(count(&page, "Will be registered"), 1, "{}", page.text);
    sent(&editor, &path);
    assert_eq!(stored(&register, "itt_start_date"), ["2026-09-01"]);
    assert_eq!(stored(&register, "agency_id"), ["12345678901234500"]);
}

#[test]
fn missing_cells_and_footer_are_named_by_check() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let mut text = String::from_utf8(file(&rows(&register, "sex=10"))).unwrap();
    text.push_str("Total: 1\n");
    let (_, page) = checked(&editor, text.as_bytes());
    assert_eq!(count(&page, "Will be registered"), 1, "{}", page.text);
    assert_eq!(count(&page, "Refused"), 1, "{}", page.text);
    let sentence = "1 row has fewer cells than the first row: line 3.";
    page.shows(&[sentence]);
}
