//! Clients that ask for the same thing at the same moment, through two servers over one PostgreSQL,
//! or through one over SQLite: there is exactly one winner, the others are told what stands against
//! them, and nothing is lost.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use adapter_kit::Endpoint;
use serde_json::{Value, json};
use test_support::Kind;

use super::deployment::{Server, Site};
use super::http::{Caller, Reply, Request};
use super::size::size;
use super::version_requests::{Manner, Person, id};

/// Clients that collide.
const CLIENTS: usize = 16;
/// Rounds of every build.
const ROUNDS: usize = 12;
/// Degrees that a trainee is given before the next one has its turn.
const DEGREES: usize = 30;

/// A field for each client, which has the one value or the other.
const FIELDS: [(&str, [&str; 2]); CLIENTS] = [
    ("first_names", ["Ann", "Bea"]),
    ("middle_names", ["Cleo", "Dora"]),
    ("previous_last_name", ["Elm", "Ash"]),
    ("provider_trainee_id", ["P-1", "P-2"]),
    ("application_id", ["1", "2"]),
    ("agency_id", ["0310261553101", "0310261553102"]),
    ("nationality", ["FR", "DE"]),
    ("sex", ["11", "12"]),
    ("ni_number", ["QQ 1", "QQ 2"]),
    ("ethnicity", ["100", "101"]),
    ("course_year", ["2", "3"]),
    ("study_mode", ["31", "02"]),
    ("itt_aim", ["201", "202"]),
    ("disability2", ["51", "53"]),
    ("disability3", ["54", "55"]),
    ("disability4", ["56", "57"]),
];

/// The servers over one database.
pub(crate) struct Servers {
    pub(crate) site: Site,
    servers: Vec<Server>,
}

impl Servers {
    /// The number that the database of this run accepts.
    pub(crate) fn start() -> Self {
        Self::with_site(Site::new())
    }

    /// The number that the database of the site accepts.
    pub(crate) fn with_site(site: Site) -> Self {
        let count = if site.kind() == Kind::Postgres { 2 } else { 1 };
        let servers = (0..count).map(|_| site.serve()).collect();
        Self { site, servers }
    }

    /// The address of a client's server.
    pub(crate) fn address(&self, client: usize) -> &str {
        &self.servers[client % self.servers.len()].address
    }

    pub(crate) fn stop(mut self) {
        self.servers.iter_mut().for_each(Server::stop);
    }
}

/// Clients that send at the same moment, each in a version and through the next server in turn.
struct Crowd {
    servers: Servers,
    callers: Vec<Caller>,
    manners: Vec<Manner>,
    requests: usize,
    begun: Instant,
}

impl Crowd {
    fn new() -> Self {
        let servers = Servers::start();
        let callers: Vec<_> = (0..CLIENTS)
            .map(|_| Caller::new(&servers.site.token))
            .collect();
        let (manners, _) = Manner::learn_all(&callers[0], servers.address(0));
        Self {
            servers,
            callers,
            manners,
            requests: 0,
            begun: Instant::now(),
        }
    }

    /// The version that a client speaks.
    fn manner(&self, client: usize) -> &Manner {
        // Not in step with the servers, so that each version goes through each server.
        &self.manners[client / 2 % self.manners.len()]
    }

    /// Each client sends its request when all are ready to.
    fn collide(&mut self, request: impl Fn(&Self, usize) -> Request + Sync) -> Vec<Reply> {
        self.requests += CLIENTS;
        let this = &*self;
        let ready = &Barrier::new(CLIENTS);
        let request = &request;
        thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    scope.spawn(move || {
                        let request = request(this, client);
                        ready.wait();
                        this.callers[client].ask(this.servers.address(client), &request)
                    })
                })
                .collect();
            clients
                .into_iter()
                .map(|client| client.join().unwrap())
                .collect()
        })
    }

    /// One request without concurrent ones.
    fn ask(&self, client: usize, request: &Request) -> Reply {
        self.callers[client].ask(self.servers.address(client), request)
    }

    fn register(&self, person: &Person) -> String {
        let reply = self.ask(0, &self.manner(0).create(person));
        assert_eq!(reply.status, 201, "{reply:?}");
        id(&reply.json()["data"]).to_owned()
    }

    fn read(&self, client: usize, trainee: &str) -> Reply {
        let reply = self.ask(
            client,
            &Request::get(self.manner(client).path(Endpoint::ShowTrainee, trainee, "")),
        );
        assert_eq!(reply.status, 200, "{reply:?}");
        reply
    }

    fn update(&self, client: usize, trainee: &str, field: &str, value: &str) -> Request {
        let path = self
            .manner(client)
            .path(Endpoint::UpdateTrainee, trainee, "");
        Request::with_body("PATCH", path, &json!({ "data": { field: value } }))
    }

    fn end(self, what: &str, rounds: usize) {
        let (kind, seconds) = (self.servers.site.kind(), self.begun.elapsed().as_secs_f64());
        eprintln!(
            "{kind:?}, {what}: {rounds} rounds, {} colliding requests, {seconds:.1} s",
            self.requests
        );
        self.servers.stop();
    }
}

/// The only reply that has the status; all others must have the other one.
fn winner(replies: &[Reply], won: u16, lost: u16) -> &Reply {
    let (winners, losers): (Vec<&Reply>, Vec<_>) =
        replies.iter().partition(|reply| reply.status == won);
    assert!(
        losers.iter().all(|reply| reply.status == lost),
        "{losers:#?}"
    );
    assert_eq!(winners.len(), 1, "{winners:#?}");
    winners[0]
}

/// The losers were shown the one record that the winner made.
fn require_shown(replies: &[Reply], won: u16, key: &str, identifier: &Value) {
    for loser in replies.iter().filter(|reply| reply.status != won) {
        let shown = loser.json()["data"].take();
        assert_eq!(shown.as_array().map(Vec::len), Some(1), "{loser:?}");
        assert_eq!(shown[0][key], *identifier, "{loser:?}");
    }
}

#[test]
fn equal_concurrent_registrations_one_wins() {
    let mut crowd = Crowd::new();
    let rounds = size("RACE_ROUNDS", ROUNDS);
    for round in 0..rounds {
        let person = Person::new("Race", round);
        let replies = crowd.collide(|crowd, client| crowd.manner(client).create(&person));
        let made = winner(&replies, 201, 409).json()["data"]["trainee_id"].take();
        require_shown(&replies, 201, "trainee_id", &made);
    }
    crowd.end("equal registrations", rounds);
}

#[test]
fn equal_concurrent_degrees_one_wins() {
    let mut crowd = Crowd::new();
    let rounds = size("RACE_ROUNDS", ROUNDS);
    let mut trainee = String::new();
    for round in 0..rounds {
        if round % DEGREES == 0 {
            trainee = crowd.register(&Person::new("Degrees", round));
        }
        let year = (1980 + round % DEGREES).to_string();
        let replies = crowd.collide(|crowd, client| {
            let manner = crowd.manner(client);
            let mut body = manner.degree();
            body["data"]["graduation_year"] = year.clone().into();
            manner.request(Endpoint::CreateDegree, &trainee, None, &body)
        });
        let made = winner(&replies, 201, 409).json()["data"][0]["degree_id"].take();
        require_shown(&replies, 201, "degree_id", &made);
        let degrees = crowd.read(0, &trainee).json()["data"]["degrees"].take();
        // The one of the registration is there too.
        assert_eq!(
            degrees.as_array().map(Vec::len),
            Some(round % DEGREES + 2),
            "{degrees}"
        );
    }
    crowd.end("equal degrees", rounds);
}

#[test]
fn updates_of_different_fields_at_once_all_survive() {
    let mut crowd = Crowd::new();
    let rounds = size("RACE_ROUNDS", ROUNDS);
    let trainee = crowd.register(&Person::new("Fields", 0));
    for round in 0..rounds {
        let replies = crowd.collide(|crowd, client| {
            let (field, values) = FIELDS[client];
            crowd.update(client, &trainee, field, values[round % 2])
        });
        assert!(
            replies.iter().all(|reply| reply.status == 200),
            "{replies:#?}"
        );
        for client in 0..CLIENTS {
            let shown = crowd.read(client, &trainee).json()["data"].take();
            for (field, values) in FIELDS {
                assert_eq!(shown[field], values[round % 2], "{field} in round {round}");
            }
        }
    }
    crowd.end("updates of different fields", rounds);
}

#[test]
fn concurrent_updates_of_same_state_one_wins() {
    let mut crowd = Crowd::new();
    let rounds = size("RACE_ROUNDS", ROUNDS);
    let trainee = crowd.register(&Person::new("Tags", 0));
    for round in 0..rounds {
        let tags: Vec<String> = (0..CLIENTS)
            .map(|client| crowd.read(client, &trainee).etag.unwrap())
            .collect();
        let replies = crowd.collide(|crowd, client| {
            let name = Person::new("Tags", CLIENTS * round + client).last_name;
            crowd
                .update(client, &trainee, "middle_names", &name)
                .with("If-Match", tags[client].as_str())
        });
        let kept = winner(&replies, 200, 412).json()["data"]["middle_names"].take();
        assert_eq!(crowd.read(1, &trainee).json()["data"]["middle_names"], kept);
    }
    crowd.end("updates of the same state", rounds);
}
