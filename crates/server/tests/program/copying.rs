//! A register in the other database and back.
//!
//! `COPY_TRAINEES=100000 cargo test --release -p server --test program -- --nocapture
//! every_reply_is_unchanged` copies as many.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::thread;
use std::time::Instant;

use test_support::Kind;

use super::support::{DEMO, Server, Workplace, kinds};

/// Clients that read side by side.
const CLIENTS: usize = 4;

/// A SQLite register of the demo's provider.
fn seeded(trainees: &str) -> Workplace {
    let place = Workplace::on(Kind::Sqlite);
    place.done(format!("provider add --ukprn {DEMO} --name Demo"));
    place.done(format!(
        "sandbox seed --provider {DEMO} --trainees {trainees}"
    ));
    place
}

/// What the server answers for each trainee, as a digest of status and body.
fn answers(server: &Server, ids: &[String]) -> HashMap<String, u64> {
    let answer = |id: &String| {
        let (status, body) = server.get(&format!("/trainees/{id}"));
        assert_eq!(status, 200, "{body}");
        let mut hasher = DefaultHasher::new();
        body.to_string().hash(&mut hasher);
        (id.clone(), hasher.finish())
    };
    thread::scope(|scope| {
        let parts: Vec<_> = ids
            .chunks(ids.len().div_ceil(CLIENTS))
            .map(|part| scope.spawn(move || part.iter().map(answer).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

fn ids(place: &Workplace) -> Vec<String> {
    place.texts("SELECT trainee_id AS text FROM trainees ORDER BY id")
}

#[test]
fn every_reply_is_unchanged_after_copying() {
    let trainees = std::env::var("COPY_TRAINEES").unwrap_or_else(|_| "600".to_owned());
    let mut source = seeded(&trainees);
    let known = ids(&source);
    // Sequences of copies, each from the last one; the first is read where it is.
    let mut expected = None;
    for kind in kinds().into_iter().rev() {
        let target = Workplace::on(kind);
        let began = Instant::now();
        source.done(format!(
            "copy --from {} --to {}",
            source.url(),
            target.url()
        ));
        let count = known.len();
        eprintln!(
            "{count} trainees copied to {kind:?} in {:.1?}",
            began.elapsed()
        );
        assert_eq!(ids(&target), known);
        // A server issues a token at its start, so a database is served only when it has been
        // copied.
        let read = answers(&source.serve(""), &known);
        assert_eq!(read.len(), known.len());
        assert!(
            expected.get_or_insert_with(|| read.clone()) == &read,
            "the source of {kind:?} answers otherwise"
        );
        source = target;
    }
    source.done("check");
    let read = answers(&source.serve(""), &known);
    assert!(expected == Some(read), "the last copy answers otherwise");
}

/// SQL for a target that changes what it is given.
fn changing_trigger(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => {
            "CREATE TRIGGER other AFTER INSERT ON trainees WHEN NEW.id = 2 BEGIN
                 UPDATE trainees SET last_name_folded = 'Secret' WHERE id = 2; END"
        }
        Kind::Postgres => {
            "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN NEW.last_name_folded := ''Secret''; RETURN NEW; END';
             CREATE TRIGGER other BEFORE INSERT ON trainees FOR EACH ROW WHEN (NEW.id = 2)
                 EXECUTE FUNCTION other()"
        }
    }
}

#[test]
fn nonempty_target_and_differing_copy_are_reported() {
    for kind in kinds() {
        let (source, other, target) = (seeded("3"), Workplace::on(kind), Workplace::on(kind));
        let copy_to =
            |to: &Workplace| source.run(format!("copy --from {} --to {}", source.url(), to.url()));
        other.done("provider add --ukprn 10000001 --name Ashdown");
        copy_to(&other).refuses(&["not empty: table providers has 1 rows"]);

        target.done("migrate");
        target.execute(changing_trigger(kind));
        let copied = copy_to(&target);
        copied.ends(1, &["different rows: 1"]);
        let printed = copied.stdout();
        let difference = "table trainees, key 2: the row is not the same in both\n";
        assert!(printed.ends_with(difference), "{kind:?}: {printed}");
        // The copy is as unfinished as one that was interrupted.
        let served = target.run("serve --listen 127.0.0.1:0");
        served.ends(1, &["target of an unfinished copy"]);
        copy_to(&target).ends(1, &["begin again with an empty database"]);
    }
}
