//! Checking and sending the rows of an uploaded file: what the person sees, and what the register
//! stores.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use domain::TraineeField as F;
use serde_json::Value;
use storage::accounts::users::{Actor, UserRole};
use test_support::{Kind as DatabaseKind, execute, texts};
use versions::SERVED;

use super::browser::{Browser, text_after};
use crate::api::support::register::{OTHER_UKPRN, Setup, UKPRN};
use crate::api::support::{Api, Body, Page, Register, TextChecks as _};

const EMAIL: &str = "e@example.com";
/// How long a test waits for the work on an upload.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn newest(register: &Register) -> Api<'_> {
    register.api(SERVED.last().unwrap())
}

/// A valid trainee who differs from those with other numbers.
pub(super) fn trainee(api: &Api<'_>, number: usize) -> Body {
    api.example()
        .with(F::provider_trainee_id, format!("26-{number:04}"))
        .with(F::last_name, format!("Oak{number}"))
        .with(F::email, format!("oak{number}@example.com"))
}

/// The cells of a body by the names of their columns.
pub(super) fn cells(body: Body) -> BTreeMap<String, String> {
    let mut cells = BTreeMap::new();
    let Value::Object(data) = Value::from(body)["data"].take() else {
        panic!("a body is an object");
    };
    for (name, value) in data {
        let Some(records) = value.as_array() else {
            cells.insert(name, cell(&value));
            continue;
        };
        let list = name.trim_end_matches("_attributes");
        for (place, record) in records.iter().enumerate() {
            for (field, value) in record.as_object().unwrap() {
                let column = format!("{list}.{}.{field}", place + 1);
                cells.insert(column, cell(value));
            }
        }
    }
    cells
}

fn cell(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

/// A file with the columns of all rows.
pub(super) fn file(rows: &[BTreeMap<String, String>]) -> Vec<u8> {
    let mut columns: Vec<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
    columns.sort();
    columns.dedup();
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(&columns).unwrap();
    for row in rows {
        let cells = columns.iter().map(|column| row.get(*column));
        file.write_record(cells.map(|cell| cell.map_or("", String::as_str)))
            .unwrap();
    }
    file.into_inner().unwrap()
}

/// Uploads a file, and confirms its columns as they are recognised. Returns the path of the upload.
#[track_caller]
pub(super) fn check(browser: &Browser<'_>, file: &[u8]) -> String {
    confirm_columns(browser, &browser.upload(file).is(303))
}

/// Uploads a file, and waits for its check. Returns the path of the upload and the page.
#[track_caller]
pub(super) fn checked(browser: &Browser<'_>, file: &[u8]) -> (String, Page) {
    let path = check(browser, file);
    let page = finished(browser, &path);
    (path, page)
}

/// Sends the rows of an upload. Returns the page with the report.
#[track_caller]
pub(super) fn sent(browser: &Browser<'_>, path: &str) -> Page {
    browser.send(&format!("{path}/send"), &[]).is(303);
    finished(browser, path)
}

/// Confirms the columns of a stored upload as they are recognised. Returns its path.
#[track_caller]
pub(super) fn confirm_columns(browser: &Browser<'_>, stored: &Page) -> String {
    let path = stored.header("location").unwrap().to_owned();
    let page = browser.open(&path).is(200).text;
    let inputs = page.split(" id=\"column-").skip(1);
    let fields: Vec<_> = inputs
        .map(|input| {
            let number = input.split('"').next().unwrap();
            let name = text_after(input, " value=\"", "\"");
            (format!("column-{number}"), name)
        })
        .collect();
    let fields: Vec<_> = fields
        .iter()
        .map(|(field, name)| (field.as_str(), *name))
        .collect();
    browser.send(&format!("{path}/columns"), &fields).is(303);
    path
}

/// Chooses repairs on the page that asks about them. Returns the page of the check.
#[track_caller]
pub(super) fn repair(browser: &Browser<'_>, path: &str, fields: &[(&str, &str)]) -> Page {
    browser.send(&format!("{path}/repairs"), fields).is(303);
    finished(browser, path)
}

/// Opens the page of an upload until no work is to be done.
#[track_caller]
pub(super) fn finished(browser: &Browser<'_>, path: &str) -> Page {
    let begun = Instant::now();
    loop {
        let page = browser.open(path).is(200);
        if page.header("refresh").is_none() {
            return page;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", page.text);
        thread::sleep(Duration::from_millis(50));
    }
}

/// The number of rows beside words in the list of counts.
#[track_caller]
pub(super) fn count(page: &Page, words: &str) -> usize {
    let shown = text_after(&page.text, &format!("<dt>{words}</dt><dd>"), "</dd>");
    let digits = shown
        .rsplit_once("#rows\">")
        .map_or(shown, |(_, rest)| rest);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The trainees of the provider by their keys, with their last names.
pub(super) fn registered(register: &Register) -> BTreeMap<String, String> {
    let list = newest(register).get("/trainees?per_page=500");
    if list.status == 404 {
        return BTreeMap::new();
    }
    let list = list.is(200);
    let trainees = list.data().as_array().unwrap().iter();
    trainees
        .map(|one| (cell(&one["provider_trainee_id"]), cell(&one["last_name"])))
        .collect()
}

/// A register whose server continues uploads of other servers.
fn continuing_register() -> Register {
    Register::with_setup(Setup {
        continues_uploads: true,
        ..Setup::default()
    })
}

/// Begins to send the only upload like another server, whose lease ends at 09:00:30.
fn send_by_other_server(register: &Register) {
    execute(
        register.database().url(),
        "UPDATE uploads SET state = 'sending', sent_at = '2026-10-05 09:00:00', \
         worked_until = '2026-10-05 09:00:30'",
    );
}

/// Keeps all uploads as they are before they are sent.
fn save_uploads(register: &Register) {
    let url = register.database().url();
    execute(url, "CREATE TABLE saved_uploads AS SELECT * FROM uploads");
    execute(url, "CREATE TABLE saved_rows AS SELECT * FROM upload_rows");
}

/// Leaves all uploads as a server does that ends before it stores the results of sending.
fn forget_results(register: &Register) {
    let url = register.database().url();
    execute(url, "DELETE FROM upload_rows");
    execute(url, "INSERT INTO upload_rows SELECT * FROM saved_rows");
    execute(
        url,
        "UPDATE uploads SET state = 'sending', \
         content = (SELECT content FROM saved_uploads WHERE saved_uploads.id = uploads.id)",
    );
}

/// Waits until no upload is sent any more, without a request of a browser.
#[track_caller]
fn wait_until_sent(register: &Register) {
    let begun = Instant::now();
    let url = register.database().url();
    let running = "SELECT state AS text FROM uploads WHERE state = 'sending'";
    while !texts(url, running).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "rows are still being sent");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn wrong_rows_are_corrected_and_file_equals_register() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let mut rows: Vec<_> = (0..60).map(|number| cells(trainee(&api, number))).collect();
    let right = rows.clone();
    for (row, (column, value)) in [
        ("last_name", ""),
        ("date_of_birth", "1999-02-30"),
        ("email", "no address"),
        ("training_route", "ZZ"),
        ("itt_end_date", "2020-01-01"),
        ("sex", "unknown"),
        ("placements.1.urn", "x"),
    ]
    .into_iter()
    .enumerate()
    {
        rows[row * 8].insert(column.to_owned(), value.to_owned());
    }
    let (path, page) = checked(&editor, &file(&rows));
    assert_eq!(count(&page, "Refused"), 7, "{}", page.text);
    assert_eq!(count(&page, "Will be registered"), 53);
    for problem in [
        "last_name: cannot be blank",
        "date_of_birth: is invalid: 1999-02-30 is no day of the calendar",
        "email: is not a valid e-mail address",
        "training_route: &#34;ZZ&#34; is not in the list",
        "placements.1.urn: ",
    ] {
        assert!(
            page.text.contains(problem) || page.text.contains(&problem.replace("#34", "quot")),
            "{problem} is not in {}",
            page.text
        );
    }
    assert_eq!(registered(&register), BTreeMap::new());

    let report = sent(&editor, &path);
    assert_eq!(count(&report, "Registered"), 53, "{}", report.text);
    assert_eq!(registered(&register).len(), 53);

    // The refused rows say why, and are uploaded again as a corrected file.
    let refused = editor.open(&format!("{path}/refused.csv")).is(200).text;
    let mut reader = csv::Reader::from_reader(refused.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers().unwrap().clone();
    assert_eq!(header.iter().next_back(), Some("Why it was refused"));
    let mut corrected = csv::Writer::from_writer(Vec::new());
    corrected.write_record(&header).unwrap();
    for record in reader.records() {
        let record = record.unwrap();
        let at = header
            .iter()
            .position(|name| name == "provider_trainee_id")
            .unwrap();
        let row = right
            .iter()
            .find(|row| row["provider_trainee_id"] == record[at].trim_start_matches('\''))
            .unwrap();
        let cells = header.iter().zip(record.iter());
        corrected
            .write_record(cells.map(|(name, cell)| match row.get(name) {
                Some(right) => right.as_str(),
                None if name.starts_with("placements") => "",
                None => cell,
            }))
            .unwrap();
    }
    let (path, page) = checked(&editor, &corrected.into_inner().unwrap());
    assert_eq!(count(&page, "Will be registered"), 7, "{}", page.text);
    sent(&editor, &path);
    let expected: BTreeMap<_, _> = right
        .iter()
        .map(|row| (row["provider_trainee_id"].clone(), row["last_name"].clone()))
        .collect();
    assert_eq!(registered(&register), expected);

    // The whole file is equal to the register now.
    let (_, page) = checked(&editor, &file(&right));
    assert_eq!(count(&page, "Equal to the register"), 60, "{}", page.text);
    page.shows(&["There is nothing to send"]);
}

#[test]
fn change_names_user_and_shows_both_values() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    let rows = "provider_trainee_id,first_names,placements.1.placement_id\r\n26-0001,Ines,\r\n";
    let (path, page) = checked(&editor, rows.as_bytes());
    assert_eq!(count(&page, "Will be changed"), 1, "{}", page.text);
    page.shows(&["to <q>Ines</q>", "first_names: from <q>"]);
    assert_eq!(count(&sent(&editor, &path), "Changed"), 1);
    assert_eq!(*api.read(&id).value(F::first_names), "Ines");
    assert_eq!(*api.read(&id).value(F::record_source), "api");
    let history = register
        .operate({
            let id = id.clone();
            move |session| session.history_of(&id)
        })
        .unwrap();
    let last = history.entries.last().unwrap();
    assert_eq!(last.by.as_deref(), Some(EMAIL));
    let view = [("trainee_id", id.as_str())];
    let shown = editor.send("/settings/trainees/view", &view).is(200).text;
    assert!(shown.contains(&format!(", by {EMAIL}.")), "{shown}");
    let runs = editor.open("/settings/requests").is(200).text;
    runs.shows(&["1 row: 1 changed", "<td data-name=\"User\">e@example.com<"]);
}

#[test]
fn trainee_changed_after_check_is_reported() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    // The field of the row, and another one.
    for (field, name) in [(F::first_names, "Olga"), (F::last_name, "Elm")] {
        let (path, _) = checked(&editor, b"provider_trainee_id,first_names\n26-0001,Ines\n");
        api.update(&id, Body::new(api.version).with(field, name));
        let report = sent(&editor, &path);
        let words = "Not sent, because changed after the check";
        assert_eq!(count(&report, words), 1, "{}", report.text);
        assert_eq!(*api.read(&id).value(F::first_names), "Olga");
        let refused = editor.open(&format!("{path}/refused.csv")).is(200).text;
        refused.shows(&["26-0001,Ines,", "was changed in the register"]);
    }
}

#[test]
fn duplicate_degree_is_refused_by_check() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let mut row = cells(trainee(&api, 1));
    api.create(trainee(&api, 1));
    row.retain(|column, _| column == "provider_trainee_id" || column.starts_with("degrees.1."));
    // All that identifies a degree is equal, but its institution is not.
    row.insert("degrees.1.degree_id".to_owned(), "new".to_owned());
    let other = match row["degrees.1.institution"].as_str() {
        "0117" => "0149",
        _ => "0117",
    };
    row.insert("degrees.1.institution".to_owned(), other.to_owned());
    let (_, page) = checked(&editor, &file(&[row]));
    assert_eq!(count(&page, "Refused"), 1, "{}", page.text);
    let words = "The trainee already has a record with the same subject, ";
    page.shows(&[words]);
}

#[test]
fn upload_of_ended_server_continues_without_browser() {
    let register = continuing_register();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let rows: Vec<_> = (0..5).map(|number| cells(trainee(&api, number))).collect();
    let (path, _) = checked(&editor, &file(&rows));
    send_by_other_server(&register);
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(registered(&register), BTreeMap::new());
    register.clock.set("2026-10-05T09:00:31Z");
    wait_until_sent(&register);
    let report = finished(&editor, &path);
    assert_eq!(count(&report, "Registered"), 5, "{}", report.text);
    assert_eq!(registered(&register).len(), 5);
}

#[test]
fn row_sent_in_part_by_ended_server_is_completed() {
    let register = continuing_register();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    let columns = "trainee_id,last_name,degrees.1.degree_id,degrees.1.uk_degree,\
                   degrees.1.subject,degrees.1.institution,degrees.1.graduation_year,degrees.1.grade";
    let row = format!("{columns}\n{id},Van  Dyk,new,083,100485,0117,2012,02\n");
    let (path, _) = checked(&editor, row.as_bytes());
    save_uploads(&register);
    register.clock.set("2026-10-05T09:00:10Z");
    let report = sent(&editor, &path);
    assert_eq!(count(&report, "Changed"), 1, "{}", report.text);
    // The server ended before it added the degree. Only the reply to a new record has status 201.
    let degrees = || api.get(&format!("/trainees/{id}/degrees")).is(200);
    let shown = degrees();
    let mut shown = shown.data().as_array().unwrap().iter();
    let added = shown.find(|degree| degree["graduation_year"] == 2012);
    let added = cell(&added.unwrap()["degree_id"]);
    api.request("DELETE", &format!("/trainees/{id}/degrees/{added}"))
        .send()
        .is(200);
    let database = register.database();
    let (text, json) = match database.kind() {
        DatabaseKind::Sqlite => ("record", ""),
        DatabaseKind::Postgres => ("record::text", "::json"),
    };
    let (deleted, changed) = ("2026-10-05T09:00:10.002Z", "2026-10-05T09:00:10.000Z");
    let restore =
        format!("UPDATE trainees SET record = replace({text}, '{deleted}', '{changed}'){json}");
    execute(database.url(), &restore);
    execute(database.url(), "DELETE FROM replies WHERE status = 201");
    forget_results(&register);
    let report = finished(&editor, &path);
    assert_eq!(count(&report, "Changed"), 1, "{}", report.text);
    assert_eq!(degrees().data().as_array().unwrap().len(), 2);
}

#[test]
fn rows_sent_by_ended_server_are_reported_and_not_sent_again() {
    let register = continuing_register();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    let mut row = cells(trainee(&api, 1));
    row.retain(|column, _| column == "provider_trainee_id" || column.starts_with("degrees.1."));
    row.insert("last_name".to_owned(), "Van  Dyk".to_owned());
    row.insert("degrees.1.degree_id".to_owned(), "new".to_owned());
    row.insert("degrees.1.graduation_year".to_owned(), "2012".to_owned());
    let uploads = [row, cells(trainee(&api, 2))].map(|row| check(&editor, &file(&[row])));
    for path in &uploads {
        finished(&editor, path);
    }
    save_uploads(&register);
    for path in &uploads {
        editor.send(&format!("{path}/send"), &[]).is(303);
        finished(&editor, path);
    }
    let sent = api.get(&format!("/trainees/{id}")).is(200);
    forget_results(&register);
    for (path, words) in uploads.iter().zip(["Changed", "Registered"]) {
        let report = finished(&editor, path);
        assert_eq!(count(&report, words), 1, "{}", report.text);
    }
    assert_eq!(registered(&register).len(), 2);
    let degrees = api.get(&format!("/trainees/{id}/degrees")).is(200);
    assert_eq!(degrees.data().as_array().unwrap().len(), 2);
    let unchanged = api.get(&format!("/trainees/{id}")).is(200);
    assert_eq!(sent.header("etag"), unchanged.header("etag"));
}

#[test]
fn nested_record_is_changed_unless_it_was_changed_after_check() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    let degrees = format!("/trainees/{id}/degrees");
    let shown = || api.get(&degrees).is(200).data()[0].clone();
    let degree = cell(&shown()["degree_id"]);
    let upload = |name: &str, year: u16| {
        let columns = "trainee_id,last_name,degrees.1.degree_id,degrees.1.graduation_year";
        let row = format!("{columns}\n{id},{name},{degree},{year}\n");
        let path = check(&editor, row.as_bytes());
        assert_eq!(count(&finished(&editor, &path), "Will be changed"), 1);
        path
    };
    let send = |path: &str, words: &str| {
        editor.send(&format!("{path}/send"), &[]).is(303);
        let report = finished(&editor, path);
        assert_eq!(count(&report, words), 1, "{}", report.text);
    };
    let (first, second) = (upload("Elm", 2013), upload("Oak1", 2014));
    send(&first, "Changed");
    assert_eq!(cell(&shown()["graduation_year"]), "2013");
    assert_eq!(*api.read(&id).value(F::last_name), "Elm");
    send(&second, "Not sent, because changed after the check");
    assert_eq!(cell(&shown()["graduation_year"]), "2013");
}

#[test]
fn row_without_readable_result_of_check_is_not_sent() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let id = api.create(trainee(&api, 1)).id().to_owned();
    let (path, _) = checked(&editor, b"provider_trainee_id,first_names\n26-0001,Ines\n");
    let damage = "UPDATE upload_rows SET details = 'damaged'";
    execute(register.database().url(), damage);
    editor.send(&format!("{path}/send"), &[]).is(303);
    thread::sleep(Duration::from_secs(1));
    editor.see(&path, &["0 of 1 rows are sent"]);
    assert_ne!(*api.read(&id).value(F::first_names), "Ines");
}

#[test]
fn refused_rows_are_shown_in_pages_of_twenty() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let mut rows = "provider_trainee_id,last_name\n".to_owned();
    for number in 0..45 {
        rows.push_str(&format!("26-{number:04},Oak\n"));
    }
    let (_, mut page) = checked(&editor, rows.as_bytes());
    let mut shown = Vec::new();
    loop {
        shown.push(page.text.matches("<th scope=\"row\">Line ").count());
        let Some(at) = page.text.find("\">Show more rows") else {
            break;
        };
        let next = page.text[..at].rsplit_once("href=\"").unwrap().1;
        let next = next.replace("&#38;", "&").replace("&amp;", "&");
        page = editor.open(next.trim_end_matches("#rows")).is(200);
    }
    assert_eq!(shown, [20, 20, 5]);
}

#[test]
fn equal_problems_are_one_line_with_their_rows() {
    let register = Register::start();
    let editor = Browser::editor(&register);
    let mut rows = "provider_trainee_id,last_name\n".to_owned();
    for number in 0..30 {
        rows.push_str(&format!("26-{number:04},\n"));
    }
    let (_, page) = checked(&editor, rows.as_bytes());
    let line = "\">30 rows</a>: last_name: cannot be blank";
    let (before, _) = page.text.split_once(line).unwrap();
    let address = before.rsplit_once("href=\"").unwrap().1;
    let page = editor.open(address.trim_end_matches("#rows")).is(200).text;
    let listed = page.split("<h2 id=\"rows\">").nth(1).unwrap();
    assert!(listed.starts_with("last_name: cannot be blank"), "{page}");
    assert_eq!(listed.matches("<th scope=\"row\">Line ").count(), 20);
}

#[test]
fn report_has_each_row_for_its_organisation_alone() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    api.create(trainee(&api, 0));
    let mut rows: Vec<_> = (0..3).map(|number| cells(trainee(&api, number))).collect();
    rows[2].insert("last_name".to_owned(), String::new());
    let (path, _) = checked(&editor, &file(&rows));
    sent(&editor, &path);
    execute(
        register.database().url(),
        "UPDATE trainees SET trn = '1234567'",
    );
    // The report is not part of the record of requests, whose keys can be switched off.
    register.operate(|session| session.set_record_key_logging(Actor::operator("o"), UKPRN, false));
    let imports = editor.open("/settings/requests").is(200).text;
    let address = text_after(&imports, "href=\"/settings/requests/uploads/", "\"");
    let address = format!("/settings/requests/uploads/{address}");
    let page = editor.open(&address).is(200).text;
    page.shows(&[
        "3 rows: 1 refused by the check, 1 registered, 1 equal to the register.",
        "26-0002",
        "1234567",
    ]);
    let file = editor.open(&format!("{address}/report.csv")).is(200).text;
    let lines: Vec<_> = file.trim_start_matches('\u{feff}').lines().collect();
    assert_eq!(lines.len(), 4, "{file}");
    assert_eq!(lines[0], "line,provider_trainee_id,trainee_id,status,trn");
    for (line, begin, end) in [
        (lines[1], "2,'26-0000,", ",equal,1234567"),
        (lines[2], "3,'26-0001,", ",registered,1234567"),
        (lines[3], "4,'26-0002,", ",refused,"),
    ] {
        assert!(line.starts_with(begin) && line.ends_with(end), "{line}");
    }
    let viewer = Browser::viewer(&register);
    viewer.open(&address).is(403);
    let other = Browser::signed_in(
        &register,
        Some(OTHER_UKPRN),
        "o@example.com",
        UserRole::Editor,
    );
    for path in [address.clone(), format!("{address}/report.csv"), path] {
        other.open(&path).is(404);
    }
    let imports = other.open("/settings/requests").is(200).text;
    imports.lacks(&["/settings/requests/uploads/"]);
}

#[test]
fn sent_rows_are_deleted_and_refused_ones_kept_to_correct() {
    let register = Register::start();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let mut rows: Vec<_> = (0..2).map(|number| cells(trainee(&api, number))).collect();
    rows[1].insert("email".to_owned(), "no address".to_owned());
    let (path, _) = checked(&editor, &file(&rows));
    sent(&editor, &path);
    let url = register.database().url();
    let kept = texts(url, "SELECT cells AS text FROM upload_rows ORDER BY line");
    assert_eq!(kept[0], "");
    kept[1].shows(&["no address"]);
    let list = api.get("/trainees").is(200);
    assert_eq!(list.data()[0]["record_source"], "csv");
}

#[test]
fn person_without_access_stops_upload() {
    let register = continuing_register();
    let (api, editor) = (newest(&register), Browser::editor(&register));
    let rows: Vec<_> = (0..5).map(|number| cells(trainee(&api, number))).collect();
    let (path, _) = checked(&editor, &file(&rows));
    let change_role = |role| {
        register
            .operate(move |session| session.change_role(Actor::operator("o"), 1, role).map(drop));
    };
    change_role(UserRole::Viewer);
    editor.send(&format!("{path}/send"), &[]).is(403);
    send_by_other_server(&register);
    register.clock.set("2026-10-05T09:00:31Z");
    wait_until_sent(&register);
    assert_eq!(registered(&register), BTreeMap::new());
    change_role(UserRole::Editor);
    let page = finished(&editor, &path);
    let words = "This upload was stopped, because its user may no longer upload.";
    page.shows(&[words]);
    assert_eq!(count(&page, "Not registered"), 5);
}
