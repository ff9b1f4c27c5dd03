//! Uploading a file of trainees: what is received and what is refused, its columns, the templates,
//! and who can open it.

use rust_xlsxwriter::Workbook;
use versions::SERVED;

use super::browser::{Browser, form_token_of_session};
use super::upload_rows::finished;
use crate::api::support::{Page, Register, TextChecks as _};

const UPLOADS: &str = "/settings/upload";
const FILE: &[u8] =
    b"provider_trainee_id,First names,Last name,Shoe size\r\n1,Ayo,Canaryson,41\r\n";

/// The path of the upload that a reply leads to.
fn location(page: &Page) -> String {
    page.header("location").unwrap().to_owned()
}

/// The number of uploads on the page.
fn uploads(browser: &Browser<'_>) -> usize {
    let page = browser.open(UPLOADS).is(200);
    page.text.matches("Delete upload").count()
}

#[test]
fn editor_uploads_file_and_names_unknown_column() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let stored = editor.upload(FILE).is(303);
    let path = location(&stored);
    let page = editor.open(&path).is(200).text;
    page.shows(&[
        "1 row and 4 columns. One column needs a name",
        "Canaryson",
        "value=\"First names\"",
    ]);
    let columns = format!("{path}/columns");
    let known = [
        ("column-1", "provider_trainee_id"),
        ("column-2", "First names"),
        ("column-3", "last_name"),
    ];
    for (name, fault) in [
        ("", "Choose a name for the column Shoe size"),
        ("shoes", "Choose a name for the column Shoe size"),
        (
            "last_name",
            "The columns Last name and Shoe size have the same name",
        ),
    ] {
        let form = [known.as_slice(), &[("column-4", name)]].concat();
        let page = editor.send(&columns, &form).is(422).text;
        page.shows(&[fault, &format!("value=\"{name}\"")]);
    }
    let form = [known.as_slice(), &[("column-4", "Left out")]].concat();
    assert_eq!(location(&editor.send(&columns, &form).is(303)), path);
    let page = finished(&editor, &path).text;
    page.shows(&["Check of upload 1"]);

    assert_eq!(
        location(&editor.send(&format!("{path}/delete"), &[]).is(303)),
        UPLOADS
    );
    editor.open(&path).is(404);
    editor.send(&columns, &form).is(404);
}

#[test]
fn workbook_is_uploaded_like_a_csv_file() {
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    for (column, heading) in (0..).zip(["Student ID", "Forename", "Surname", "Shoe size"]) {
        sheet.write_string(0, column, heading).unwrap();
    }
    sheet.write_number(1, 0, 1).unwrap();
    sheet.write_string(1, 2, "Canaryson").unwrap();
    let sheet = workbook.add_worksheet();
    sheet.set_name("Codes").unwrap();
    sheet.write_string(0, 0, "Email").unwrap();
    sheet.write_string(1, 0, "a@example.com").unwrap();
    let file = workbook.save_to_buffer().unwrap();

    let register = Register::start();
    let editor = Browser::editor(&register);
    let path = location(&editor.upload(&file).is(303));
    let page = editor.open(&path).is(200).text;
    page.shows(&[
        "1 row and 4 columns. One column needs a name",
        "Canaryson",
        "value=\"Provider trainee ID\"",
        "value=\"First names\"",
        "value=\"Last name\"",
        "The rows are those of the sheet “Sheet1”.",
        "“Codes”.",
    ]);
    let path = location(&editor.upload_sheet(&file, "Codes").is(303));
    editor.see(&path, &["value=\"Email\""]);
    let page = editor.upload_sheet(&file, "Code").is(422).text;
    page.shows(&["has no sheet"]);
}

#[test]
fn chosen_names_are_used_for_next_file_of_organisation() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let file = b"Personne,Courriel,Note\nCanaryson,a@example.com,x\n";
    let path = location(&editor.upload(file).is(303));
    let page = editor.open(&path).is(200).text;
    // The values of the column propose its field.
    page.shows(&[
        "3 columns need a name",
        "<span class=\"hint\">Proposed: Email",
        "name=\"column-2\" list=\"names\"",
    ]);
    let form = [
        ("column-1", "Last name"),
        ("column-2", "email"),
        ("column-3", "Left out"),
    ];
    editor.send(&format!("{path}/columns"), &form).is(303);
    let next = b"NOTE,Personne,Courriel\nx,Canaryson,a@example.com\n";
    let admin = Browser::admin(&register);
    let page = admin
        .open(&location(&admin.upload(next).is(303)))
        .is(200)
        .text;
    page.shows(&["All columns are recognised"]);
    let other = Browser::other_admin(&register);
    let page = other
        .open(&location(&other.upload(next).is(303)))
        .is(200)
        .text;
    page.shows(&["3 columns need a name"]);
}

#[test]
fn each_faulty_file_gets_a_sentence_and_is_not_stored() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let wide = vec!["a"; 1_000_000].join(",");
    let large = vec![b'x'; 10 * 1_048_576 + 1];
    let headings = (0..150).map(|place| format!("{place}{}", "x".repeat(32_768)));
    let headings = headings.collect::<Vec<_>>().join(",") + "\n1\n";
    let long = format!("last_name\n{}", "Example\n".repeat(5_001));
    for (file, fault) in [
        (b"".as_slice(), "Choose an Excel workbook or a CSV file."),
        (b" \n", "The file is empty."),
        (b"last_name\n", "has headings and no rows"),
        (b"last_name\n,\n\xe2\x80\x8b\n", "has headings and no rows"),
        (b"PK\x03\x04\x14\0\0\0", "The workbook is damaged"),
        (b"last_name\n\"Ayo\n", "is never closed"),
        (b"last_name,Last_Name\n1,2\n", "Two columns are called"),
        (wide.as_bytes(), "more than 200 cells"),
        (
            headings.as_bytes(),
            "The heading of column 1 has more than 200 characters; write a short name.",
        ),
        (long.as_bytes(), "more than 5000 rows"),
        (&large, "The file is larger than 10 MB"),
    ] {
        let page = editor.upload(file);
        assert_eq!(page.status, 422, "{fault}: {}", page.text);
        page.shows(&[fault]);
    }
    let page = editor.send(UPLOADS, &[]).is(422).text;
    page.shows(&["Choose an Excel workbook or a CSV file."]);
    assert_eq!(uploads(&editor), 0);
    // The largest file that is accepted.
    let mut full = b"last_name,\"note\"\n".to_vec();
    let cell = "x".repeat(60_000);
    while full.len() + cell.len() + 20 < 10 * 1_048_576 {
        full.extend_from_slice(format!("Example,{cell}\n").as_bytes());
    }
    editor.upload(&full).is(303);
}

#[test]
fn malformed_form_with_file_is_refused_without_server_error() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let token = editor.form_token();
    for (media_type, body, status) in [
        ("multipart/form-data", "--x--\r\n", 415),
        ("multipart/form-data; boundary=x", "", 415),
        ("multipart/form-data; boundary=x", "nothing", 415),
        ("multipart/form-data; boundary=x", "--x\r\n\r\n", 415),
        ("multipart/form-data; boundary=x", "--x--\r\n", 403),
        ("text/csv", "last_name\nExample\n", 415),
        ("", "last_name\nExample\n", 415),
    ] {
        let request = editor.request("POST", UPLOADS).bytes(body);
        let page = request.header("Content-Type", media_type).page();
        assert_eq!(page.status, status, "{media_type} {body}: {}", page.text);
    }
    let many = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n".repeat(50);
    let request = editor
        .request("POST", UPLOADS)
        .bytes(format!("{many}--x--\r\n"));
    request
        .header("Content-Type", "multipart/form-data; boundary=x")
        .page()
        .is(415);
    // Other forms have no file.
    let request = editor.file_request("/settings/sign-out", &token, FILE);
    request.page().is(415);
    assert_eq!(uploads(&editor), 0);
}

#[test]
fn file_of_another_site_or_session_is_not_stored() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let admin = Browser::admin(&register);
    let token = editor.form_token();
    for wrong in ["", "x", admin.form_token().as_str()] {
        let page = editor.file_request(UPLOADS, wrong, FILE).page().is(403);
        page.shows(&["out of date"]);
    }
    for (name, value) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "https://evil.example"),
    ] {
        let request = editor
            .file_request(UPLOADS, &token, FILE)
            .header(name, value);
        let page = request.page().is(403);
        page.shows(&["another site"]);
    }
    assert_eq!((uploads(&editor), uploads(&admin)), (0, 0));
    let viewer = Browser::viewer(&register);
    viewer.upload(FILE).is(403);
    let home = viewer.open("/settings").is(200).text;
    home.lacks(&[UPLOADS]);
}

#[test]
fn upload_opens_in_all_browsers_of_its_user_only() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let path = location(&editor.upload(FILE).is(303));
    let second = Browser::editor(&register);
    second.see(&path, &["Canaryson"]);
    let admin = Browser::admin(&register);
    admin.open(&path).is(404);
    assert_eq!(uploads(&admin), 0);
    admin.send(&format!("{path}/delete"), &[]).is(404);
}

#[test]
fn large_file_is_received_for_session_that_server_has_not_seen() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    // The form was shown by another server, or before a restart.
    let cookie = editor.cookie().unwrap();
    let secret = cookie.split_once('=').unwrap().1;
    let token = form_token_of_session(secret);
    let large = [
        FILE,
        &b"2,Ayo,Other,40\r\n".repeat(4_000),
        &b"\r\n".repeat(2_000_000),
    ]
    .concat();
    let stored = editor
        .file_request("/settings/upload", &token, &large)
        .page()
        .is(303);
    assert!(location(&stored).starts_with("/settings/upload/"));
}

#[test]
fn unsent_upload_is_deleted_within_a_day() {
    let register = Register::start();
    let by = Browser::editor(&register);
    let path = location(&by.upload(FILE).is(303));
    register.clock.set("2026-10-06T08:00:00Z");
    let later = Browser::editor(&register);
    later.open(&path).is(404);
    assert_eq!(uploads(&later), 0);
    let removed = register.operate(|session| session.remove_old_uploads());
    assert_eq!(removed, 1);
}

#[test]
fn user_with_five_uploads_must_delete_one() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let first = location(&editor.upload(FILE).is(303));
    for _ in 1..5 {
        editor.upload(FILE).is(303);
    }
    let page = editor.upload(FILE).is(422).text;
    page.shows(&["You have 5 unsent uploads; delete one of them first."]);
    editor.send(&format!("{first}/delete"), &[]).is(303);
    editor.upload(FILE).is(303);
}

#[test]
fn template_of_each_version_is_recognised_as_a_whole() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    for version in SERVED {
        let path = format!("{UPLOADS}/template/{}.csv", version.label);
        editor.see(UPLOADS, &[&format!("href=\"{path}\"")]);
        let template = editor.open(&path).is(200);
        assert_eq!(
            template.header("content-type"),
            Some("text/csv; charset=utf-8")
        );
        let mut lines = template.text.lines();
        let header = lines.next().unwrap().to_owned();
        header.shows(&["date_of_birth", "placements.1.urn", "degrees.1.subject"]);
        let example = lines.next().unwrap();
        assert!(
            example.contains("'1999-04-12") && lines.next().is_none(),
            "{example}"
        );
        let path = location(&editor.upload(template.text.as_bytes()).is(303));
        editor.see(&path, &["All columns are recognised"]);
    }
    for unknown in ["v1999.0", "x", "%00"] {
        editor
            .open(&format!("{UPLOADS}/template/{unknown}.csv"))
            .is(404);
    }
}
