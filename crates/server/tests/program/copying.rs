//! A register in the other database and back.
//!
//! `COPY_TRAINEES=100000 cargo test --release -p server --test program -- --nocapture
//! the_other_database` copies as many.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::thread;
use std::time::Instant;

use test_support::{Database, Kind, Process};

use super::support::{Server, Workplace, agent, execute, kinds, texts};

/// The provider of the demo, which a server serves without more ado.
const DEMO: &str = "10099999";
/// Clients that read side by side.
const CLIENTS: usize = 4;

fn trainees(default: usize) -> String {
    std::env::var("COPY_TRAINEES").unwrap_or_else(|_| default.to_string())
}

/// A SQLite register of the demo's provider.
fn seeded(place: &Workplace, trainees: &str) -> Database {
    let database = Database::fresh_on(Kind::Sqlite);
    let on = ["--database-url", database.url()];
    for command in [
        &["provider", "add", "--ukprn", DEMO, "--name", "Demo"][..],
        &[
            "sandbox",
            "seed",
            "--provider",
            DEMO,
            "--trainees",
            trainees,
        ],
    ] {
        let ended = place.run(&[command, &on[..]].concat(), None);
        assert_eq!(ended.status(), 0, "{}", ended.stderr());
    }
    database
}

/// What the server answers for each trainee, as a digest of status and body.
fn answers(server: &Server, ids: &[String]) -> HashMap<String, u64> {
    let path = format!(
        "/api/{}/trainees",
        versions::all().newest().unwrap().version.label
    );
    let read = |ids: &[String]| {
        let agent = agent();
        let answer = |id: &String| {
            let (status, body) = server.send(&agent, "GET", &format!("{path}/{id}"), None);
            assert_eq!(status, 200, "{body}");
            let mut hasher = DefaultHasher::new();
            body.to_string().hash(&mut hasher);
            (id.clone(), hasher.finish())
        };
        ids.iter().map(answer).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let parts: Vec<_> = ids
            .chunks(ids.len().div_ceil(CLIENTS))
            .map(|part| scope.spawn(|| read(part)))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

fn ids(url: &str) -> Vec<String> {
    texts(url, "SELECT trainee_id AS text FROM trainees ORDER BY id")
}

#[test]
fn every_reply_is_unchanged_after_copying_there_and_back() {
    let place = Workplace::on_sqlite();
    let mut source = seeded(&place, &trainees(600));
    let known = ids(source.url());
    // Sequences of copies, each from the last one; the first is read where it is.
    let mut expected = None;
    for kind in kinds().into_iter().rev() {
        let target = Database::fresh_on(kind);
        let began = Instant::now();
        let copied = place.run(
            &["copy", "--from", source.url(), "--to", target.url()],
            None,
        );
        assert_eq!(copied.status(), 0, "{}{}", copied.stdout(), copied.stderr());
        eprintln!(
            "{} trainees copied from {:?} to {kind:?} in {:.1?}",
            known.len(),
            source.kind(),
            began.elapsed()
        );
        assert_eq!(ids(target.url()), known);
        // A server issues a token at its start, so a database is served only when it has been
        // copied.
        let read = answers(
            &place.serve(&["--database-url", source.url()], None),
            &known,
        );
        assert_eq!(read.len(), known.len());
        assert!(
            expected.get_or_insert_with(|| read.clone()) == &read,
            "{:?} answers otherwise",
            source.kind()
        );
        source = target;
    }
    let checked = place.run(&["check", "--database-url", source.url()], None);
    assert_eq!(checked.status(), 0, "{}", checked.stdout());
    let read = answers(
        &place.serve(&["--database-url", source.url()], None),
        &known,
    );
    assert!(
        expected == Some(read),
        "{:?} answers otherwise",
        source.kind()
    );
}

/// What never comes to an end in a target, behind the trainee with that key.
fn stuck(kind: Kind, key: usize) -> String {
    match kind {
        Kind::Sqlite => format!(
            "CREATE TRIGGER stuck BEFORE INSERT ON trainees WHEN NEW.id > {key} BEGIN
                SELECT max(n) FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c);
             END"
        ),
        Kind::Postgres => format!(
            "CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(86400); RETURN NEW; END';
             CREATE TRIGGER stuck BEFORE INSERT ON trainees FOR EACH ROW WHEN (NEW.id > {key}) EXECUTE FUNCTION stuck()"
        ),
    }
}

#[test]
fn nothing_opens_the_target_of_a_copy_that_was_killed() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let source = seeded(&place, "1200");
        let target = Database::fresh_on(kind);
        let arguments = ["copy", "--from", source.url(), "--to", target.url()];
        assert_eq!(
            place
                .run(&["migrate", "--database-url", target.url()], None)
                .status(),
            0
        );
        execute(target.url(), &stuck(kind, 700));
        let mut copy = Process::start(&mut place.command(&arguments, None));
        let there = loop {
            let there = ids(target.url()).len();
            if there > 0 {
                break there;
            }
            assert!(!copy.has_ended(), "the copy has ended");
            thread::yield_now();
        };
        copy.kill();
        assert!(there <= 700, "{there}");

        let refused = place.run(
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--database-url",
                target.url(),
            ],
            None,
        );
        assert_eq!(refused.status(), 1);
        assert!(
            refused.stderr().contains("target of an unfinished copy"),
            "{}",
            refused.stderr()
        );
        let again = place.run(&arguments, None);
        assert_eq!(again.status(), 1);
        assert!(
            again
                .stderr()
                .contains("begin again with an empty database"),
            "{}",
            again.stderr()
        );
    }
}

#[test]
fn nonempty_target_and_differing_copy_are_reported() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let source = seeded(&place, "3");
        let target = Database::fresh_on(kind);
        let add = [
            "provider",
            "add",
            "--ukprn",
            "10000001",
            "--name",
            "Ashdown",
            "--database-url",
            target.url(),
        ];
        assert_eq!(place.run(&add, None).status(), 0);
        let arguments = ["copy", "--from", source.url(), "--to", target.url()];
        let refused = place.run(&arguments, None);
        assert_eq!((refused.status(), refused.stdout()), (1, ""));
        assert!(
            refused
                .stderr()
                .contains("not empty: table providers has 1 rows"),
            "{}",
            refused.stderr()
        );

        // A target that changes what it is given.
        let target = Database::fresh_on(kind);
        let arguments = ["copy", "--from", source.url(), "--to", target.url()];
        assert_eq!(
            place
                .run(&["migrate", "--database-url", target.url()], None)
                .status(),
            0
        );
        execute(
            target.url(),
            &match kind {
                Kind::Sqlite => "CREATE TRIGGER other AFTER INSERT ON trainees WHEN NEW.id = 2 BEGIN
                                 UPDATE trainees SET last_name_folded = 'Secret' WHERE id = 2; END"
                    .to_owned(),
                Kind::Postgres => "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS
                                 'BEGIN NEW.last_name_folded := ''Secret''; RETURN NEW; END';
                               CREATE TRIGGER other BEFORE INSERT ON trainees FOR EACH ROW WHEN (NEW.id = 2)
                                 EXECUTE FUNCTION other()"
                    .to_owned(),
            },
        );
        let copied = place.run(&arguments, None);
        assert_eq!(copied.status(), 1, "{kind:?}");
        assert!(
            copied
                .stdout()
                .ends_with("table trainees, key 2: the row is not the same in both\n"),
            "{}",
            copied.stdout()
        );
        assert!(
            copied.stderr().contains("different rows: 1"),
            "{}",
            copied.stderr()
        );
    }
}
