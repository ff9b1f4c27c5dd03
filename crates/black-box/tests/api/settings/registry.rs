//! What operators do on their pages to trainees: the registry's queue and its acts, and the
//! history.

use domain::{Action, TraineeField as F};
use serde_json::json;
use storage::accounts::users::UserRole;
use versions::SERVED;

use super::browser::{Browser, text_after};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, TextChecks as _};
use crate::api::transitions::trainee_lifecycle::{carry_out, ready};

/// How many trainees a page of the queue has.
fn waiting(page: &Page) -> usize {
    page.text.matches("data-name=\"Trainee\"").count()
}

#[test]
fn waiting_trainee_is_queued_until_the_registry_has_acted() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    let operator = Browser::operator(&register);
    operator.see("/settings/registry", &["No trainees are waiting"]);
    let trainee = ready(&api, "1999-04-12");
    register.clock.set("2026-10-08T09:00:00Z");
    let operator = Browser::signed_in(&register, None, "p@example.com", UserRole::Operator);
    let waiting_in =
        |query: &str| waiting(&operator.open(&format!("/settings/registry{query}")).is(200));
    let queue = operator.open("/settings/registry").is(200);
    assert_eq!(waiting(&queue), 1);
    queue.shows(&[
        trainee.id(),
        "Ashdown University (10012345)",
        "2026-10-05T09:00:00.000Z",
        "data-name=\"Days waiting\">3<",
    ]);
    assert_eq!(waiting_in(&format!("?organisation={UKPRN}")), 1);
    assert_eq!(waiting_in(&format!("?organisation={OTHER_UKPRN}")), 0);
    operator.open("/settings/registry?organisation=1").is(422);
    operator.open("/settings/registry?for=nothing").is(404);
    operator.open("/settings/registry?after=nothing").is(404);

    // The queue leads to a form that is filled in.
    let address =
        text_after(&queue.text, "data-name=\"Action\"><a href=\"", "\"").replace("&#38;", "&");
    operator.see(&address, &["value=\"issue-trn\" selected", trainee.id()]);
    let act = |fields: &[(&str, &str)]| {
        operator.send(
            "/settings/registry/trainee",
            &[&[("trainee_id", trainee.id())], fields].concat(),
        )
    };
    act(&[("action", "issue-trn"), ("trn", "12")]).is(422);
    act(&[]).is(422);
    act(&[("action", "award")]).is(422);
    for date in ["x", "2026-10-1"] {
        let refused = act(&[("action", "reinstate"), ("date", date)]).is(422).text;
        refused.shows(&["Enter a date of the form YYYY-MM-DD"]);
    }
    let issued = act(&[("action", "issue-trn"), ("trn", "1234567")])
        .is(200)
        .text;
    issued.shows(&["role=\"status\"", trainee.id()]);
    act(&[("action", "issue-trn"), ("trn", "1234567")])
        .is(200)
        .shows(&["no change"]);
    api.read(trainee.id()).has(&[(F::trn, json!("1234567"))]);
    assert_eq!(waiting_in(""), 0);

    carry_out(&api, &trainee, Action::Recommend).is(202);
    assert_eq!(waiting_in("?for=award"), 1);
    act(&[("action", "award")]).is(200);
    assert_eq!(waiting_in("?for=award"), 0);
    api.read(trainee.id()).has(&[(F::state, json!("awarded"))]);

    // Each change stands in the history and in the activity log, by the operator.
    let id = trainee.id().to_owned();
    let history = register
        .operate(move |session| session.history_of(&id))
        .unwrap();
    let mut entries = history.entries;
    entries.retain(|entry| entry.by.as_deref() == Some("user 2"));
    let acts: Vec<_> = entries
        .iter()
        .map(|entry| entry.operation.as_str())
        .collect();
    assert_eq!(acts, ["registry issue-trn", "registry award"]);
    let log = operator
        .open(&format!("/settings/activity?organisation={UKPRN}"))
        .is(200)
        .text;
    let entry = format!("performed a registry action: trainee {}", trainee.id());
    assert_eq!(log.matches(&entry).count(), 2, "{log}");
}

#[test]
fn a_long_queue_has_pages_that_miss_and_repeat_nobody() {
    let register = Register::start();
    register.sow(400);
    let operator = Browser::operator(&register);
    let (mut path, mut seen, mut pages) = ("/settings/registry".to_owned(), Vec::new(), 0);
    loop {
        let page = operator.open(&path).is(200).text;
        pages += 1;
        for part in page.split("data-name=\"Trainee\">").skip(1) {
            seen.push(part.split('<').next().unwrap().to_owned());
        }
        if !page.contains("Next trainees") {
            break;
        }
        path = text_after(&page, "<a class=\"button second\" href=\"", "\"").replace("&#38;", "&");
    }
    let all = register.operate(|session| session.awaiting_trn(session.now(), None, 10_000));
    assert!(pages > 1, "{pages} pages of {}", all.len());
    let all: Vec<_> = all.into_iter().map(|one| one.trainee_id).collect();
    assert_eq!(seen, all);
}

#[test]
fn every_row_of_a_file_is_judged_as_if_alone() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    let (first, second) = (ready(&api, "1999-04-12"), ready(&api, "1998-04-12"));
    let operator = Browser::operator(&register);
    let send = |action: &str, rows: &str| {
        operator.send(
            "/settings/registry/file",
            &[("action", action), ("rows", rows)],
        )
    };
    let rows = format!(
        "trn,trainee_id\r\n1234567,{}\r\n1,{}\r\n7654321,unknown\r\n\r\n1234567,{}\r\n7654321,{}\r\n1234567,{}\r\n",
        first.id(),
        second.id(),
        second.id(),
        second.id(),
        first.id()
    );
    let report = send("issue-trn", &rows).is(200).text;
    report.shows(&[
        "<dt>Done</dt><dd>2</dd>",
        "<dt>No change</dt><dd>1</dd>",
        "<dt>Refused</dt><dd>3</dd>",
    ]);
    for line in [3, 4, 6] {
        report.shows(&[&format!("data-name=\"Line\">{line}<")]);
    }
    api.read(first.id()).has(&[(F::trn, json!("1234567"))]);
    api.read(second.id()).has(&[(F::trn, json!("7654321"))]);
    // The report is among the imports, without a value.
    let import = operator.open("/settings/imports/1").is(200).text;
    import.shows(&["trainees (registry issue-trn)", "o@example.com"]);
    import.lacks(&["1234567", "7654321", "unknown", first.id(), second.id()]);

    let many = format!("trainee_id\n{}", "unknown\n".repeat(1_001));
    for (action, rows) in [
        ("award", "trainee_id"),
        ("award", "x\ny"),
        ("award", ""),
        ("", rows.as_str()),
        ("award", &many),
    ] {
        let page = send(action, rows).is(422);
        page.shows(&["There is a problem"]);
    }
    send("award", &"x".repeat(262_144)).is(413);
    let log = operator.open("/settings/activity").text;
    let counts =
        ["performed a registry action", "imported a file"].map(|words| log.matches(words).count());
    assert_eq!(counts, [2, 1]);
}

#[test]
fn to_look_at_a_history_stands_in_the_activity_log() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    let created = api.create(api.example().with(F::last_name, "Zqxcanary"));
    let operator = Browser::operator(&register);
    let admin = Browser::admin(&register);
    operator
        .open("/settings/history")
        .is(200)
        .lacks(&["Zqxcanary"]);
    for wrong in ["", "unknown"] {
        operator
            .send("/settings/history", &[("trainee_id", wrong)])
            .is(422);
    }
    operator
        .open("/settings/activity")
        .lacks(&["viewed the history"]);
    let page = operator
        .send("/settings/history", &[("trainee_id", created.id())])
        .is(200);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    page.shows(&["Zqxcanary", "last_name", UKPRN, "Student records system"]);
    for reader in [&operator, &admin] {
        let log = reader.open("/settings/activity").is(200).text;
        let entry = format!("viewed the history of a trainee: trainee {}", created.id());
        log.shows(&[&entry]);
        log.lacks(&["Zqxcanary"]);
    }
    let other = Browser::other_admin(&register);
    other.open("/settings/activity").lacks(&["viewed"]);
}
