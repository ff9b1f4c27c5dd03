//! Files by upload and by `trainee-sync push`: both register the same trainees and refuse the same
//! rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};
use storage::base::token::Environment;
use test_support::trainee_sync;

use super::browser::Browser;
use super::upload_rows::{
    cells, confirm_columns, count, file, finished, newest, repair, sent, trainee,
};
use crate::api::support::register::OTHER_UKPRN;
use crate::api::support::{Api, Register};

/// What becomes of the rows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All are registered.
    Registered,
    /// The last one is refused.
    Refused,
    /// The file is not read.
    Unreadable,
}
use Outcome::{Refused, Registered, Unreadable};

/// Files that differ from a valid row in one cell: the column, the text and the outcome.
const CELLS: &[(&str, &str, Outcome)] = &[
    ("itt_start_date", "13/09/2026", Registered),
    ("itt_start_date", "9/13/2026", Registered),
    ("itt_start_date", "1/9/2026", Refused),
    ("itt_start_date", "9/9/2026", Registered),
    ("itt_start_date", "01-Sep-26", Registered),
    ("itt_start_date", "46266", Registered),
    ("itt_start_date", "2026/09/01", Registered),
    ("itt_start_date", "2026-09-01T00:00:00Z", Registered),
    ("itt_start_date", "31/02/2026", Refused),
    ("itt_end_date", "31/07/30", Registered),
    ("sex", "Female", Registered),
    ("sex", "Other words", Refused),
    ("study_mode", "1", Registered),
    ("ethnicity", "African", Registered),
    (
        "ethnicity",
        "Black - African or African British",
        Registered,
    ),
    ("ethnicity", "Not provided", Refused),
    ("nationality", "French", Registered),
    ("nationality", "fr", Refused),
    ("fund_code", "2.0", Registered),
    ("agency_id", "1.310261553101E+12", Registered),
    ("agency_id", "1.31026E+12", Refused),
    ("agency_id", "12345678901234500", Refused),
    ("agency_id", "0310261553101.0", Registered),
    ("agency_id", "=\"0310261553101\"", Registered),
    ("agency_id", "'0310261553101", Registered),
    ("agency_id", "31", Refused),
    ("last_name", "'t Hart", Registered),
    ("last_name", "''t Hooft", Registered),
    ("last_name", "#N/A", Refused),
    ("last_name", "=A1", Refused),
    ("last_name", "\u{200b}", Refused),
    ("first_names", "-", Registered),
    ("first_names", "Ayo\nOla", Registered),
    ("middle_names", "\u{feff}", Registered),
    ("provider_trainee_id", "1.2E+11", Refused),
    ("provider_trainee_id", "'0042", Registered),
    ("degrees.1.institution", "University of Oxford", Registered),
    ("degrees.1.graduation_year", "01/08/2010", Registered),
    ("degrees.1.graduation_year", "45535", Registered),
    ("degrees.1.graduation_year", "August", Refused),
];

/// Makes a file of a text.
type Form = fn(&str) -> Vec<u8>;

/// Files that differ from a valid one in their form.
const FORMS: &[(Form, Outcome)] = &[
    (utf_16, Registered),
    (|text| format!("{text}Total: 1\n").into(), Refused),
    (|text| format!("{text}\"x\n").into(), Unreadable),
];

fn utf_16(text: &str) -> Vec<u8> {
    let marked = format!("\u{feff}{text}");
    marked.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A valid row with its own person, whose first name is Zoë.
fn row(api: &Api<'_>, number: usize) -> BTreeMap<String, String> {
    let mut row = cells(trainee(api, number));
    row.insert("first_names".to_owned(), "Zoë".to_owned());
    row
}

/// All files with their outcomes.
fn files(api: &Api<'_>) -> Vec<(String, Vec<u8>, Outcome)> {
    let mut files = Vec::new();
    for (number, (column, text, outcome)) in CELLS.iter().enumerate() {
        let mut row = row(api, number);
        row.insert((*column).to_owned(), (*text).to_owned());
        files.push((format!("{column} {text:?}"), file(&[row]), *outcome));
    }
    for (number, (form, outcome)) in FORMS.iter().enumerate() {
        let text = String::from_utf8(file(&[row(api, CELLS.len() + number)])).unwrap();
        files.push((format!("form {number}"), form(&text), *outcome));
    }
    files
}

/// Uploads a file, accepts what the page has chosen in advance, and sends the rows.
fn upload(editor: &Browser<'_>, bytes: &[u8]) -> Outcome {
    let stored = editor.upload(bytes);
    if stored.status == 422 {
        return Unreadable;
    }
    let path = confirm_columns(editor, &stored.is(303));
    let mut page = finished(editor, &path);
    if page.text.contains("Repairs of upload") {
        let mut chosen = Vec::new();
        for input in page.text.split("<input ").skip(1) {
            let input = input.split('>').next().unwrap();
            if let Some((_, name)) = input.split_once("name=\"")
                && input.ends_with(" checked")
            {
                chosen.push((name.split('"').next().unwrap(), "on"));
            }
        }
        page = repair(editor, &path, &chosen);
    }
    let refused = count(&page, "Refused");
    sent(editor, &path);
    editor.send(&format!("{path}/delete"), &[]).is(303);
    if refused > 0 { Refused } else { Registered }
}

/// Pushes a file with the repairs that are certain.
fn push(program: &Path, register: &Register, token: &str, folder: &Path, bytes: &[u8]) -> Outcome {
    let path = folder.join("intake.csv");
    fs::write(&path, bytes).unwrap();
    let pushed = Command::new(program)
        .arg("push")
        .arg(&path)
        .arg("--csv")
        .arg(folder.join("copy"))
        .args(["--register", &register.origin(), "--version"])
        .arg(newest(register).version.label.to_string())
        .arg("--repair")
        .env("TRAINEE_REGISTER_TOKEN", token)
        .output()
        .unwrap();
    match pushed.status.code() {
        Some(0) => Registered,
        Some(1) => Refused,
        Some(2) if String::from_utf8_lossy(&pushed.stderr).contains("cannot be read") => Unreadable,
        _ => panic!("{pushed:?}"),
    }
}

/// The trainees of a provider by their own keys, without what differs between two registrations.
fn stored(api: &Api<'_>) -> BTreeMap<String, Value> {
    let list = api.get("/trainees?per_page=500").is(200);
    let listed = list.data().as_array().unwrap();
    let mut found = BTreeMap::new();
    for one in listed {
        let path = format!("/trainees/{}", one["trainee_id"].as_str().unwrap());
        let mut shown = api.get(&path).is(200).data().clone();
        remove_differing(shown.as_object_mut().unwrap());
        found.insert(shown["provider_trainee_id"].to_string(), shown);
    }
    found
}

fn remove_differing(record: &mut Map<String, Value>) {
    record.retain(|name, _| {
        !name.ends_with("_at")
            && !name.ends_with("ee_id")
            && name != "ukprn"
            && name != "record_source"
            || name == "provider_trainee_id"
    });
    for list in ["placements", "degrees"] {
        for nested in record[list].as_array_mut().unwrap() {
            let nested = nested.as_object_mut().unwrap();
            nested.retain(|name, _| !name.ends_with("_at") && !name.ends_with("_id"));
        }
    }
}

#[test]
fn upload_and_push_give_same_result_for_each_file() {
    let register = Register::start();
    let program = trainee_sync::build();
    let folder = tempfile::tempdir().unwrap();
    let api = newest(&register);
    let other = register.other_provider(api.version);
    let token = register.issue_token(OTHER_UKPRN, Environment::Sandbox, None);
    let editor = Browser::editor(&register);
    let files = files(&api);
    let mut wrong = Vec::new();
    for (minute, (name, bytes, expected)) in files.iter().enumerate() {
        // The limits of forms refill.
        let (hour, minute) = (9 + minute / 60, minute % 60);
        register
            .clock
            .set(&format!("2026-10-05T{hour:02}:{minute:02}:00Z"));
        let outcomes = (
            upload(&editor, bytes),
            push(&program, &register, &token, folder.path(), bytes),
        );
        if outcomes != (*expected, *expected) {
            wrong.push(format!("{name}: {outcomes:?}, expected {expected:?}"));
        }
    }
    assert_eq!(wrong, [""; 0], "{}", wrong.join("\n"));
    assert_eq!(stored(&api), stored(&other));
}
