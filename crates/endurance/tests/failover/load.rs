//! Ordinary clients: some register trainees and change them, others read them and list them.
//!
//! Every change of a trainee has its own number, which stands in the email. So a reader can
//! tell whether what it is shown is what was acknowledged: nothing older, and nothing that was
//! never sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fixtures::random::Random;
use serde_json::{Value, json};
use server::sandbox::demo;

use super::http::{Caller, Kind, Observation, Reply, Request};
use super::site::Site;

/// Requests in a second, of all clients together, as long as they are answered at once.
const RATE: f64 = 80.0;
/// Of 100 writes, those that register a trainee.
const CREATES_PERCENT: usize = 25;
/// Of 100 reads, those of a list.
const LISTS_PERCENT: usize = 25;
/// How long a client waits at most before it sends a request again, whatever it was told.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A trainee who was registered, and acknowledged.
pub(crate) struct Record {
    pub(crate) id: String,
    /// The part of the email that stays.
    name: String,
    /// The newest change that was acknowledged, and the newest that was sent.
    changes: Mutex<(u32, u32)>,
    /// When it was acknowledged.
    acknowledged_at: Mutex<Duration>,
}

impl Record {
    /// The newest change that was acknowledged, and the newest that was sent.
    pub(crate) fn changes(&self) -> (u32, u32) {
        *self.changes.lock().unwrap()
    }

    /// When the newest change was acknowledged.
    pub(crate) fn acknowledged_at(&self) -> Duration {
        *self.acknowledged_at.lock().unwrap()
    }

    /// Whether an email is that of the record after one of these changes.
    pub(crate) fn is_after(&self, email: &str, earliest: u32, latest: u32) -> bool {
        let change = email
            .strip_prefix(&format!("{}.", self.name))
            .and_then(|rest| rest.split_once('@'));
        let change = change.and_then(|(number, _)| number.parse().ok());
        change.is_some_and(|number: u32| (earliest..=latest).contains(&number))
    }
}

/// What all clients of a run know together.
pub(crate) struct Load<'a> {
    site: &'a Site<'a>,
    pub(crate) begun: Instant,
    is_over: AtomicBool,
    trainees: String,
    clients: usize,
    is_balanced: bool,
    pub(crate) observations: Mutex<Vec<Observation>>,
    /// Acknowledged, of this run and of those before it at the same site.
    pub(crate) records: Mutex<Vec<Arc<Record>>>,
    /// Answers that were wrong.
    pub(crate) wrong: Mutex<Vec<String>>,
}

impl<'a> Load<'a> {
    /// Clients, half of them writers, through the balancer or without it.
    pub(crate) fn new(site: &'a Site<'a>, clients: usize, is_balanced: bool) -> Self {
        Self {
            site,
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            trainees: format!(
                "/api/{}/trainees",
                versions::all().newest().unwrap().version.label
            ),
            clients,
            is_balanced,
            observations: Mutex::default(),
            records: Mutex::default(),
            wrong: Mutex::default(),
        }
    }

    /// Lets the clients send requests while `act` runs.
    pub(crate) fn run(&self, name: &str, act: impl FnOnce()) {
        thread::scope(|scope| {
            for number in 0..self.clients {
                let name = format!("{name}{number}");
                scope.spawn(move || {
                    if number % 2 == 0 {
                        self.write(&name, number);
                    } else {
                        self.read(number);
                    }
                });
            }
            // No thread stays behind after a failure.
            let _end = End(&self.is_over);
            act();
        });
    }

    /// A client behind the balancer.
    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller::new(&self.site.balancer.address, &self.site.token, self.begun)
    }

    /// The client with this number. Of those of one server, half write.
    fn numbered_caller(&self, number: usize) -> Caller<'_> {
        let servers = &self.site.servers;
        let server = &servers[number / 2 % servers.len()].address;
        let address = if self.is_balanced {
            &self.site.balancer.address
        } else {
            server
        };
        Caller::new(address, &self.site.token, self.begun)
    }

    /// Reads a trainee once; the answer, if there was one that shows the trainee, must be right.
    pub(crate) fn read_one(&self, caller: &Caller<'_>, record: &Record) -> Option<Reply> {
        let (acknowledged, _) = record.changes();
        let reply = self.send(caller, &self.request(Kind::Read, &record.id))?;
        let (_, sent) = record.changes();
        let shown = reply.data();
        let email = shown["email"].as_str().unwrap_or_default();
        let is_right =
            shown["trainee_id"] == *record.id && record.is_after(email, acknowledged, sent);
        if reply.status == 404 || reply.status == 200 && !is_right {
            let wrong = format!(
                "{} of {}: change {acknowledged} to {sent}, not {email:?}",
                reply.status, record.id
            );
            self.wrong.lock().unwrap().push(wrong);
        }
        Some(reply)
    }

    fn request(&self, kind: Kind, id: &str) -> Request {
        Request {
            kind,
            path: format!("{}/{id}", self.trainees),
            body: None,
        }
    }

    fn send(&self, caller: &Caller<'_>, request: &Request) -> Option<Reply> {
        let is_first = self.records.lock().unwrap().is_empty();
        let (observation, reply) = caller.send(request);
        self.observations.lock().unwrap().push(observation);
        if let Some(reply) = &reply {
            // Before anybody is registered there is no list.
            let is_empty = request.kind == Kind::List && reply.status == 404 && is_first;
            let is_expected = is_empty
                || (200..300).contains(&reply.status)
                || reply.status >= 500
                || reply.is_to_be_sent_again();
            if !is_expected {
                let wrong = format!("{} to {request:?}: {}", reply.status, reply.body);
                self.wrong.lock().unwrap().push(wrong);
            }
        }
        reply
    }

    fn read(&self, number: usize) {
        let (caller, random) = (self.numbered_caller(number), Random::new(number as u64));
        while !self.is_over() {
            let records = self.records.lock().unwrap().clone();
            let reply = match random.pick(&records) {
                Some(record) if !random.chance(LISTS_PERCENT) => self.read_one(&caller, record),
                _ => self.list(&caller),
            };
            self.pause(reply.as_ref());
        }
    }

    fn list(&self, caller: &Caller<'_>) -> Option<Reply> {
        let path = format!("{}?per_page=10", self.trainees);
        let reply = self.send(
            caller,
            &Request {
                kind: Kind::List,
                path,
                body: None,
            },
        )?;
        let rows = reply.data();
        let is_page = rows
            .as_array()
            .is_some_and(|rows| rows.iter().all(|row| row["email"].is_string()));
        if reply.status == 200 && !is_page {
            self.wrong
                .lock()
                .unwrap()
                .push(format!("no page of a list: {}", reply.body));
        }
        Some(reply)
    }

    fn write(&self, name: &str, client: usize) {
        let (caller, random) = (self.numbered_caller(client), Random::new(client as u64));
        let mut own: Vec<Arc<Record>> = Vec::new();
        for number in 1.. {
            if self.is_over() {
                return;
            }
            match random.pick(&own) {
                Some(record) if !random.chance(CREATES_PERCENT) => self.update(&caller, record),
                _ => own.extend(self.create(&caller, &format!("{name}-{number}"), number)),
            }
        }
    }

    fn create(&self, caller: &Caller<'_>, name: &str, number: usize) -> Option<Arc<Record>> {
        let mut body: Value =
            serde_json::from_str(&demo::example(versions::all().newest().unwrap().version))
                .unwrap();
        let letters: String = format!("{name}{number}").chars().map(letter).collect();
        body["data"]["last_name"] = format!("Example{letters}").into();
        body["data"]["email"] = email(name, 0).into();
        let path = self.trainees.clone();
        let request = Request {
            kind: Kind::Create,
            path,
            body: Some((format!("create-{name}"), body.to_string())),
        };
        let reply = self.insist(caller, &request)?;
        let id = reply.data()["trainee_id"].as_str()?.to_owned();
        let record = Arc::new(Record {
            id,
            name: name.to_owned(),
            changes: Mutex::new((0, 0)),
            acknowledged_at: Mutex::new(self.begun.elapsed()),
        });
        self.records.lock().unwrap().push(Arc::clone(&record));
        Some(record)
    }

    fn update(&self, caller: &Caller<'_>, record: &Record) {
        let change = {
            let mut changes = record.changes.lock().unwrap();
            changes.1 += 1;
            changes.1
        };
        let body = json!({ "data": { "email": email(&record.name, change) } }).to_string();
        let key = format!("update-{}-{change}", record.name);
        let request = Request {
            body: Some((key, body)),
            ..self.request(Kind::Update, &record.id)
        };
        if self
            .insist(caller, &request)
            .is_some_and(|reply| reply.status == 200)
        {
            record.changes.lock().unwrap().0 = change;
            *record.acknowledged_at.lock().unwrap() = self.begun.elapsed();
        }
    }

    /// Sends a request again until it is answered by more than that it is to be sent again, or the
    /// load ends.
    fn insist(&self, caller: &Caller<'_>, request: &Request) -> Option<Reply> {
        loop {
            let reply = self.send(caller, request);
            self.pause(reply.as_ref());
            match reply {
                Some(reply) if !reply.is_to_be_sent_again() && reply.status < 500 => {
                    return Some(reply);
                }
                _ if self.is_over() => return None,
                _ => {}
            }
        }
    }

    /// Waits before the next request: as long as the client was told, otherwise for its share of
    /// the rate.
    fn pause(&self, reply: Option<&Reply>) {
        let told = reply
            .and_then(|reply| reply.retry_after)
            .map(|seconds| Duration::from_secs(seconds).min(LONGEST_PAUSE));
        let share = Duration::from_secs_f64(self.clients as f64 / RATE);
        let pause = told.unwrap_or(share).max(Duration::from_millis(50));
        let deadline = Instant::now() + pause;
        while !self.is_over() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Ends the load when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn email(name: &str, change: u32) -> String {
    format!("{name}.{change}@example.com")
}

/// A letter for a character of a name, since names have no digits.
fn letter(character: char) -> char {
    match character.to_digit(10) {
        Some(digit) => char::from(b'a' + digit as u8),
        None if character == '-' => 'x',
        None => character,
    }
}
