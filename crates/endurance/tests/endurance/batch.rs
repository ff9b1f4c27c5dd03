//! A server is killed in the middle of a batch, and the batch is sent again to the next one.

use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use domain::values::academic_year;
use fixtures::random::Random;
use serde_json::{Value, json};

use super::crash::check;
use super::deployment::Site;
use super::http::{Caller, Request};
use super::size::{seed, size};
use super::version_requests::{Manner, begun_on, id};

/// Items of a batch.
const ITEMS: usize = 200;
/// The longest time from the first record to the kill, in microseconds: not all are there by then.
const LONGEST_DELAY: usize = 40_000;

#[test]
fn batch_resent_after_kills_stores_each_item_once() {
    let (kills, seed, begun) = (size("BATCH_KILLS", 6), seed(), Instant::now());
    let random = Random::new(seed);
    let site = Site::new();
    let mut server = site.serve();
    let (manners, mut stored) = Manner::learn_all(&Caller::new(&site.token), &server.address);
    let mut carried_out_before = Vec::new();
    for kill in 0..kills {
        let manner = &manners[kill % manners.len()];
        let batch = manner.create_many(&format!("kill{kill}x"), ITEMS);
        let address = server.address.clone();
        thread::scope(|scope| {
            let sending = scope.spawn(|| Caller::new(&site.token).send(&address, &batch));
            let caller = Caller::new(&site.token);
            while count(&caller, manner, &address) == stored && !sending.is_finished() {}
            thread::sleep(Duration::from_micros(random.below(LONGEST_DELAY) as u64));
            server.kill();
        });
        server = site.serve();
        let caller = Caller::new(&site.token);
        let first = results(&caller, &server.address, &batch);
        carried_out_before.push(first.iter().filter(|result| is_replayed(result)).count());
        let again = results(&caller, &server.address, &batch);
        assert!(again.iter().all(is_replayed));
        assert_eq!(identifiers(&first), identifiers(&again));
        stored += ITEMS;
        assert_eq!(count(&caller, manner, &server.address), stored);
        for result in first.iter().step_by(ITEMS / 10) {
            let path = manner.path(Endpoint::ShowTrainee, id(&result["data"]), "");
            assert_eq!(
                caller.ask(&server.address, &Request::get(path)).json()["data"],
                result["data"]
            );
        }
    }
    server.stop();
    check(&site);
    eprintln!(
        "{:?}: items carried out before each kill: {carried_out_before:?}, {:.1} s",
        site.kind(),
        begun.elapsed().as_secs_f64()
    );
    let in_the_middle = |count: &usize| (1..ITEMS).contains(count);
    assert!(
        carried_out_before.iter().any(in_the_middle),
        "no batch was killed in the middle"
    );
}

/// The results of a batch with all items registered.
fn results(caller: &Caller, address: &str, batch: &Request) -> Vec<Value> {
    let reply = caller.ask(address, batch);
    assert_eq!(reply.status, 200, "{reply:?}");
    let Value::Array(results) = reply.json()["data"].take() else {
        panic!("no results: {reply:?}")
    };
    assert_eq!(results.len(), ITEMS);
    assert!(
        results.iter().all(|result| result["status"] == json!(201)),
        "{reply:?}"
    );
    results
}

fn is_replayed(result: &Value) -> bool {
    result["replayed"] == json!(true)
}

fn identifiers(results: &[Value]) -> Vec<&str> {
    results.iter().map(|result| id(&result["data"])).collect()
}

/// How many trainees there are.
fn count(caller: &Caller, manner: &Manner, address: &str) -> usize {
    let path = manner.path(Endpoint::ListTrainees, "", "");
    let list = Request::get(format!(
        "{path}?per_page=1&academic_cycle={}",
        academic_year::starting_year(begun_on())
    ));
    let count = caller.ask(address, &list).json()["meta"]["total_count"].as_u64();
    usize::try_from(count.unwrap()).unwrap()
}
