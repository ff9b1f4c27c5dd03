//! Erased trainees: what is left of them, what clients and operators see, and what is refused.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use serde_json::{Value, json};
use versions::SERVED;

use super::privacy::{BORN_ON, CANARY, Planter, assert_nothing_of_a_person, tables};
use super::support::{DEMO, Ended, Server, Workplace, kinds, wait_until};

pub(super) const GROUND: &str = "request of 1 March, case 17";

/// The command of an erasure that needs no confirmation.
pub(super) fn erase(provider: &str, ids: &[&str]) -> String {
    let ids = ids.join(" ");
    format!("trainee erase --provider {provider} --ground '{GROUND}' --yes {ids}")
}

/// The changes behind a cursor, and the cursor behind them.
fn changes(server: &Server, after: Option<&str>) -> (Vec<Value>, String) {
    let after = after.map_or_else(String::new, |after| format!("&after={after}"));
    let (status, reply) = server.get(&format!("/changes?limit=500{after}"));
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
    after: Option<&str>,
    is_there: impl Fn(&Value) -> bool,
) -> (Vec<Value>, String) {
    let mut seen = (Vec::new(), String::new());
    wait_until("the change is shown", || {
        seen = changes(server, after);
        seen.0.iter().any(&is_there)
    });
    seen
}

/// The status of the reply that shows a trainee.
fn shown(server: &Server, id: &str) -> u16 {
    server.get(&format!("/trainees/{id}")).0
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
fn nothing_of_an_erased_person_is_left() {
    let place = Workplace::new();
    let server = place.serve("--shadow-share 100");
    let url = place.url();
    let innocent = server.register("Innocent");
    // The key of a request that was refused belongs to no trainee, and stays for 30 days.
    place.execute("UPDATE providers SET logs_record_keys = FALSE");
    for (number, version) in SERVED.iter().copied().enumerate() {
        Planter::with_keys(&server, version, &format!("V{number}")).plant_everywhere();
    }
    // Those that can be discarded come first.
    let ids = place.texts(&format!(
        "SELECT trainee_id AS text FROM trainees WHERE trainee_id <> '{innocent}' \
         ORDER BY CASE state WHEN 'submitted_for_trn' THEN 0 ELSE 1 END, id"
    ));
    assert!(ids.len() > SERVED.len());
    let discarded = place.apply("discard", &format!("trainee_id\n{}\n", ids[0]), "");
    discarded.done();
    let replies = "SELECT CAST(count(*) AS TEXT) AS text FROM replies";
    let of_person = format!(
        "{replies} WHERE lower(idempotency_key) LIKE '%{}%'",
        CANARY.to_lowercase()
    );
    let kept = place.texts(replies);
    let named = place.texts(&of_person);
    assert_eq!(named, ["0"], "a key is kept as it was sent");
    let held = |name: &str| {
        let tables = tables(&url);
        tables
            .iter()
            .any(|(table, rows)| table == name && rows.contains(CANARY))
    };
    assert!(
        ["trainees", "changes", "replies"].into_iter().all(held),
        "the person was not planted everywhere"
    );
    let (_, cursor) = changes_until(&server, None, |known| known["trainee_id"] == json!(ids[1]));

    let some: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut command = place.command(erase(DEMO, &some));
    let erased = Ended(command.env("RUST_LOG", "trace").output().unwrap());
    assert_nothing_of_a_person("what the command prints", erased.stdout());
    assert_nothing_of_a_person("the log of the command", erased.stderr());
    let printed = erased.done();
    let count = printed.matches(": erased; history entries").count();
    assert_eq!(count, ids.len(), "{printed}");

    // The server is still there, and so is its log beside the file.
    assert_nothing_in_files(&url);
    for (table, rows) in tables(&url) {
        assert_nothing_of_a_person(&format!("the table {table}"), &rows);
    }
    if !url.starts_with("sqlite:") {
        let statistics = place
            .texts("SELECT s::TEXT AS text FROM pg_stats s WHERE schemaname = current_schema()");
        assert!(!statistics.is_empty());
        assert_nothing_of_a_person("the statistics", &statistics.join("\n"));
    }
    place.done("check");
    assert_ne!(kept, ["0"]);
    assert_eq!(place.texts(replies), kept, "a used key is new again");

    let is_last =
        |change: &Value| change["trainee_id"] == json!(ids.last()) && change["trainee"].is_null();
    let (told, _) = changes_until(&server, Some(&cursor), is_last);
    for id in &ids {
        let is_of_trainee = |change: &&Value| change["trainee_id"] == json!(id);
        let told = told.iter().find(is_of_trainee).unwrap();
        assert!(
            told["removed_at"].is_string() && told["trainee"].is_null(),
            "{told:#}"
        );
        assert_eq!(shown(&server, id), 404);
    }
    let is_innocent = |change: &Value| change["trainee_id"] == json!(innocent);
    assert!(!told.iter().any(is_innocent));
    assert_eq!(shown(&server, &innocent), 200);
    // The provider may register the person again, in each version.
    for (number, version) in SERVED.iter().copied().enumerate() {
        drop(Planter::new(&server, version, &format!("V{number}")));
    }
    place.done("check");
    server.stop();
    let mut tables = tables(&url).into_iter();
    let usage = tables
        .find(|(table, _)| table == "request_totals")
        .unwrap()
        .1;
    assert!(!usage.is_empty() && !usage.contains(BORN_ON));
}

/// Runs a command line, and answers its question.
fn run_with_answer(place: &Workplace, line: &str, answer: &str) -> Ended {
    let mut command = place.command(line);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(answer.as_bytes()).unwrap();
    drop(stdin);
    Ended(running.wait_with_output().unwrap())
}

#[test]
fn erasure_is_confirmed_recorded_and_made_once() {
    for kind in kinds() {
        let place = Workplace::on(kind);
        let server = place.serve("");
        let [id, same, stays] =
            ["Erased", "Samename", "Samename2"].map(|name| server.register(name));
        let line =
            format!("trainee erase {id} --provider {DEMO} --ground '{GROUND}' --by 'A. Operator'");
        // The same first names on the same day: who may be the same person is listed.
        let listed = format!("not erased: trainee {same} of");
        for answer in ["", "yes\n", "\n"] {
            let ended = run_with_answer(&place, &line, answer);
            ended.ends(1, &["nothing was erased", &listed]);
            let told = ended.stderr();
            assert!(
                !told.contains("Example") && !told.contains("Erased"),
                "{told}"
            );
        }
        assert_eq!(shown(&server, &id), 200);
        let erased = run_with_answer(&place, &line, "erase\n");
        erased.prints(
            0,
            &format!("trainee {id}: erased; history entries removed: 1\n"),
        );
        assert_eq!((shown(&server, &same), shown(&server, &stays)), (200, 200));

        let audit = place.done(format!("audit {id}"));
        let erased = place.texts("SELECT CAST(erased_at AS TEXT) AS text FROM erasures");
        let lines: Vec<&str> = audit.lines().collect();
        let date = format!("erased {}", &erased[0][..10]);
        let by = format!("by A. Operator: {GROUND}; history entries removed: 1");
        assert_eq!(lines[0], format!("trainee {id} of provider {DEMO}"));
        assert!(
            lines[1].starts_with(&date) && lines[1].ends_with(&by),
            "{audit}"
        );
        assert!(
            lines[3].ends_with("  trainee erase  by A. Operator"),
            "{audit}"
        );
        assert_eq!(lines.len(), 4, "{audit}");
        let listed = place.done(format!("trainee erasures --output csv --provider {DEMO}"));
        let row = format!("{id},{DEMO},");
        assert!(listed.contains(&row) && listed.contains(GROUND), "{listed}");
        let others = place.done("trainee erasures --provider 10000009");
        assert!(!others.contains(&id), "{others}");

        let again = place.done(erase(DEMO, &[&id]));
        assert!(
            again.contains("no change: erased 2") && again.contains(" by A. Operator"),
            "{again}"
        );
        assert_eq!(place.done(format!("audit {id}")), audit);
        for action in ["discard", "undo-withdrawal", "award"] {
            let refused = place.apply(action, &format!("trainee_id\n{id}\n"), "");
            let printed = refused.stdout();
            assert!(
                refused.status() == 1 && printed.contains("the trainee was erased"),
                "{printed}"
            );
        }
        place.done("check");
    }
}

#[test]
fn erasures_that_cannot_be_made_erase_nothing() {
    let place = Workplace::new();
    let server = place.serve("");
    // All are looked at before the first is erased, also by what they were called before.
    let [id, other] = ["Refused", "Formerly"].map(|name| server.register(name));
    assert_eq!(server.change(&other, "last_name", "Newname"), 200);
    place.done("provider add --ukprn 10067890 --name Another");
    let unknown = "the provider has no trainee with this identifier";
    let both = format!("{id} 3xampleTra1neeWh1sNotTh1");
    for (provider, ids) in [("10067890", &id), ("10000009", &id), (DEMO, &both)] {
        let refused = place.run(erase(provider, &[ids]));
        refused.ends(1, &[unknown]);
        assert_eq!(refused.stdout(), "");
    }
    for (status, ground, refusal) in [
        (1, "asked by refused", "names the person"),
        (1, "asked by formerly", "names the person"),
        (1, "asked by newname", "names the person"),
        (2, "", "1 to 500 characters"),
        (2, "a\nb", "on one line"),
    ] {
        let line =
            format!("trainee erase {id} {other} --provider {DEMO} --yes --ground '{ground}'");
        place.run(line).ends(status, &[refusal]);
    }
    assert_eq!(shown(&server, &id), 200);
    let erased = place.texts("SELECT trainee_id AS text FROM erasures");
    assert_eq!(erased, [""; 0]);
}

#[test]
fn concurrent_updates_leave_nothing_of_erased_person() {
    for kind in kinds() {
        let place = Workplace::on(kind);
        let server = place.serve("");
        let id = server.register("Busy");
        let begun = AtomicUsize::new(0);
        let update = |worker: usize| {
            let mut accepted = 0_usize;
            loop {
                let name = format!("{CANARY}{worker}n{accepted}");
                match server.change(&id, "last_name", &name) {
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
            place.done(erase(DEMO, &[&id]));
            for worker in workers {
                let (status, accepted) = worker.join().unwrap();
                assert!(
                    status == 404 && accepted > 0,
                    "{kind:?}: {status} after {accepted}"
                );
            }
        });
        place.done("check");
        for (table, rows) in tables(&place.url()) {
            assert!(!rows.contains(CANARY), "{kind:?}: {table}");
        }
        assert_nothing_in_files(&place.url());
    }
}

#[test]
fn restored_data_is_erased_again() {
    for kind in kinds() {
        let [place, older] = [(); 2].map(|()| Workplace::on(kind));
        let server = place.serve("");
        let [id, stays] = [CANARY, "Stays"].map(|name| server.register(name));
        server.stop();
        place.done(format!("copy --from {} --to {}", place.url(), older.url()));
        let server = place.serve("");
        let later = server.register("Later");
        server.stop();
        place.done(erase(DEMO, &[&id, &later]));
        older.write("erasures.csv", place.done("trainee erasures --output csv"));

        let again = |file: &str| {
            older.run(format!(
                "trainee erase --yes --by 'B. Operator' --again {file}"
            ))
        };
        again("erasures.csv").prints(0, "erased     1\nunchanged  1\nrefused    0\n");
        again("erasures.csv").prints(0, "erased     0\nunchanged  2\nrefused    0\n");
        for (table, rows) in tables(&older.url()) {
            let rows = rows.to_lowercase();
            assert!(!rows.contains(&CANARY.to_lowercase()), "{kind:?}: {table}");
        }
        older.done("check");
        // The list is the same, with the first date.
        let columns = "SELECT trainee_id || ' ' || CAST(erased_at AS TEXT) || ' ' || erased_by AS text FROM erasures ORDER BY 1";
        assert_eq!(older.texts(columns), place.texts(columns), "{kind:?}");
        let audit = |id: &str| older.done(format!("audit {id}"));
        let of_erased = audit(&id);
        assert!(
            of_erased.contains("trainee erase  by B. Operator"),
            "{of_erased}"
        );
        assert!(audit(&later).contains("\nerased "));
        assert!(!audit(&stays).contains("\nerased "));

        older.write(
            "wrong.csv",
            format!(
                "trainee_id,provider,erased_at,by,ground\n{stays},10000009,2026-03-01T00:00:00.000Z,A,case 1\n\
                 {stays},,2026-03-01T00:00:00.000Z,A,case 1\n{stays},10000009,yesterday,A,case 1\n"
            ),
        );
        let refused = again("wrong.csv");
        let printed = refused.stdout();
        let expected = "erased     0\nunchanged  0\nrefused    3\n";
        assert!(
            refused.status() == 1 && printed.starts_with(expected),
            "{printed}"
        );
    }
}
