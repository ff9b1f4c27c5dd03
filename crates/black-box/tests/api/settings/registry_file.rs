//! The rows of a file that an operator sends by a form: beside other pages, and as long as the
//! operator is signed in.

use std::thread;

use storage::accounts::users::{ActivityFilter, ActivityKind, UserRole};
use versions::SERVED;

use super::browser::{Browser, FORM, encode};
use crate::api::support::{Page, Register, TextChecks as _};
use crate::api::transitions::trainee_lifecycle::ready;

const PATH: &str = "/settings/registry/file";

/// The most rows of a file: one that is done, and others that are refused.
fn rows(register: &Register) -> String {
    let trainee = ready(&register.api(SERVED[0]), "1999-04-12");
    format!(
        "trainee_id,trn\n{},1234567\n{}",
        trainee.id(),
        "unknown,\n".repeat(999)
    )
}

/// Sends a file, does something else when its first row is done, and returns the reply to the file.
fn beside_a_file(register: &Register, operator: &Browser<'_>, act: impl FnOnce(&str)) -> Page {
    let (rows, token, cookie) = (
        rows(register),
        operator.form_token(),
        operator.cookie().unwrap(),
    );
    let form = encode(&[
        ("form_token", &token),
        ("action", "issue-trn"),
        ("rows", &rows),
    ]);
    let file = register
        .request("POST", PATH)
        .bytes(form)
        .header("Content-Type", FORM)
        .header("Cookie", &cookie);
    thread::scope(|scope| {
        let file = scope.spawn(|| file.page());
        let is_begun = || {
            let filter = ActivityFilter {
                limit: 1,
                ..ActivityFilter::default()
            };
            let newest = register.operate(move |session| session.list_activity(filter));
            newest
                .iter()
                .any(|entry| entry.kind == ActivityKind::RegistryActed)
        };
        while !is_begun() {
            assert!(!file.is_finished());
        }
        act(&token);
        file.join().unwrap()
    })
}

#[test]
fn one_file_runs_at_a_time_while_other_pages_work() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let report = beside_a_file(&register, &operator, |token| {
        let fields = [
            ("form_token", token),
            ("action", "award"),
            ("rows", "trainee_id\nnobody"),
        ];
        let refused = operator.send_form(PATH, &fields).is(503);
        refused.shows(&["Nothing was changed"]);
        operator.open("/settings/registry").is(200);
    });
    report.is(200).shows(&["<dt>Refused</dt><dd>999</dd>"]);
    // Its turn has come.
    operator
        .send(PATH, &[("action", "award"), ("rows", "trainee_id\nnobody")])
        .is(200);
    operator.see("/settings/imports/2", &["registry award"]);
    operator.open("/settings/imports/3").is(404);
}

#[test]
fn signed_out_operators_file_stops_and_reports_the_line() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let report = beside_a_file(&register, &operator, |token| {
        operator
            .send_form("/settings/sign-out", &[("form_token", token)])
            .is(303);
    });
    let report = report.is(200).text;
    report.shows(&["You were signed out before line"]);
    report.lacks(&["may have been"]);
    report.shows(&["<dt>Done</dt><dd>1</dd>"]);
    report.lacks(&["<dd>999</dd>"]);
    let again = Browser::signed_in(&register, None, "p@example.com", UserRole::Operator);
    again.see("/settings/imports/1", &["<dt>Stopped</dt><dd>at line "]);
}

#[test]
fn file_stops_between_rows_on_shutdown_with_its_report_kept() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let report = beside_a_file(&register, &operator, |_| register.long_jobs().stop());
    let report = report.is(200).text;
    report.shows(&["The server stopped before line "]);
    report.lacks(&["may have been"]);
    report.shows(&["<dt>Done</dt><dd>1</dd>"]);
    report.lacks(&["<dd>999</dd>"]);
    operator.see("/settings/imports/1", &["<dt>Stopped</dt><dd>at line "]);
    operator
        .send(PATH, &[("action", "award"), ("rows", "trainee_id\nnobody")])
        .is(503);
}

#[test]
fn records_are_discarded_only_after_a_confirmation() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let (one, other) = (
        ready(&register.api(SERVED[0]), "1999-04-12"),
        ready(&register.api(SERVED[0]), "1999-04-13"),
    );
    let is_there = |id: &str| {
        register
            .api(SERVED[0])
            .get(&format!("/trainees/{id}"))
            .status
            == 200
    };

    let single = [("trainee_id", one.id()), ("action", "discard")];
    let asked = operator
        .send("/settings/registry/trainee", &single)
        .is(200)
        .text;
    asked.shows(&[&format!(
        "<h1>Discard the record of trainee {}?</h1>",
        one.id()
    )]);
    assert!(is_there(one.id()));
    let done = [&single[..], &[("confirmed", "yes")]].concat();
    operator
        .send("/settings/registry/trainee", &done)
        .is(200)
        .shows(&["discarded"]);
    assert!(!is_there(one.id()));

    let rows = format!("trainee_id\r\n{}\r\n", other.id());
    let many = [("action", "discard"), ("rows", rows.as_str())];
    let asked = operator.send(PATH, &many).is(200).text;
    asked.shows(&[&format!("name=\"rows\" value=\"{rows}\"")]);
    assert!(is_there(other.id()));
    operator
        .send(PATH, &[&many[..], &[("confirmed", "yes")]].concat())
        .is(200);
    assert!(!is_there(other.id()));
}

#[test]
fn blank_lines_above_the_header_row_count() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let rows = "\r\n\r\ntrainee_id\r\nnobody\r\n";
    let report = operator
        .send(PATH, &[("action", "award"), ("rows", rows)])
        .is(200)
        .text;
    report.shows(&["data-name=\"Line\">4<"]);
    // What was typed stays as it was.
    let form = operator
        .send(PATH, &[("action", ""), ("rows", rows)])
        .is(422)
        .text;
    form.shows(&[&format!("\n{rows}</textarea>")]);
}
