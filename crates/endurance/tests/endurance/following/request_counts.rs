//! How many requests a copy takes.

use adapter_kit::Endpoint;
use serde_json::json;

use super::super::http::{Caller, Request};
use super::super::race::Servers;
use super::super::size::size;
use super::super::version_requests::Manner;
use super::mirror::Mirror;

const UKPRN: &str = "10000001";
/// The most changes of a reply.
const LIMIT: usize = 500;
/// Records per request of a full copy.
const RECORDS_OF_A_REQUEST: usize = 400;
/// Trainees that change afterwards.
const CHANGED: usize = 20;

#[test]
fn a_copy_takes_one_request_for_400_records() {
    let servers = Servers::start();
    let caller = Caller::new(&servers.site.token);
    let (manners, _) = Manner::learn_all(&caller, servers.address(0));
    let manner = manners.last().unwrap();
    let trainees = size("COPIED_TRAINEES", 900).to_string();
    servers.site.run(&[
        "sandbox",
        "seed",
        "--provider",
        UKPRN,
        "--trainees",
        &trainees,
    ]);
    let created = caller
        .ask(servers.address(0), &manner.create_many("few", CHANGED))
        .json()["data"]
        .take();
    // Knows when the changes are shown.
    let mut other = Mirror::new(&servers, manner, LIMIT, 5);
    let mut wait_until_equal = || {
        let (register, _) = other.register();
        while other.trainees != register {
            other.follow();
        }
        register.len()
    };
    let records = wait_until_equal();
    let mut mirror = Mirror::new(&servers, manner, LIMIT, 0);
    mirror.follow();
    assert_eq!(mirror.trainees.len(), records);
    let of_copy = mirror.requests;
    for result in created.as_array().unwrap() {
        let path = manner.path(
            Endpoint::UpdateTrainee,
            result["data"]["trainee_id"].as_str().unwrap(),
            "",
        );
        let body = json!({ "data": { "middle_names": "Changed" } });
        assert_eq!(
            caller
                .ask(
                    servers.address(1),
                    &Request::with_body("PATCH", path, &body)
                )
                .status,
            200
        );
    }
    wait_until_equal();
    mirror.follow();
    assert!(mirror.differences(&mirror.register().0).is_empty());
    let incremental = mirror.requests - of_copy;
    eprintln!(
        "{:?}: a copy of {records} trainees in {of_copy} requests, {CHANGED} changes in {incremental}",
        servers.site.kind()
    );
    assert!(of_copy <= records / RECORDS_OF_A_REQUEST + 1);
    assert!(incremental <= 2);
    servers.stop();
}
