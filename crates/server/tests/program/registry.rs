//! Files of registry actions, and the registry that a server plays.

use serde_json::{Value, json};

use super::support::{Server, Workplace, example, path, wait_until};

/// Registers a trainee who was born in that year.
fn create(server: &Server, year: u32) -> String {
    let mut body = example("Example");
    body["data"]["date_of_birth"] = format!("{year}-04-12").into();
    let (status, created) = server.send("POST", &path("/trainees"), Some(&body));
    assert_eq!(status, 201, "{created}");
    created["data"]["trainee_id"].as_str().unwrap().to_owned()
}

fn read(server: &Server, id: &str) -> Value {
    let (status, mut reply) = server.get(&format!("/trainees/{id}"));
    assert_eq!(status, 200, "{reply}");
    reply["data"].take()
}

fn post(server: &Server, id: &str, action: &str, data: &Value) {
    let path = path(&format!("/trainees/{id}/{action}"));
    let (status, reply) = server.send("POST", &path, Some(&json!({ "data": data })));
    assert!(status == 200 || status == 202, "{reply}");
}

/// The date of the creation of a trainee.
fn today(server: &Server, id: &str) -> String {
    read(server, id)["created_at"].as_str().unwrap()[..10].to_owned()
}

#[test]
fn each_action_runs_once_and_is_recorded() {
    let place = Workplace::new();
    let server = place.serve("");
    let id = &*create(&server, 1990);
    let twice = |action: &str, rows: &str| {
        let first = place.apply(action, rows, "--by 'A. Operator'");
        first.prints(0, "done       1\nunchanged  0\nrefused    0\n");
        let second = place.apply(action, rows, "");
        second.prints(0, "done       0\nunchanged  1\nrefused    0\n");
    };
    let today = today(&server, id);
    post(&server, id, "defer", &json!({ "defer_date": today }));
    twice("reinstate", &format!("trainee_id,date\n{id},{today}\n"));
    twice("issue-trn", &format!("trainee_id,trn\n{id},1234567\n"));
    let withdrawal = json!({
        "withdrawal_date": today, "trigger": "trainee", "future_interest": "no", "reasons": ["trainee_workload_issues"],
    });
    post(&server, id, "withdraw", &withdrawal);
    let rows = format!("trainee_id\n{id}\n");
    twice("undo-withdrawal", &rows);
    twice("discard", &rows);
    assert_eq!(server.get(&format!("/trainees/{id}")).0, 404);

    let audit = place.done(format!("audit {id}"));
    for action in ["reinstate", "issue-trn", "undo-withdrawal", "discard"] {
        let heading = format!("  registry {action}  by A. Operator\n");
        assert_eq!(audit.matches(&heading).count(), 1, "{audit}");
    }
}

#[test]
fn rejected_rows_are_named_and_others_processed() {
    let place = Workplace::new();
    let server = place.serve("");
    let [one, other, third] = [1990, 1991, 1992].map(|year| create(&server, year));
    let numbers = format!(
        "name,trn,trainee_id\nA,1234567,{one}\nB,1234567,{other}\nC,12345,{other}\nD,,{third}\nE,,\nF,7654321,none\n"
    );
    let refused = format!(
        "line 3: trainee {other}: the TRN is that of another person, trainee {one}\n\
         line 4: trn must be 7 digits\nline 6: trainee_id is blank\nline 7: trainee none: no trainee has this identifier\n"
    );
    for (done, unchanged) in [(2, 0), (0, 2)] {
        let expected =
            format!("done       {done}\nunchanged  {unchanged}\nrefused    4\n{refused}");
        place.apply("issue-trn", &numbers, "").prints(1, &expected);
    }
    assert!(read(&server, &third)["trn"].is_string());
    assert_eq!(read(&server, &one)["trn"], "1234567");

    let today = today(&server, &one);
    for id in [&one, &other] {
        post(&server, id, "defer", &json!({ "defer_date": today }));
    }
    let rows = format!(
        "trainee_id,date,itt_end_date\n{one},{today},2029-08-31\n{other},{today},\n{third},{today},\n{one},soon,\n\
         {other},{today},2099-01-01\n{other},{today},2029-08-3\n"
    );
    let expected = format!(
        "done       2\nunchanged  0\nrefused    4\n\
         line 4: trainee {third}: cannot reinstate a trainee in state trn_received\n\
         line 5: date must be a date of the form YYYY-MM-DD\n\
         line 6: trainee {other}: cannot reinstate a trainee in state submitted_for_trn\n\
         line 7: itt_end_date must be a date of the form YYYY-MM-DD\n"
    );
    place.apply("reinstate", &rows, "").prints(1, &expected);
    assert_eq!(read(&server, &one)["itt_end_date"], "2029-08-31");
    let incomplete = place.apply("issue-trn", &format!("trainee_id\n{other}\n"), "");
    incomplete.ends(1, &["missing: \"trn\""]);
}

#[test]
fn report_is_printed_even_if_not_stored() {
    let place = Workplace::new();
    let server = place.serve("");
    let [one, other] = [1990, 1991].map(|year| create(&server, year));
    drop(server);
    let rows = format!("trainee_id,trn\n{one},12345\n{one},1234567\n{other},7654321\n");
    let refused = "refused    1\nline 2: trn must be 7 digits\n";

    place.execute("ALTER TABLE trainees RENAME TO other_trainees");
    let stopped = place.apply("issue-trn", &rows, "");
    stopped.prints(
        1,
        &format!("done       0\nunchanged  0\n{refused}stopped at line 3\n"),
    );
    let stored = "SELECT refused_rows || CAST(stopped_at_line AS TEXT) AS text FROM imports";
    assert_eq!(place.texts(stored), ["[[2,\"trn must be 7 digits\"]]3"]);

    place.execute(
        "ALTER TABLE other_trainees RENAME TO trainees; ALTER TABLE imports RENAME TO other_imports",
    );
    let unstored = place.apply("issue-trn", &rows, "");
    unstored.prints(1, &format!("done       2\nunchanged  0\n{refused}"));
    unstored.ends(1, &["was not stored"]);
    place.write("partners.csv", "URN,UKPRN,Name\n100000,,Ash\n");
    let unstored = place.run("partner import partners.csv");
    unstored.prints(
        1,
        "added      1\nchanged    0\nunchanged  0\nrefused    0\n",
    );
    unstored.ends(1, &["was not stored"]);
}

#[test]
fn sandbox_plays_the_registry() {
    let place = Workplace::new();
    let server = place.serve("--registry on --registry-delay 0");
    let id = create(&server, 1990);
    wait_until("the trainee has a number", || {
        read(&server, &id)["state"] == "trn_received"
    });
    assert!(read(&server, &id)["trn"].is_string());
    let audit = place.done(format!("audit {id}"));
    let acts = audit.matches("  sandbox registry  operator\n").count();
    assert_eq!(acts, 1, "{audit}");
}
