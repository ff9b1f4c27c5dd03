//! Histories of requests that overlap, on a few records and through all servers, compared with the
//! sequential model.
//!
//! Reads count too: on PostgreSQL a read through one server must see what another has acknowledged.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use adapter_kit::Endpoint;
use fixtures::random::Random;
use serde_json::{Value, json};

use super::deployment::Servers;
use super::http::{Caller, Reply, Request as HttpRequest};
use super::linearizability::{Timed, is_linearisable};
use super::model::{FIELDS, Request, Shown};
use super::size::{seed, size};
use super::version_requests::{Manner, Person, id};

/// Clients that work at once.
const CLIENTS: usize = 6;
/// Records that they work on.
const RECORDS: usize = 3;
/// Requests that each client sends once the records are there.
const REQUESTS: usize = 18;
/// Years of the degrees that clients add: so few that they often meet.
const YEARS: usize = 4;

/// A client and what it has seen of one record.
struct Worker<'a> {
    caller: &'a Caller,
    address: &'a str,
    manner: &'a Manner,
    random: &'a Random,
    name: String,
}

/// A record as a client last saw it.
struct Seen {
    id: String,
    placements: Vec<String>,
    tag: Option<String>,
}

#[test]
fn overlapping_requests_are_answered_as_if_sequential() {
    let (histories, seed, begun) = (size("HISTORIES", 12), seed(), Instant::now());
    let servers = Servers::start();
    let callers: Vec<_> = (0..CLIENTS)
        .map(|_| Caller::new(&servers.site.token))
        .collect();
    let (manners, _) = Manner::learn_all(&callers[0], servers.address(0));
    let (mut judged, mut requests) = (0, 0);
    for number in 0..histories {
        let manner = &manners[number % manners.len()];
        let ready = Barrier::new(CLIENTS);
        let (ready, servers, callers) = (&ready, &servers, &callers);
        let lives: Vec<_> = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    scope.spawn(move || {
                        let random = &Random::new(seed ^ (number * CLIENTS + client) as u64);
                        let name = format!("{number}-{client}");
                        let (caller, address) = (&callers[client], servers.address(client));
                        ready.wait();
                        Worker {
                            caller,
                            address,
                            manner,
                            random,
                            name,
                        }
                        .live(number)
                    })
                })
                .collect();
            clients
                .into_iter()
                .flat_map(|client| client.join().unwrap())
                .collect()
        });
        for record in 0..RECORDS {
            let of_record = lives
                .iter()
                .filter(|(other, _)| *other == record)
                .map(|(_, timed)| timed.clone());
            let mut history: Vec<_> = of_record.collect();
            history.sort_by_key(|timed| timed.begun);
            assert!(
                is_linearisable(&None, &history),
                "history {number}, record {record}: {history:#?}"
            );
            judged += 1;
            requests += history.len();
        }
    }
    let (kind, seconds) = (servers.site.kind(), begun.elapsed().as_secs_f64());
    eprintln!(
        "{kind:?}: {judged} histories of {requests} requests can be put into an order, {seconds:.1} s"
    );
    servers.stop();
}

impl Worker<'_> {
    /// Registers each record, as all others do, and then does anything to any of them.
    fn live(&self, number: usize) -> Vec<(usize, Timed<Request>)> {
        let mut done = Vec::new();
        let mut known: Vec<Seen> = (0..RECORDS)
            .map(|record| {
                let person = Person::new("History", number * RECORDS + record);
                let (reply, timed) = self.send(&self.manner.create(&person));
                let is_first = reply.status == 201;
                assert!(is_first || reply.status == 409, "{reply:?}");
                let mut data = reply.json()["data"].take();
                let shown = if is_first { data } else { the_only(&mut data) };
                let seen = Shown::from_record(&shown, reply.etag);
                let known = Seen {
                    id: id(&shown).to_owned(),
                    placements: seen.placements.clone(),
                    tag: seen.tag.clone(),
                };
                done.push((
                    record,
                    timed(Request::Register {
                        is_first,
                        shown: seen,
                    }),
                ));
                known
            })
            .collect();
        for step in 0..REQUESTS {
            let record = self.random.below(RECORDS);
            done.push((record, self.step(&mut known[record], step)));
        }
        done
    }

    fn step(&self, known: &mut Seen, step: usize) -> Timed<Request> {
        let field = self.random.below(FIELDS.len());
        let value = format!("{}-{step}", self.name);
        let update = || {
            let path = self.manner.path(Endpoint::UpdateTrainee, &known.id, "");
            HttpRequest::with_body("PATCH", path, &json!({ "data": { FIELDS[field]: value } }))
        };
        let placement = self.random.pick(&known.placements).cloned();
        match (self.random.below(12), placement, known.tag.clone()) {
            (0..3, _, _) => {
                let (reply, timed) = self.send(&update());
                let shown = known.see(&reply);
                timed(Request::Update {
                    field,
                    value,
                    shown,
                })
            }
            (3..6, _, Some(tag)) => {
                let (reply, timed) = self.send(&update().with("If-Match", tag.as_str()));
                let shown = (reply.status != 412).then(|| known.see(&reply));
                timed(Request::UpdateIfMatch {
                    tag,
                    field,
                    value,
                    shown,
                })
            }
            (6, _, _) => {
                let body = self.manner.placement();
                let (reply, timed) = self.send(&self.manner.request(
                    Endpoint::CreatePlacement,
                    &known.id,
                    None,
                    &body,
                ));
                assert_eq!(reply.status, 201, "{reply:?}");
                let placement = reply.json()["data"]["placement_id"]
                    .as_str()
                    .unwrap()
                    .to_owned();
                known.placements.push(placement.clone());
                timed(Request::AddPlacement { placement })
            }
            (7, Some(placement), _) => {
                let path = self
                    .manner
                    .path(Endpoint::DeletePlacement, &known.id, &placement);
                let (reply, timed) = self.send(&HttpRequest::delete(path));
                let shown = (reply.status != 404).then(|| known.see(&reply));
                timed(Request::DeletePlacement { placement, shown })
            }
            (8, _, _) => {
                let year = 1980 + self.random.below(YEARS);
                let mut body = self.manner.degree();
                body["data"]["graduation_year"] = year.to_string().into();
                let (reply, timed) = self.send(&self.manner.request(
                    Endpoint::CreateDegree,
                    &known.id,
                    None,
                    &body,
                ));
                let is_new = reply.status == 201;
                assert!(
                    is_new || reply.status == 409 && !reply.is_in_the_way(),
                    "{reply:?}"
                );
                if !is_new {
                    let shown = the_only(&mut reply.json()["data"]);
                    assert_eq!(shown["graduation_year"].as_i64(), Some(year as i64));
                }
                timed(Request::AddDegree {
                    year: year as i64,
                    is_new,
                })
            }
            (_, _, _) => {
                let (reply, timed) = self.send(&HttpRequest::get(self.manner.path(
                    Endpoint::ShowTrainee,
                    &known.id,
                    "",
                )));
                let shown = known.see(&reply);
                timed(Request::Read { shown })
            }
        }
    }

    /// Sends a request; what it turns out to be is then given its time.
    fn send(
        &self,
        request: &HttpRequest,
    ) -> (Reply, impl FnOnce(Request) -> Timed<Request> + use<>) {
        let begun = Instant::now();
        let reply = self.caller.ask(self.address, request);
        let ended = Instant::now();
        (reply, move |operation| Timed {
            operation,
            begun,
            ended,
        })
    }
}

/// The record that a refused duplicate is shown.
fn the_only(shown: &mut Value) -> Value {
    assert_eq!(shown.as_array().map(Vec::len), Some(1), "{shown}");
    shown[0].take()
}

impl Seen {
    /// Takes note of a reply that shows the whole trainee.
    fn see(&mut self, reply: &Reply) -> Shown {
        assert_eq!(reply.status, 200, "{reply:?}");
        let shown = Shown::from_record(&reply.json()["data"], reply.etag.clone());
        self.placements = shown.placements.clone();
        self.tag = shown.tag.clone();
        shown
    }
}
