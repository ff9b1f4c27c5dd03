//! A client that writes through every endpoint of every version, knows what was acknowledged, and
//! finds out what became of what was not.

use std::collections::BTreeMap;

use adapter_kit::Endpoint;
use fixtures::random::Random;
use serde_json::{Value, json};

use super::expected_record::is_as_predicted;
use super::http::{Caller, Reply, Request};
use super::record::{Record, Write};
use super::version_requests::{Manner, Person};

mod mixed;

/// How many of 100 writes register a trainee.
const CREATES_PERCENT: usize = 20;

/// A client with its own records, which no other client writes to.
pub(crate) struct Client<'a> {
    caller: Caller,
    manners: &'a [Manner],
    random: Random,
    name: String,
    words: usize,
    records: Vec<Record>,
    /// The write that was sent and not acknowledged.
    unanswered: Option<Unanswered>,
    /// The last write that was answered at once and has a key, with the body of the answer.
    last_with_key: Option<(Request, String)>,
    /// Counted so far.
    pub(crate) tally: Tally,
}

/// A write with an unknown outcome.
struct Unanswered {
    write: Write,
    about: Subject,
}

/// What a write is about.
enum Subject {
    /// A trainee who is registered in this version.
    New(usize),
    /// The record at this place among the client's.
    Known(usize),
}

/// What clients saw.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Writes that were acknowledged at once.
    pub(crate) acknowledged: usize,
    /// Writes that were not, and were found carried out whole.
    pub(crate) found_whole: usize,
    /// Writes that were not, and were found not carried out at all.
    pub(crate) found_absent: usize,
    /// Records that were compared to the byte.
    pub(crate) compared: usize,
    /// Acknowledged writes by endpoint and version.
    pub(crate) by_endpoint: BTreeMap<String, usize>,
}

impl Tally {
    /// What several clients saw together.
    pub(crate) fn from_clients<'a>(clients: impl IntoIterator<Item = &'a Client<'a>>) -> Self {
        clients
            .into_iter()
            .fold(Self::default(), |mut sum, client| {
                sum.acknowledged += client.tally.acknowledged;
                sum.found_whole += client.tally.found_whole;
                sum.found_absent += client.tally.found_absent;
                sum.compared += client.tally.compared;
                for (endpoint, count) in &client.tally.by_endpoint {
                    *sum.by_endpoint.entry(endpoint.clone()).or_default() += count;
                }
                sum
            })
    }
}

impl<'a> Client<'a> {
    pub(crate) fn new(caller: Caller, manners: &'a [Manner], name: &str, seed: u64) -> Self {
        Self {
            caller,
            manners,
            random: Random::new(seed),
            name: name.to_owned(),
            words: 0,
            records: Vec::new(),
            unanswered: None,
            last_with_key: None,
            tally: Tally::default(),
        }
    }

    /// Makes `count` clients.
    pub(crate) fn several(
        count: usize,
        token: &str,
        manners: &'a [Manner],
        seed: u64,
    ) -> Vec<Self> {
        let names = ('A'..='Z').map(String::from).take(count);
        let clients = names
            .zip(seed..)
            .map(|(name, seed)| Self::new(Caller::new(token), manners, &name, seed));
        clients.collect()
    }

    /// How many replies to the client ended in their middle.
    pub(crate) fn cut(&self) -> usize {
        self.caller.cut()
    }

    /// How many records the client has.
    pub(crate) fn count(&self) -> usize {
        self.records.len()
    }

    /// Sends one write, and says whether it was acknowledged.
    pub(crate) fn write(&mut self, address: &str) -> bool {
        let (write, about) = self.draw();
        let reply = self
            .caller
            .send(address, &write.request)
            .filter(|reply| !reply.is_put_off());
        let unanswered = Unanswered { write, about };
        match reply {
            Some(reply) => {
                assert!(
                    (200..300).contains(&reply.status),
                    "{:?}: {reply:?}",
                    unanswered.write.request
                );
                assert!(
                    !reply.replayed,
                    "the first of its kind was answered before: {reply:?}"
                );
                self.reconcile(&unanswered, &reply);
                if unanswered.write.request.method == "POST" {
                    self.last_with_key = Some((unanswered.write.request, reply.body));
                }
                self.tally.acknowledged += 1;
                true
            }
            None => {
                self.unanswered = Some(unanswered);
                false
            }
        }
    }

    /// Reads the outcome of a write without a reply: fully carried out, or not at all. Then sends
    /// it again, so that it was carried out once.
    pub(crate) fn resolve(&mut self, address: &str) {
        let Some(unanswered) = self.unanswered.take() else {
            return;
        };
        let was_whole = self.was_carried_out(address, &unanswered);
        let reply = self.caller.insist(address, &unanswered.write.request);
        let is_deleted = was_whole_when_deleted_again(&unanswered.write, &reply);
        // A write in flight during the read may arrive later, but an arrived one does not vanish.
        let is_known = reply.replayed || is_deleted;
        if was_whole
            && unanswered.write.request.method != "PATCH"
            && unanswered.write.request.method != "PUT"
        {
            assert!(is_known, "carried out twice: {reply:?}");
        }
        if is_deleted {
            let Subject::Known(at) = unanswered.about else {
                panic!("nothing is deleted that is new")
            };
            let shown = self.read(address, at);
            assert!(
                is_as_predicted(&shown, &unanswered.write.predicted),
                "{shown}"
            );
            self.keep(at, shown);
        } else {
            assert!(
                (200..300).contains(&reply.status),
                "{:?}: {reply:?}",
                unanswered.write.request
            );
            self.reconcile(&unanswered, &reply);
        }
        if let Subject::New(_) = unanswered.about {
            assert_eq!(self.registered(address, &unanswered.write).len(), 1);
        }
        if was_whole || is_known {
            self.tally.found_whole += 1;
        } else {
            self.tally.found_absent += 1;
        }
    }

    /// Compares every record, or every one that was written to since it was last compared, with
    /// what was acknowledged.
    pub(crate) fn compare(&mut self, address: &str, all: bool) {
        for record in &mut self.records {
            if all || record.is_touched {
                let reply = self
                    .caller
                    .insist(address, &record.read(&self.manners[record.version]));
                assert_eq!((reply.status, reply.body), (200, record.body()));
                record.is_touched = false;
                self.tally.compared += 1;
            }
        }
    }

    /// A write that was not sent before.
    fn draw(&mut self) -> (Write, Subject) {
        self.words += 1;
        let word = Person::new(&self.name, self.words).last_name;
        if !self.random.chance(CREATES_PERCENT) && !self.records.is_empty() {
            let at = self.random.below(self.records.len());
            let record = &self.records[at];
            if let Some(mut write) =
                record.any_write(&self.manners[record.version], &self.random, &word)
            {
                write.request = self.with_key(write.request);
                return (write, Subject::Known(at));
            }
        }
        let version = self.random.below(self.manners.len());
        let person = Person::new(&self.name, self.words);
        let manner = &self.manners[version];
        let request = self.with_key(manner.create(&person));
        (
            Write::create(request, manner.created(&person)),
            Subject::New(version),
        )
    }

    /// A POST gets a key, so that it can be sent again.
    fn with_key(&self, request: Request) -> Request {
        if request.method != "POST" {
            return request;
        }
        let key = format!("{}-{}", self.name, self.words);
        request.with("Idempotency-Key", key)
    }

    /// Keeps what a reply acknowledges.
    fn reconcile(&mut self, done: &Unanswered, reply: &Reply) {
        match &done.about {
            Subject::New(version) => {
                let shown = reply.json()["data"].take();
                assert!(
                    is_as_predicted(&shown, &done.write.predicted),
                    "{shown}\nis not\n{}",
                    done.write.predicted
                );
                self.records.push(Record {
                    version: *version,
                    shown,
                    is_touched: true,
                });
            }
            Subject::Known(at) => {
                let after = self.records[*at].acknowledged(&done.write, reply);
                self.keep(*at, after);
            }
        }
        let endpoint =
            self.manners[self.version_of(done)].path(done.write.endpoint, "{trainee}", "{part}");
        let name = format!("{} {endpoint}", done.write.request.method);
        *self.tally.by_endpoint.entry(name).or_default() += 1;
    }

    fn version_of(&self, done: &Unanswered) -> usize {
        match &done.about {
            Subject::New(version) => *version,
            Subject::Known(at) => self.records[*at].version,
        }
    }

    fn keep(&mut self, at: usize, shown: Value) {
        let record = &mut self.records[at];
        record.shown = shown;
        record.is_touched = true;
    }

    fn read(&self, address: &str, at: usize) -> Value {
        let record = &self.records[at];
        let reply = self
            .caller
            .insist(address, &record.read(&self.manners[record.version]));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["data"].take()
    }

    /// Whether a write was carried out, whole; otherwise it must not have been carried out at all.
    fn was_carried_out(&self, address: &str, unanswered: &Unanswered) -> bool {
        match &unanswered.about {
            Subject::New(version) => match &self.registered(address, &unanswered.write)[..] {
                [] => false,
                [record] => {
                    let path = self.manners[*version].path(
                        Endpoint::ShowTrainee,
                        super::version_requests::id(record),
                        "",
                    );
                    let shown =
                        self.caller.insist(address, &Request::get(path)).json()["data"].take();
                    assert!(
                        is_as_predicted(&shown, &unanswered.write.predicted),
                        "{shown}"
                    );
                    true
                }
                several => panic!("registered more than once: {several:?}"),
            },
            Subject::Known(at) => {
                let shown = self.read(address, *at);
                let body = json!({ "data": shown }).to_string();
                let is_before = body == self.records[*at].body();
                let is_after = is_as_predicted(&shown, &unanswered.write.predicted);
                assert!(
                    is_before || is_after,
                    "{shown}\nis neither\n{}\nnor\n{}",
                    self.records[*at].shown,
                    unanswered.write.predicted
                );
                is_after
            }
        }
    }

    /// The records of the person whom a write registers.
    fn registered(&self, address: &str, write: &Write) -> Vec<Value> {
        let mut probe = write.request.clone();
        probe.headers = vec![("Prefer", "validate-only".to_owned())];
        let reply = self.caller.insist(address, &probe);
        match reply.status {
            201 => Vec::new(),
            409 => reply.json()["data"].as_array().unwrap().clone(),
            _ => panic!("{reply:?}"),
        }
    }
}

/// Whether a part that was to be deleted was gone already.
fn was_whole_when_deleted_again(write: &Write, reply: &Reply) -> bool {
    write.request.method == "DELETE" && reply.status == 404
}
