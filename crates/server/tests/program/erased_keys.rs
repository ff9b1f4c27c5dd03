//! Idempotency keys that name a person: they stay used after the person was erased, and nothing of
//! the person stays in them.

use serde_json::{Value, json};
use test_support::Kind;

use super::erasing::erase;
use super::privacy::{CANARY, tables};
use super::support::{DEMO, Server, Workplace, example, kinds, path, texts};

/// Requests about a person, each with a key that has the person's name: the registration alone and
/// in a batch, a placement, a degree and a deferral.
fn send_named(server: &Server, trainee: &str) -> Vec<(u16, Value)> {
    let item = json!({
        "idempotency_key": format!("{CANARY}-item"), "data": example(&format!("{CANARY}-batch"))["data"],
    });
    let degree = json!({ "subject": "100485", "country": "FR", "non_uk_degree": "083", "graduation_year": 2019 });
    let of_trainee = |rest: &str| format!("/trainees/{trainee}/{rest}");
    [
        ("/trainees".to_owned(), example(CANARY)),
        ("/trainees/batch".to_owned(), json!([item])),
        (
            of_trainee("placements"),
            json!({ "data": { "name": "Oak School" } }),
        ),
        (of_trainee("degrees"), json!({ "data": degree })),
        (
            of_trainee("defer"),
            json!({ "data": { "defer_date": "2026-10-01" } }),
        ),
    ]
    .iter()
    .enumerate()
    .map(|(number, (rest, body))| {
        let key = format!("{CANARY}-{number}");
        let headers = [("Idempotency-Key", key.as_str())];
        server.send_with("POST", &path(rest), &headers, Some(&body.to_string()))
    })
    .collect()
}

/// All those requests are answered as those about an unknown trainee, and register no trainee.
fn assert_nothing_comes_back(server: Server, url: &str, trainee: &str) {
    let unknown = server.get("/trainees/none");
    assert_eq!(unknown.0, 404);
    assert_eq!(server.get(&format!("/trainees/{trainee}")), unknown);
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
        let rows = rows.to_lowercase();
        assert!(!rows.contains(&CANARY.to_lowercase()), "{table}");
    }
}

#[test]
fn erased_persons_key_stays_used_everywhere() {
    for kind in kinds() {
        let [place, copy] = [(); 2].map(|()| Workplace::on(kind));
        let url = place.url();
        let server = place.serve("");
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
        if kind == Kind::Sqlite {
            place.done("backup before.db");
        }
        place.done(erase(DEMO, &[id, item]));
        assert_nothing_comes_back(server, &url, id);
        assert_nothing_comes_back(place.serve(""), &url, id);
        place.done(format!("copy --from {url} --to {}", copy.url()));
        assert_nothing_comes_back(copy.serve(""), &copy.url(), id);
        if kind == Kind::Sqlite {
            place.done("restore --force before.db");
            assert_nothing_comes_back(place.serve(""), &url, id);
        }
    }
}
