//! The history of past months is removed, and the register stays sound.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};
use server::sandbox::demo;
use test_support::Database;

use super::support::{Ended, Server, Workplace, agent, execute, kinds, texts};

/// The command, and what it printed, when it did what it was asked.
fn done(place: &Workplace, arguments: &[&str]) -> Ended {
    let ended = place.run(arguments, None);
    assert_eq!(
        ended.status(),
        0,
        "{arguments:?}: {}{}",
        ended.stdout(),
        ended.stderr()
    );
    ended
}

/// A register on a database of a kind.
fn place_on(kind: test_support::Kind) -> Workplace {
    let mut place = Workplace::on_sqlite();
    place.use_database(Database::fresh_on(kind));
    place
}

/// The path of the trainees in the newest version.
fn trainees() -> String {
    format!(
        "/api/{}/trainees",
        versions::all().newest().unwrap().version.label
    )
}

/// Registers a trainee in January 2024, changes it today, and returns its identifier.
fn register_in_2024(place: &Workplace, server: &Server) -> String {
    let body: Value =
        serde_json::from_str(&demo::example(versions::all().newest().unwrap().version)).unwrap();
    let (status, created) = server.send(&agent(), "POST", &trainees(), Some(&body));
    assert_eq!(status, 201, "{created}");
    let id = created["data"]["trainee_id"].as_str().unwrap().to_owned();
    assert_eq!(rename(server, &id, "Newname"), 200);
    let created_at = match place.url().starts_with("sqlite:") {
        true => "json_set(record, '$.created_at', '2024-01-31T12:00:00.000Z')",
        false => {
            "jsonb_set(record::jsonb, '{created_at}', '\"2024-01-31T12:00:00.000Z\"'::jsonb)::json"
        }
    };
    execute(
        &place.url(),
        &format!(
            "UPDATE changes SET changed_at = '2024-01-31 12:00:00' WHERE id = (SELECT min(id) FROM changes WHERE {of});
             UPDATE trainees SET record = {created_at}, created_at = '2024-01-31 12:00:00' WHERE trainee_id = '{id}'",
            of = entries_condition(&id)
        ),
    );
    id
}

/// Changes the last name of a trainee: the status of the reply.
fn rename(server: &Server, id: &str, last_name: &str) -> u16 {
    let change = json!({ "data": { "last_name": last_name } });
    server
        .send(
            &agent(),
            "PATCH",
            &format!("{}/{id}", trainees()),
            Some(&change),
        )
        .0
}

/// The condition for the entries of a trainee.
fn entries_condition(id: &str) -> String {
    format!("trainee_key = (SELECT id FROM trainees WHERE trainee_id = '{id}')")
}

/// How many entries a trainee has.
fn entries(place: &Workplace, id: &str) -> usize {
    texts(
        &place.url(),
        &format!(
            "SELECT operation AS text FROM changes WHERE {}",
            entries_condition(id)
        ),
    )
    .len()
}

#[test]
fn removed_history_is_named_by_audit_and_accepted_by_check() {
    for kind in kinds() {
        let place = place_on(kind);
        let server = place.serve(&[], None);
        let id = register_in_2024(&place, &server);
        server.stop();
        let whole = done(&place, &["audit", &id]).stdout().to_owned();
        assert!(!whole.contains("were removed"), "{whole}");

        let removed = done(&place, &["history", "remove", "--before", "2024-02"]);
        assert_eq!(
            removed.stdout(),
            "history before 2024-02-01 removed; entries: 1\n"
        );
        assert_eq!(entries(&place, &id), 1);
        for month in ["2024-02", "2023-12"] {
            let repeated = done(&place, &["history", "remove", "--before", month]);
            let expected = format!("nothing to remove: there is no history before {month}-01\n");
            assert_eq!(repeated.stdout(), expected);
        }

        let left = done(&place, &["audit", &id]);
        assert!(
            left.stdout()
                .contains("\nentries before 2024-02-01 were removed\n"),
            "{}",
            left.stdout()
        );
        assert!(
            left.stdout().contains("\"Example\" -> \"Newname\""),
            "{}",
            left.stdout()
        );
        let checked = done(&place, &["check"]);
        assert!(
            checked
                .stderr()
                .contains("history before 2024-02-01 was removed"),
            "{}",
            checked.stderr()
        );

        // A copy names the gap too.
        let copy = Database::fresh_on(kind);
        done(
            &place,
            &["copy", "--from", &place.url(), "--to", copy.url()],
        );
        let audited = done(&place, &["audit", &id, "--database-url", copy.url()]);
        assert_eq!(audited.stdout(), left.stdout());

        let damage = "UPDATE changes SET fields = '{\"last_name\":[\"Example\",\"Secret\"]}'";
        execute(
            &place.url(),
            &format!("{damage} WHERE {}", entries_condition(&id)),
        );
        let checked = place.run(&["check"], None);
        assert_eq!(checked.status(), 1, "{kind:?}");
        assert!(
            checked
                .stdout()
                .contains(&format!("trainee {id}: does not match its history\n"))
        );
    }
}

#[test]
fn unfinished_months_are_rejected_with_the_option_name() {
    for kind in kinds() {
        let place = place_on(kind);
        let server = place.serve(&[], None);
        let id = register_in_2024(&place, &server);
        // Until a month has been over for an hour, it counts as the present one.
        let next = (Utc::now() + TimeDelta::days(32))
            .format("%Y-%m")
            .to_string();
        for month in [&*next, "2999-01"] {
            let refused = place.run(&["history", "remove", "--before", month], None);
            assert_eq!((refused.status(), refused.stdout()), (2, ""), "{month}");
            let told = refused.stderr();
            assert!(
                told.contains(&format!("invalid value '{month}' for '--before <YYYY-MM>'")),
                "{told}"
            );
            assert!(told.contains(" is not over"), "{told}");
        }
        assert_eq!(entries(&place, &id), 2);
    }
}

#[test]
fn server_writes_while_history_is_removed() {
    for kind in kinds() {
        let place = place_on(kind);
        let server = place.serve(&[], None);
        let id = register_in_2024(&place, &server);
        let is_over = AtomicBool::new(false);
        let month = (Utc::now() - TimeDelta::hours(2))
            .format("%Y-%m")
            .to_string();
        let statuses = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let names = ["Ash", "Beech"]
                    .into_iter()
                    .cycle()
                    .take_while(|_| !is_over.load(Ordering::SeqCst));
                names
                    .map(|name| rename(&server, &id, name))
                    .collect::<Vec<_>>()
            });
            let removed = place.run(&["history", "remove", "--before", &month], None);
            is_over.store(true, Ordering::SeqCst);
            assert_eq!(removed.status(), 0, "{kind:?}: {}", removed.stderr());
            writer.join().unwrap()
        });
        assert!(
            !statuses.is_empty() && statuses.iter().all(|status| *status == 200),
            "{kind:?}: {statuses:?}"
        );
        assert_eq!(entries(&place, &id), 1 + statuses.len());
        assert_eq!(rename(&server, &id, "Cedar"), 200);
        done(&place, &["check"]);
    }
}
