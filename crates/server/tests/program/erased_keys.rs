//! Idempotency keys that name a person: they stay used after the person was erased, and nothing of
//! the person stays in them.

use serde_json::{Value, json};
use test_support::{Database, Kind};

use super::erasing::{done, erase, example, path, provider_of_demo};
use super::privacy::{CANARY, tables};
use super::support::{Server, Workplace, agent, kinds, texts};

/// Requests about a person, each with a key that has the person's name: the registration alone and
/// in a batch, a placement, a degree and a deferral.
fn send_named(server: &Server, trainee: &str) -> Vec<(u16, Value)> {
    let key = |what: &str| format!("{CANARY}-{what}");
    let token = format!("Bearer {}", server.token());
    let send = |what: &str, path_of_request: &str, body: Value| {
        let (key, json) = (key(what), ("Content-Type", "application/json"));
        let headers = [
            ("Authorization", token.as_str()),
            json,
            ("Idempotency-Key", key.as_str()),
        ];
        server.send_with(
            &agent(),
            "POST",
            &path(path_of_request),
            &headers,
            Some(&body.to_string()),
        )
    };
    let item = json!({ "idempotency_key": key("item"), "data": example(&format!("{CANARY}-batch"))["data"] });
    let degree = json!({ "subject": "100485", "country": "FR", "non_uk_degree": "083", "graduation_year": 2019 });
    vec![
        send("trainee", "/trainees", example(CANARY)),
        send("batch", "/trainees/batch", json!([item])),
        send(
            "placement",
            &format!("/trainees/{trainee}/placements"),
            json!({ "data": { "name": "Oak School" } }),
        ),
        send(
            "degree",
            &format!("/trainees/{trainee}/degrees"),
            json!({ "data": degree }),
        ),
        send(
            "defer",
            &format!("/trainees/{trainee}/defer"),
            json!({ "data": { "defer_date": "2026-10-01" } }),
        ),
    ]
}

/// All those requests are answered as those about an unknown trainee, and register no trainee.
fn assert_nothing_comes_back(server: Server, url: &str, trainee: &str) {
    let unknown = server.send(&agent(), "GET", &path("/trainees/none"), None);
    assert_eq!(unknown.0, 404);
    let trainees = || texts(url, "SELECT CAST(count(*) AS TEXT) AS text FROM trainees");
    let before = trainees();
    for reply in send_named(&server, trainee) {
        match reply.1.pointer("/data/0") {
            Some(item) => assert_eq!(
                (&item["status"], &item["errors"]),
                (&json!(404), &unknown.1["errors"])
            ),
            None => assert_eq!(reply, unknown),
        }
    }
    assert_eq!(trainees(), before);
    server.stop();
    for (table, rows) in tables(url) {
        assert!(
            !rows.to_lowercase().contains(&CANARY.to_lowercase()),
            "{table}"
        );
    }
}

#[test]
fn erased_persons_key_stays_used_in_copies_and_backups() {
    for kind in kinds() {
        let (place, database, copy) = (
            Workplace::on_sqlite(),
            Database::fresh_on(kind),
            Database::fresh_on(kind),
        );
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let (status, created) = send_named(&server, "none").remove(0);
        assert_eq!(status, 201, "{kind:?}: {created:#}");
        let id = created["data"]["trainee_id"].as_str().unwrap();
        let replies = send_named(&server, id);
        assert!(
            replies
                .iter()
                .all(|(status, _)| [200, 201].contains(status)),
            "{kind:?}: {replies:#?}"
        );
        let item = replies[1].1["data"][0]["data"]["trainee_id"]
            .as_str()
            .unwrap();
        let before = place.path("before.db");
        if kind == Kind::Sqlite {
            done(place.run(&[&["backup"], &on[..]].concat(), Some(&before)));
        }
        done(place.run(
            &erase(&on, &provider_of_demo(database.url()), &[id, item]),
            None,
        ));
        assert_nothing_comes_back(server, database.url(), id);
        assert_nothing_comes_back(place.serve(&on, None), database.url(), id);
        done(place.run(
            &["copy", "--from", database.url(), "--to", copy.url()],
            None,
        ));
        assert_nothing_comes_back(
            place.serve(&["--database-url", copy.url()], None),
            copy.url(),
            id,
        );
        if kind == Kind::Sqlite {
            done(place.run(&[&["restore", "--force"], &on[..]].concat(), Some(&before)));
            assert_nothing_comes_back(place.serve(&on, None), database.url(), id);
        }
    }
}
