//! Clients that missed a reply and send their request again with its `Idempotency-Key` (contract,
//! section 6.5).

use std::sync::Barrier;
use std::thread;

use domain::{PlacementField, TraineeField as F};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Register, Response, every_version, record, run_cases};

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
fn repeated_request_is_answered_from_memory() {
    run_cases(include_str!("repeated.txt"));
}

#[test]
fn key_belongs_to_provider_for_a_day() {
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
