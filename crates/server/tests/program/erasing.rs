//! Erased trainees: what is left of them, what clients and operators see, and what is refused.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use adapter_kit::ApiVersion;
use serde_json::{Value, json};
use server::sandbox::demo;
use test_support::{Database, Kind};
use ureq::Agent;
use versions::SERVED;

use super::privacy::{BORN_ON, CANARY, Planter, assert_nothing_of_a_person, tables};
use super::support::{Ended, Server, Workplace, agent, execute, kinds, texts, wait_until};

pub(super) const GROUND: &str = "request of 1 March, case 17";

fn newest() -> &'static ApiVersion {
    versions::all().newest().unwrap().version
}

pub(super) fn path(rest: &str) -> String {
    format!("/api/{}{rest}", newest().label)
}

/// Registers the example of the newest version with another last name, and gives the identifier.
pub(super) fn register(server: &Server, last_name: &str) -> String {
    let (status, reply) = server.send(
        &agent(),
        "POST",
        &path("/trainees"),
        Some(&example(last_name)),
    );
    assert_eq!(status, 201, "{reply:#}");
    reply["data"]["trainee_id"].as_str().unwrap().to_owned()
}

pub(super) fn example(last_name: &str) -> Value {
    let mut body: Value = serde_json::from_str(&demo::example(newest())).unwrap();
    body["data"]["last_name"] = json!(last_name);
    body
}

/// The UKPRN of the provider of the demo.
pub(super) fn provider_of_demo(url: &str) -> String {
    texts(
        url,
        "SELECT ukprn AS text FROM providers WHERE id = (SELECT min(provider_id) FROM tokens)",
    )
    .remove(0)
}

/// The arguments of an erasure that needs no confirmation.
pub(super) fn erase<'a>(on: &[&'a str], provider: &'a str, ids: &[&'a str]) -> Vec<&'a str> {
    [
        &[
            "trainee",
            "erase",
            "--provider",
            provider,
            "--ground",
            GROUND,
            "--yes",
        ][..],
        on,
        ids,
    ]
    .concat()
}

pub(super) fn done(ended: Ended) -> String {
    assert_eq!(ended.status(), 0, "{}{}", ended.stdout(), ended.stderr());
    ended.stdout().to_owned()
}

pub(super) fn require_clean(place: &Workplace, on: &[&str]) {
    done(place.run(&[&["check"], on].concat(), None));
}

/// The changes behind a cursor, and the cursor behind them.
fn changes(server: &Server, agent: &Agent, after: Option<&str>) -> (Vec<Value>, String) {
    let query = after
        .map(|after| format!("&after={after}"))
        .unwrap_or_default();
    let (status, reply) = server.send(
        agent,
        "GET",
        &path(&format!("/changes?limit=500{query}")),
        None,
    );
    assert_eq!(status, 200, "{reply:#}");
    assert_eq!(reply["meta"]["has_more"], json!(false));
    (
        reply["data"].as_array().unwrap().clone(),
        reply["meta"]["after"].as_str().unwrap().to_owned(),
    )
}

/// Waits for one of the changes: they are shown when the transactions of other tests on the same
/// server have ended.
fn changes_until(
    server: &Server,
    agent: &Agent,
    after: Option<&str>,
    is_there: impl Fn(&Value) -> bool,
) -> (Vec<Value>, String) {
    let mut seen = (Vec::new(), String::new());
    wait_until("the change is shown", || {
        seen = changes(server, agent, after);
        seen.0.iter().any(&is_there)
    });
    seen
}

/// Looks through the files of a SQLite database, byte by byte.
pub(super) fn assert_nothing_in_files(url: &str) {
    let Some(database) = url.strip_prefix("sqlite://") else {
        return;
    };
    for ending in ["", "-wal", "-journal"] {
        let Ok(bytes) = fs::read(format!("{database}{ending}")) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        // Names of columns and tables show that the search would find something.
        assert!(
            !ending.is_empty() || text.contains("CREATE TABLE"),
            "the file cannot be read"
        );
        assert_nothing_of_a_person(&format!("the file {database}{ending}"), &text);
    }
}

#[test]
fn nothing_of_an_erased_person_is_left_in_the_database() {
    let place = Workplace::new();
    let server = Server::start(place.serve_command(&["--shadow-share", "100"]));
    let (agent, url) = (agent(), place.url());
    let innocent = register(&server, "Innocent");
    // The key of a request that was refused belongs to no trainee, and stays for 30 days.
    execute(&url, "UPDATE providers SET logs_record_keys = FALSE");
    for (number, version) in SERVED.iter().copied().enumerate() {
        Planter::with_keys(&server, &agent, version, &format!("V{number}")).plant_everywhere();
    }
    // Those that can be discarded come first.
    let others = format!(
        "SELECT trainee_id AS text FROM trainees WHERE trainee_id <> '{innocent}' \
         ORDER BY CASE state WHEN 'submitted_for_trn' THEN 0 ELSE 1 END, id"
    );
    let ids = texts(&url, &others);
    assert!(ids.len() > SERVED.len());
    done(place.apply("discard", &format!("trainee_id\n{}\n", ids[0]), &[]));
    let replies = "SELECT CAST(count(*) AS TEXT) AS text FROM replies";
    let of_person = format!(
        "{replies} WHERE lower(idempotency_key) LIKE '%{}%'",
        CANARY.to_lowercase()
    );
    let kept = texts(&url, replies);
    assert_eq!(
        texts(&url, &of_person),
        ["0"],
        "a key is kept as it was sent"
    );
    let held = |name: &str| {
        tables(&url)
            .iter()
            .any(|(table, rows)| table == name && rows.contains(CANARY))
    };
    assert!(
        ["trainees", "changes", "replies"].into_iter().all(held),
        "the person was not planted everywhere"
    );
    let (_, cursor) = changes_until(&server, &agent, None, |known| {
        known["trainee_id"] == json!(ids[1])
    });

    let provider = provider_of_demo(&url);
    let some: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut command = place.command(&erase(&[], &provider, &some), None);
    let erased = command.env("RUST_LOG", "trace").output().unwrap();
    let (printed, logged) = (
        String::from_utf8(erased.stdout).unwrap(),
        String::from_utf8(erased.stderr).unwrap(),
    );
    assert!(erased.status.success(), "{logged}");
    assert_nothing_of_a_person("what the command prints", &printed);
    assert_nothing_of_a_person("the log of the command", &logged);
    assert_eq!(
        printed
            .lines()
            .filter(|line| line.contains(": erased; history entries"))
            .count(),
        ids.len(),
        "{printed}"
    );

    // The server is still there, and so is its log beside the file.
    assert_nothing_in_files(&url);
    for (table, rows) in tables(&url) {
        assert_nothing_of_a_person(&format!("the table {table}"), &rows);
    }
    if !url.starts_with("sqlite:") {
        let statistics = texts(
            &url,
            "SELECT s::TEXT AS text FROM pg_stats s WHERE schemaname = current_schema()",
        );
        assert!(!statistics.is_empty());
        assert_nothing_of_a_person("the statistics", &statistics.join("\n"));
    }
    require_clean(&place, &[]);
    assert_ne!(kept, ["0"]);
    assert_eq!(texts(&url, replies), kept, "a used key is new again");

    let is_last =
        |change: &Value| change["trainee_id"] == json!(ids.last()) && change["trainee"].is_null();
    let (told, _) = changes_until(&server, &agent, Some(&cursor), is_last);
    for id in &ids {
        let told = told
            .iter()
            .find(|change| change["trainee_id"] == json!(id))
            .unwrap();
        assert!(
            told["removed_at"].is_string() && told["trainee"].is_null(),
            "{told:#}"
        );
        assert_eq!(
            server
                .send(&agent, "GET", &path(&format!("/trainees/{id}")), None)
                .0,
            404
        );
    }
    assert!(
        !told
            .iter()
            .any(|change| change["trainee_id"] == json!(innocent))
    );
    assert_eq!(
        server
            .send(&agent, "GET", &path(&format!("/trainees/{innocent}")), None)
            .0,
        200
    );
    // The provider may register the person again, in each version.
    for (number, version) in SERVED.iter().copied().enumerate() {
        drop(Planter::new(
            &server,
            &agent,
            version,
            &format!("V{number}"),
        ));
    }
    require_clean(&place, &[]);
    server.stop();
    let usage = tables(&url)
        .into_iter()
        .find(|(table, _)| table == "request_totals")
        .unwrap()
        .1;
    assert!(!usage.is_empty() && !usage.contains(BORN_ON));
}

#[test]
fn resent_request_does_not_register_an_erased_person_again() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let token = format!("Bearer {}", server.token());
        let send = |key: &str, body: &Value| {
            let json = ("Content-Type", "application/json");
            let headers = [
                ("Authorization", token.as_str()),
                json,
                ("Idempotency-Key", key),
            ];
            server.send_with(
                &agent(),
                "POST",
                &path("/trainees"),
                &headers,
                Some(&body.to_string()),
            )
        };
        let (_, created) = send("one", &example("Erased"));
        let (_, other) = send("other", &example("Other"));
        let id = created["data"]["trainee_id"].as_str().unwrap();
        assert_eq!(send("one", &example("Erased")).1, created, "{kind:?}");
        done(place.run(&erase(&on, &provider_of_demo(database.url()), &[id]), None));
        let unknown = server.send(&agent(), "GET", &path("/trainees/none"), None);
        assert_eq!(unknown.0, 404);
        assert_eq!(send("one", &example("Erased")), unknown, "{kind:?}");
        assert_eq!(
            server.send(&agent(), "GET", &path(&format!("/trainees/{id}")), None),
            unknown,
            "{kind:?}"
        );
        assert_eq!(send("other", &example("Other")), (201, other), "{kind:?}");
        let (status, again) = send("two", &example("Erased"));
        assert_eq!(status, 201, "{kind:?}: {again:#}");
        assert_ne!(again["data"]["trainee_id"], created["data"]["trainee_id"]);
    }
}

#[test]
fn an_erasure_is_confirmed_recorded_and_made_once() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let run = |arguments: &[&str]| place.run(&[arguments, &on].concat(), None);
        let id = register(&server, "Erased");
        let (same, stays) = (
            register(&server, "Samename"),
            register(&server, "Samename2"),
        );
        let provider = provider_of_demo(database.url());
        let asked = [
            "trainee",
            "erase",
            &id,
            "--provider",
            &provider,
            "--ground",
            GROUND,
            "--by",
            "A. Operator",
        ];
        let answered = |answer: &str| {
            let mut command = place.command(&[&asked[..], &on].concat(), None);
            let mut command = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            command
                .stdin
                .take()
                .unwrap()
                .write_all(answer.as_bytes())
                .unwrap();
            let ended = command.wait_with_output().unwrap();
            (
                ended.status.code(),
                String::from_utf8(ended.stdout).unwrap(),
                String::from_utf8(ended.stderr).unwrap(),
            )
        };
        for answer in ["", "yes\n", "\n"] {
            let (status, _, told) = answered(answer);
            assert!(
                status == Some(1) && told.contains("nothing was erased"),
                "{kind:?}: {told}"
            );
            // The same first names on the same day: who may be the same person is listed.
            assert!(
                told.contains(&format!("not erased: trainee {same} of")),
                "{kind:?}: {told}"
            );
            assert!(
                !told.contains("Example") && !told.contains("Erased"),
                "{told}"
            );
        }
        assert_eq!(
            server
                .send(&agent(), "GET", &path(&format!("/trainees/{id}")), None)
                .0,
            200
        );
        let (status, printed, told) = answered("erase\n");
        assert_eq!(
            (status, printed),
            (
                Some(0),
                format!("trainee {id}: erased; history entries removed: 1\n")
            ),
            "{told}"
        );
        for other in [&same, &stays] {
            assert_eq!(
                server
                    .send(&agent(), "GET", &path(&format!("/trainees/{other}")), None)
                    .0,
                200
            );
        }

        let audit = done(run(&["audit", &id]));
        let erased = texts(
            database.url(),
            "SELECT CAST(erased_at AS TEXT) AS text FROM erasures",
        )
        .remove(0);
        let lines: Vec<&str> = audit.lines().collect();
        assert_eq!(lines[0], format!("trainee {id} of provider {provider}"));
        assert!(
            lines[1].starts_with(&format!("erased {}", &erased[..10])),
            "{erased}: {audit}"
        );
        assert!(
            lines[1].ends_with(&format!(
                "by A. Operator: {GROUND}; history entries removed: 1"
            )),
            "{audit}"
        );
        assert!(
            lines[3].ends_with("  trainee erase  by A. Operator") && lines.len() == 4,
            "{audit}"
        );
        let listed = done(run(&[
            "trainee",
            "erasures",
            "--output",
            "csv",
            "--provider",
            &provider,
        ]));
        assert!(
            listed.contains(&format!("{id},{provider},")) && listed.contains(GROUND),
            "{listed}"
        );
        assert!(!done(run(&["trainee", "erasures", "--provider", "10000009"])).contains(&id));

        let again = done(place.run(&erase(&on, &provider, &[&id]), None));
        assert!(
            again.contains("no change: erased 2") && again.contains(" by A. Operator"),
            "{again}"
        );
        assert_eq!(
            done(run(&["audit", &id])),
            audit,
            "the second time changed something"
        );
        for action in ["discard", "undo-withdrawal", "award"] {
            let refused = place.apply(action, &format!("trainee_id\n{id}\n"), &on);
            assert_eq!(refused.status(), 1);
            assert!(
                refused.stdout().contains("the trainee was erased"),
                "{}",
                refused.stdout()
            );
        }
        require_clean(&place, &on);
    }
}

#[test]
fn other_providers_trainees_and_reasons_naming_the_person_are_rejected() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let id = register(&server, "Refused");
        let provider = provider_of_demo(database.url());
        done(
            place.run(
                &[
                    &[
                        "provider", "add", "--ukprn", "10067890", "--name", "Another",
                    ],
                    &on[..],
                ]
                .concat(),
                None,
            ),
        );
        let unknown = "the provider has no trainee with this identifier";
        for (provider, ids, refusal) in [
            ("10067890", vec![id.as_str()], unknown),
            ("10000009", vec![id.as_str()], unknown),
            (
                provider.as_str(),
                vec![id.as_str(), "3xampleTra1neeWh1sNotTh1"],
                unknown,
            ),
        ] {
            let refused = place.run(&erase(&on, provider, &ids), None);
            assert_eq!((refused.status(), refused.stdout()), (1, ""), "{kind:?}");
            assert!(refused.stderr().contains(refusal), "{}", refused.stderr());
        }
        let grounds = [
            ("asked by refused", "names the person"),
            ("", "1 to 500 characters"),
            ("a\nb", "on one line"),
        ];
        for (ground, refusal) in grounds {
            let asked = [
                "trainee",
                "erase",
                &id,
                "--provider",
                &provider,
                "--yes",
                "--ground",
                ground,
            ];
            let refused = place.run(&[&asked[..], &on].concat(), None);
            assert_ne!(refused.status(), 0, "{kind:?}");
            assert!(refused.stderr().contains(refusal), "{}", refused.stderr());
        }
        // All are looked at before the first is erased, also by what they were called before.
        let other = register(&server, "Formerly");
        let renamed = json!({ "data": { "last_name": "Newname" } });
        assert_eq!(
            server
                .send(
                    &agent(),
                    "PATCH",
                    &path(&format!("/trainees/{other}")),
                    Some(&renamed)
                )
                .0,
            200
        );
        for ground in ["asked by formerly", "asked by newname"] {
            let asked = [
                "trainee",
                "erase",
                &id,
                &other,
                "--provider",
                &provider,
                "--yes",
                "--ground",
                ground,
            ];
            let refused = place.run(&[&asked[..], &on].concat(), None);
            assert!(
                refused.stderr().contains("names the person"),
                "{kind:?}: {}",
                refused.stderr()
            );
        }
        assert_eq!(
            server
                .send(&agent(), "GET", &path(&format!("/trainees/{id}")), None)
                .0,
            200
        );
        assert_eq!(
            texts(database.url(), "SELECT trainee_id AS text FROM erasures"),
            [""; 0]
        );
    }
}

#[test]
fn updates_at_the_same_time_leave_nothing_behind() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let id = register(&server, "Busy");
        let provider = provider_of_demo(database.url());
        let begun = AtomicUsize::new(0);
        let update = |worker: usize| {
            let (agent, url) = (agent(), path(&format!("/trainees/{id}")));
            let mut accepted = 0_usize;
            loop {
                let body =
                    json!({ "data": { "last_name": format!("{CANARY}{worker}n{accepted}") } });
                match server.send(&agent, "PATCH", &url, Some(&body)).0 {
                    200 => {
                        accepted += 1;
                        begun.fetch_add(usize::from(accepted == 1), Ordering::Relaxed);
                    }
                    409 | 503 => {}
                    status => return (status, accepted),
                }
            }
        };
        thread::scope(|scope| {
            let update = &update;
            let workers: Vec<_> = (0..4)
                .map(|worker| scope.spawn(move || update(worker)))
                .collect();
            wait_until("all have changed the trainee", || {
                begun.load(Ordering::Relaxed) == workers.len()
                    || workers.iter().any(ScopedJoinHandle::is_finished)
            });
            done(place.run(&erase(&on, &provider, &[&id]), None));
            for worker in workers {
                let (status, accepted) = worker.join().unwrap();
                assert!(
                    status == 404 && accepted > 0,
                    "{kind:?}: {status} after {accepted}"
                );
            }
        });
        require_clean(&place, &on);
        for (table, rows) in tables(database.url()) {
            assert!(!rows.contains(CANARY), "{kind:?}: {table}");
        }
        assert_nothing_in_files(database.url());
    }
}

#[test]
fn a_tombstone_that_holds_anything_is_a_finding() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let (on, url) = (["--database-url", database.url()], database.url());
        let server = place.serve(&on, None);
        let ids: Vec<String> = (0..4)
            .map(|number| register(&server, &format!("Erased{number}")))
            .collect();
        drop(server);
        let provider = provider_of_demo(url);
        done(place.run(
            &erase(
                &on,
                &provider,
                &ids.iter().map(String::as_str).collect::<Vec<_>>(),
            ),
            None,
        ));
        require_clean(&place, &on);
        let of = |id: &str| format!("(SELECT id FROM trainees WHERE trainee_id = '{id}')");
        let set = match kind {
            Kind::Sqlite => "json_set(record, '$.extra', 'x')",
            Kind::Postgres => "(record::jsonb || '{\"extra\": \"x\"}')::json",
        };
        execute(
            url,
            &format!(
                "UPDATE trainees SET record = {set} WHERE trainee_id = '{}'",
                ids[0]
            ),
        );
        execute(
            url,
            &format!(
                "UPDATE changes SET fields = '{{\"email\":[\"x\",null]}}' WHERE trainee_key = {}",
                of(&ids[1])
            ),
        );
        execute(
            url,
            &format!("DELETE FROM erasures WHERE trainee_id = '{}'", ids[2]),
        );
        execute(
            url,
            &format!(
                "UPDATE trainees SET email_folded = 'x' WHERE trainee_id = '{}'",
                ids[3]
            ),
        );
        let checked = place.run(&[&["check"], &on[..]].concat(), None);
        assert_eq!(checked.status(), 1, "{kind:?}");
        for (id, finding) in ids.iter().zip([
            "was erased, but still has other data than its identifier",
            "was erased, but still has other data than its identifier",
            "is blank, but has no recorded erasure",
            "cannot be found by its values",
        ]) {
            assert!(
                checked
                    .stdout()
                    .contains(&format!("trainee {id}: {finding}\n")),
                "{kind:?}: {}",
                checked.stdout()
            );
        }
    }
}

/// A list of erasures, as a file.
fn list(place: &Workplace, on: &[&str]) -> std::path::PathBuf {
    let listed = done(place.run(
        &[&["trainee", "erasures", "--output", "csv"], on].concat(),
        None,
    ));
    place.write("erasures.csv", listed)
}

#[test]
fn data_restored_by_an_older_copy_is_erased_again() {
    for kind in kinds() {
        let (place, database, older) = (
            Workplace::on_sqlite(),
            Database::fresh_on(kind),
            Database::fresh_on(kind),
        );
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let (id, stays) = (register(&server, CANARY), register(&server, "Stays"));
        server.stop();
        done(place.run(
            &["copy", "--from", database.url(), "--to", older.url()],
            None,
        ));
        let server = place.serve(&on, None);
        let later = register(&server, "Later");
        server.stop();
        done(place.run(
            &erase(&on, &provider_of_demo(database.url()), &[&id, &later]),
            None,
        ));
        let file = list(&place, &on);

        let on_older = ["--database-url", older.url()];
        let again = |file: &Path| {
            place.run(
                &[
                    &["trainee", "erase", "--yes", "--by", "B. Operator"],
                    &on_older[..],
                    &["--again"],
                ]
                .concat(),
                Some(file),
            )
        };
        let printed = done(again(&file));
        assert_eq!(
            printed, "erased     1\nunchanged  1\nrefused    0\n",
            "{kind:?}"
        );
        assert_eq!(
            done(again(&file)),
            "erased     0\nunchanged  2\nrefused    0\n",
            "{kind:?}"
        );
        for (table, rows) in tables(older.url()) {
            assert!(
                !rows.to_lowercase().contains(&CANARY.to_lowercase()),
                "{kind:?}: {table}"
            );
        }
        require_clean(&place, &on_older);
        // The list is the same, with the first date.
        let columns = "SELECT trainee_id || ' ' || CAST(erased_at AS TEXT) || ' ' || erased_by AS text FROM erasures ORDER BY 1";
        assert_eq!(
            texts(older.url(), columns),
            texts(database.url(), columns),
            "{kind:?}"
        );
        let audit = done(place.run(&[&["audit", &id], &on_older[..]].concat(), None));
        assert!(audit.contains("trainee erase  by B. Operator"), "{audit}");
        assert!(
            done(place.run(&[&["audit", &later], &on_older[..]].concat(), None))
                .contains("\nerased ")
        );
        done(place.run(&[&["audit", &stays], &on_older[..]].concat(), None));

        let wrong = place.write(
            "wrong.csv",
            format!(
                "trainee_id,provider,erased_at,by,ground\n{stays},10000009,2026-03-01T00:00:00.000Z,A,case 1\n\
                 {stays},,2026-03-01T00:00:00.000Z,A,case 1\n{stays},10000009,yesterday,A,case 1\n"
            ),
        );
        let refused = again(&wrong);
        assert_eq!(refused.status(), 1);
        assert!(
            refused
                .stdout()
                .starts_with("erased     0\nunchanged  0\nrefused    3\n"),
            "{}",
            refused.stdout()
        );
    }
}
