//! Clients that missed a reply and send their request again with its `Idempotency-Key` (contract,
//! section 6.5).

use std::sync::Barrier;
use std::thread;

use domain::{PlacementField, TraineeField as F};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, Response, every_version, record};

const KEY: &str = "9f2c1e34-0001";
const CLIENTS: usize = 16;

fn send_with_key(api: &Api<'_>, key: &str, path: &str, body: impl Into<Value>) -> Response {
    api.request("POST", path)
        .header("Idempotency-Key", key)
        .json(body)
        .send()
}

fn placement(api: &Api<'_>, name: &str) -> Value {
    json!({ "data": record::<domain::Placement>(api.version, &[(PlacementField::name, name)]) })
}

#[track_caller]
fn is_replayed(again: &Response, first: &Response) {
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    for name in ["etag", "warning", "content-type", "link"] {
        assert_eq!(again.headers.get(name), first.headers.get(name), "{name}");
    }
}

#[test]
fn repeated_post_runs_once_and_is_answered_each_time() {
    every_version(|api| {
        let body = Value::from(api.example().with_key("frist_names", "x"));
        let first = send_with_key(api, KEY, "/trainees", body.clone()).is(201);
        assert_eq!(first.warnings().len(), 1);
        is_replayed(&send_with_key(api, KEY, "/trainees", body.clone()), &first);
        // Without the key it is the duplicate that it is.
        api.send("POST", "/trainees", body).is(409);
        let path = api.shown(&first).path();
        let degree = json!({ "data": { "subject": "100485", "country": "FR", "non_uk_degree": "083", "graduation_year": 2019 } });
        let cases: [(&str, String, Value, u16); 4] = [
            (
                "placement",
                format!("{path}/placements"),
                placement(api, "Oak School"),
                201,
            ),
            ("degree", format!("{path}/degrees"), degree, 201),
            (
                "deferral",
                format!("{path}/defer"),
                json!({ "data": { "defer_date": "2026-10-01" } }),
                200,
            ),
            (
                "withdrawal",
                format!("{path}/withdraw"),
                Body::withdrawal(api.version).into(),
                200,
            ),
        ];
        for (key, path_of_case, body, status) in cases {
            let first = send_with_key(api, key, &path_of_case, body.clone()).is(status);
            let record = api.get(&path).body;
            is_replayed(&send_with_key(api, key, &path_of_case, body), &first);
            assert_eq!(api.get(&path).body, record, "{key}");
        }
    });
}

#[test]
fn a_key_is_for_one_request() {
    every_version(|api| {
        let first = send_with_key(api, KEY, "/trainees", api.example()).is(201);
        let path = api.shown(&first).path();
        let other = api.example().with(F::last_name, "Other");
        let refused = send_with_key(api, KEY, "/trainees", other);
        assert!(
            refused
                .error(422, "UnprocessableEntity")
                .contains("Idempotency-Key")
        );
        // A reused key is told before anything else about the request.
        send_with_key(
            api,
            KEY,
            &format!("{path}/placements"),
            placement(api, "Oak School"),
        )
        .is(422);
        send_with_key(api, KEY, "/trainees/none/defer", json!({})).is(422);
        let elsewhere = api.in_version(
            SERVED
                .iter()
                .copied()
                .find(|other| other.label != api.version.label)
                .unwrap(),
        );
        send_with_key(&elsewhere, KEY, "/trainees", elsewhere.example()).is(422);
        // Other methods can be sent again without a key, and pass over it.
        let update = Body::new(api.version).with(F::last_name, "Other");
        api.request("PATCH", &path)
            .header("Idempotency-Key", KEY)
            .json(update)
            .send()
            .is(200);
    });
}

#[test]
fn rejected_request_is_accepted_when_corrected_under_its_key() {
    every_version(|api| {
        send_with_key(
            api,
            KEY,
            "/trainees",
            api.example().with(F::email, "unknown"),
        )
        .is(422);
        send_with_key(api, KEY, "/trainees", api.example()).is(201);
        send_with_key(api, "another", "/trainees", api.example()).is(409);
        let corrected = api
            .example()
            .with(F::last_name, "Corrected")
            .with(F::email, "corrected@example.com");
        send_with_key(api, "another", "/trainees", corrected).is(201);
    });
}

#[test]
fn a_key_belongs_to_its_provider_for_a_day() {
    every_version(|api| {
        let first = send_with_key(api, KEY, "/trainees", api.example()).is(201);
        let other = api.register.other_provider(api.version);
        let theirs = send_with_key(&other, KEY, "/trainees", other.example()).is(201);
        assert_eq!(theirs.header("idempotent-replayed"), None);
        assert_ne!(theirs.data()["trainee_id"], first.data()["trainee_id"]);
        api.register.clock.set("2026-10-06T08:59:00Z");
        is_replayed(&send_with_key(api, KEY, "/trainees", api.example()), &first);
        api.register.clock.set("2026-10-06T09:01:00Z");
        send_with_key(api, KEY, "/trainees", api.example()).is(409);
    });
}

#[test]
fn what_is_no_key_is_refused() {
    every_version(|api| {
        for key in ["", " ", "a b", &"k".repeat(256)] {
            let message = send_with_key(api, key, "/trainees", api.example())
                .error(422, "UnprocessableEntity")
                .to_owned();
            assert!(message.starts_with("Idempotency-Key "), "{message}");
        }
        send_with_key(api, &"k".repeat(255), "/trainees", api.example()).is(201);
        // A client without a token learns nothing about keys.
        let unknown = api
            .request("POST", "/trainees")
            .header("Authorization", "Bearer none");
        unknown
            .header("Idempotency-Key", "")
            .json(api.example())
            .send()
            .is(401);
    });
}

#[test]
fn dry_run_does_not_use_its_key() {
    every_version(|api| {
        let tried = api
            .request("POST", "/trainees")
            .header("Idempotency-Key", KEY)
            .header("Prefer", "validate-only");
        tried.json(api.example()).send().is(201);
        let first = send_with_key(api, KEY, "/trainees", api.example()).is(201);
        assert_eq!(first.header("idempotent-replayed"), None);
    });
}

#[test]
fn concurrent_requests_with_same_key_run_once() {
    let register = Register::start();
    for (round, version) in SERVED.iter().enumerate() {
        let api = register.api(version);
        let path = api
            .create(api.example().with(F::last_name, format!("Round {round}")))
            .path();
        let key = format!("round {round}").replace(' ', "-");
        let together = Barrier::new(CLIENTS);
        let replies: Vec<Response> = thread::scope(|scope| {
            let send = || {
                let api = register.api(version);
                let request = api
                    .request("POST", &format!("{path}/placements"))
                    .header("Idempotency-Key", &key);
                let request = request.json(placement(&api, "Oak School"));
                together.wait();
                request.send()
            };
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(send)).collect();
            clients
                .into_iter()
                .map(|client| client.join().unwrap())
                .collect()
        });
        let (answered, refused): (Vec<_>, Vec<_>) =
            replies.into_iter().partition(|reply| reply.status == 201);
        assert!(
            refused
                .iter()
                .all(|reply| reply.error(409, "Conflict").contains("Idempotency-Key"))
        );
        let first = answered
            .iter()
            .find(|reply| reply.header("idempotent-replayed").is_none())
            .unwrap();
        assert!(answered.iter().all(|reply| reply.body == first.body));
        let listed = api.get(&format!("{path}/placements")).is(200);
        let made = listed
            .data()
            .as_array()
            .unwrap()
            .iter()
            .filter(|placement| placement["name"] == "Oak School")
            .count();
        assert_eq!(made, 1);
    }
}
