//! Files of registry actions, and the registry that a server plays.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server::sandbox::demo;

use super::support::{Ended, Server, Workplace, agent, execute, texts};

/// How long a server may take at the very most.
const PATIENCE: Duration = Duration::from_secs(120);

fn path() -> String {
    format!(
        "/api/{}/trainees",
        versions::all().newest().unwrap().version.label
    )
}

/// Registers a trainee who was born in that year.
fn create(server: &Server, year: u32) -> String {
    let version = versions::all().newest().unwrap().version;
    let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    body["data"]["date_of_birth"] = format!("{year}-04-12").into();
    let (status, created) = server.send(&agent(), "POST", &path(), Some(&body));
    assert_eq!(status, 201, "{created}");
    created["data"]["trainee_id"].as_str().unwrap().to_owned()
}

fn read(server: &Server, id: &str) -> Value {
    let (status, mut reply) = server.send(&agent(), "GET", &format!("{}/{id}", path()), None);
    assert_eq!(status, 200, "{reply}");
    reply["data"].take()
}

fn post(server: &Server, id: &str, action: &str, body: &Value) {
    let (status, reply) = server.send(
        &agent(),
        "POST",
        &format!("{}/{id}/{action}", path()),
        Some(body),
    );
    assert!(status == 200 || status == 202, "{reply}");
}

#[track_caller]
fn prints(ended: &Ended, expected: &str) {
    assert_eq!(
        (ended.status(), ended.stdout()),
        (0, expected),
        "{}",
        ended.stderr()
    );
}

#[test]
fn each_action_runs_once_beside_a_server_and_is_recorded() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let id = &*create(&server, 1990);
    let twice = |action: &str, rows: &str| {
        let first = place.apply(action, rows, &["--by", "A. Operator"]);
        prints(&first, "done       1\nunchanged  0\nrefused    0\n");
        let second = place.apply(action, rows, &[]);
        prints(&second, "done       0\nunchanged  1\nrefused    0\n");
    };
    let today = read(&server, id)["created_at"].as_str().unwrap()[..10].to_owned();
    post(
        &server,
        id,
        "defer",
        &json!({ "data": { "defer_date": today } }),
    );
    twice("reinstate", &format!("trainee_id,date\n{id},{today}\n"));
    twice("issue-trn", &format!("trainee_id,trn\n{id},1234567\n"));
    let body = json!({ "data": {
        "withdrawal_date": today, "trigger": "trainee", "future_interest": "no", "reasons": ["trainee_workload_issues"],
    } });
    post(&server, id, "withdraw", &body);
    let rows = format!("trainee_id\n{id}\n");
    twice("undo-withdrawal", &rows);
    twice("discard", &rows);
    assert_eq!(
        server
            .send(&agent(), "GET", &format!("{}/{id}", path()), None)
            .0,
        404
    );

    let audit = place.run(&["audit", id], None);
    for action in ["reinstate", "issue-trn", "undo-withdrawal", "discard"] {
        let heading = format!("  registry {action}  by A. Operator\n");
        assert_eq!(
            audit.stdout().matches(&heading).count(),
            1,
            "{}",
            audit.stdout()
        );
    }
}

#[test]
fn rejected_file_rows_are_named_by_line_and_others_processed() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let (one, other, third) = (
        create(&server, 1990),
        create(&server, 1991),
        create(&server, 1992),
    );
    let text = format!(
        "name,trn,trainee_id\nA,1234567,{one}\nB,1234567,{other}\nC,12345,{other}\nD,,{third}\nE,,\nF,7654321,none\n"
    );
    let file = place.write("numbers.csv", text);
    let from = |command: &str, file: &std::path::Path| {
        place.run(&["registry", "apply", command], Some(file))
    };
    let refused = format!(
        "line 3: trainee {other}: the TRN is that of another person, trainee {one}\n\
         line 4: trn must be 7 digits\nline 6: trainee_id is blank\nline 7: trainee none: no trainee has this identifier\n"
    );
    let first = from("issue-trn", &file);
    assert_eq!(
        (first.status(), first.stdout()),
        (
            1,
            &*format!("done       2\nunchanged  0\nrefused    4\n{refused}")
        )
    );
    assert!(
        first
            .stderr()
            .ends_with("rows refused: 4; all others were processed\n"),
        "{}",
        first.stderr()
    );
    let drawn = read(&server, &third)["trn"].as_str().unwrap().to_owned();
    let second = from("issue-trn", &file);
    assert_eq!(
        second.stdout(),
        format!("done       0\nunchanged  2\nrefused    4\n{refused}")
    );
    assert_eq!(read(&server, &third)["trn"], drawn);
    assert_eq!(read(&server, &one)["trn"], "1234567");

    let today = read(&server, &one)["created_at"].as_str().unwrap()[..10].to_owned();
    for id in [&one, &other] {
        post(
            &server,
            id,
            "defer",
            &json!({ "data": { "defer_date": today } }),
        );
    }
    let file = place.write(
        "returns.csv",
        format!(
            "trainee_id,date,itt_end_date\n{one},{today},2029-08-31\n{other},{today},\n{third},{today},\n{one},soon,\n\
             {other},{today},2099-01-01\n{other},{today},2029-08-3\n"
        ),
    );
    let returned = from("reinstate", &file);
    let refused = format!(
        "line 4: trainee {third}: cannot reinstate a trainee in state trn_received\n\
         line 5: date must be a date of the form YYYY-MM-DD\n\
         line 6: trainee {other}: cannot reinstate a trainee in state submitted_for_trn\n\
         line 7: itt_end_date must be a date of the form YYYY-MM-DD\n"
    );
    assert_eq!(
        returned.stdout(),
        format!("done       2\nunchanged  0\nrefused    4\n{refused}")
    );
    assert_eq!(read(&server, &one)["itt_end_date"], "2029-08-31");
    let file = place.write("wrong.csv", format!("trainee_id\n{other}\n{other}\n"));
    prints(
        &from("discard", &file),
        "done       1\nunchanged  1\nrefused    0\n",
    );
    let incomplete = from("issue-trn", &file);
    assert!(
        incomplete.status() == 1 && incomplete.stderr().contains("missing: \"trn\""),
        "{}",
        incomplete.stderr()
    );
}

#[test]
fn report_is_printed_even_if_file_stops_or_storing_fails() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let (one, other) = (create(&server, 1990), create(&server, 1991));
    drop(server);
    let file = place.write(
        "rows.csv",
        format!("trainee_id,trn\n{one},12345\n{one},1234567\n{other},7654321\n"),
    );
    let done = || place.run(&["registry", "apply", "issue-trn"], Some(&file));
    let refused = "refused    1\nline 2: trn must be 7 digits\n";

    execute(
        &place.url(),
        "ALTER TABLE trainees RENAME TO other_trainees",
    );
    let stopped = done();
    assert_eq!(
        stopped.stdout(),
        format!("done       0\nunchanged  0\n{refused}stopped at line 3\n")
    );
    assert_eq!(stopped.status(), 1);
    let stored = texts(&place.url(), "SELECT refused_rows AS text FROM imports");
    assert_eq!(stored, ["[[2,\"trn must be 7 digits\"]]"]);
    let stopped_at = "SELECT CAST(stopped_at_line AS TEXT) AS text FROM imports";
    assert_eq!(texts(&place.url(), stopped_at), ["3"]);

    execute(
        &place.url(),
        "ALTER TABLE other_trainees RENAME TO trainees; ALTER TABLE imports RENAME TO other_imports",
    );
    let unstored = done();
    assert_eq!(
        unstored.stdout(),
        format!("done       2\nunchanged  0\n{refused}")
    );
    assert!(
        unstored.status() == 1 && unstored.stderr().contains("was not stored"),
        "{}",
        unstored.stderr()
    );
    let file = place.write("partners.csv", "URN,UKPRN,Name\n100000,,Ash\n");
    let unstored = place.run(&["partner", "import"], Some(&file));
    assert_eq!(
        unstored.stdout(),
        "added      1\nchanged    0\nunchanged  0\nrefused    0\n"
    );
    assert!(
        unstored.status() == 1 && unstored.stderr().contains("was not stored"),
        "{}",
        unstored.stderr()
    );
}

#[test]
fn a_sandbox_plays_the_registry() {
    let place = Workplace::new();
    let server = place.serve(&["--registry", "on", "--registry-delay", "0"], None);
    let id = create(&server, 1990);
    let began = Instant::now();
    let numbered = loop {
        let shown = read(&server, &id);
        if shown["trn"].is_string() {
            break shown;
        }
        assert!(began.elapsed() < PATIENCE, "{shown}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(numbered["state"], "trn_received");
    let audit = place.run(&["audit", &id], None);
    assert_eq!(
        audit
            .stdout()
            .matches("  sandbox registry  operator\n")
            .count(),
        1,
        "{}",
        audit.stdout()
    );
}

#[test]
fn nobody_plays_the_registry_in_production() {
    let place = Workplace::new();
    for options in [
        &["--registry", "on"][..],
        &["--registry", "off"],
        &["--registry-delay", "5"],
    ] {
        let refused = place.run(
            &[&["serve", "--environment", "production"], options].concat(),
            None,
        );
        assert_eq!(refused.status(), 1);
        assert!(
            refused
                .stderr()
                .contains("work in the sandbox environment only"),
            "{}",
            refused.stderr()
        );
    }
}
