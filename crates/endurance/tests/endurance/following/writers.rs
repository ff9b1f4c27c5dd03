//! Writers during following: clients that move trainees between academic cycles and
//! register batches, and the operator, who discards trainees.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use adapter_kit::Endpoint;
use chrono::Datelike as _;
use fixtures::random::Random;
use serde_json::{Value, json};

use super::super::deployment::Site;
use super::super::http::{Caller, Request};
use super::super::version_requests::{Manner, Person, begun_on, id};

/// Trainees of a batch.
const BATCH: usize = 8;
/// How many years before this one a training is moved, at most.
const YEARS_BACK: usize = 4;
/// How long a client waits before it writes again to a trainee who is to be discarded.
const PAUSE: Duration = Duration::from_millis(20);

/// A client that writes to its own records, while the operator discards some of them.
pub(super) struct Mover<'a> {
    caller: Caller,
    manners: &'a [Manner],
    random: Random,
    name: String,
    words: usize,
    /// Each with the version of its registration.
    trainees: Vec<(usize, String)>,
    /// Acknowledged writes by their sort.
    pub(super) writes: BTreeMap<&'static str, usize>,
}

impl<'a> Mover<'a> {
    pub(super) fn new(token: &str, manners: &'a [Manner], number: usize, seed: u64) -> Self {
        Self {
            caller: Caller::new(token),
            manners,
            random: Random::new(seed),
            name: format!("Mover{}", Person::new("", number).last_name),
            words: 0,
            trainees: Vec::new(),
            writes: BTreeMap::new(),
        }
    }

    /// Sends one write. Trainees for the operator to discard go to `to_discard`.
    pub(super) fn write(&mut self, address: &str, to_discard: &Mutex<Vec<String>>) {
        self.words += 1;
        if self.trainees.is_empty() {
            return self.register_many(address);
        }
        let at = self.random.below(self.trainees.len());
        match self.random.below(100) {
            0..12 => self.register(address),
            12..17 => self.register_many(address),
            17..27 => {
                to_discard.lock().unwrap().push(self.trainees[at].1.clone());
                // Writes go on until the trainee is found discarded.
                let (version, trainee) = self.trainees.swap_remove(at);
                let name = Person::new(&self.name, self.words).last_name;
                while self.update(
                    address,
                    version,
                    &trainee,
                    "to be discarded",
                    json!({ "last_name": name }),
                ) {
                    thread::sleep(PAUSE);
                }
            }
            27..50 => {
                let year = begun_on().year()
                    - i32::try_from(self.random.below(YEARS_BACK)).unwrap_or_default();
                let days = json!({ "itt_start_date": format!("{year}-03-02"), "itt_end_date": format!("{}-03-01", year + 1) });
                let (version, trainee) = self.trainees[at].clone();
                assert!(self.update(address, version, &trainee, "move", days));
            }
            _ => {
                let name = Person::new(&self.name, self.words).last_name;
                let (version, trainee) = self.trainees[at].clone();
                assert!(self.update(
                    address,
                    version,
                    &trainee,
                    "update",
                    json!({ "middle_names": name })
                ));
            }
        }
    }

    fn register(&mut self, address: &str) {
        let version = self.random.below(self.manners.len());
        let request = self.manners[version].create(&Person::new(&self.name, self.words));
        let request = request.with("Idempotency-Key", format!("{}-{}", self.name, self.words));
        let reply = self.caller.insist(address, &request);
        assert_eq!(reply.status, 201, "{reply:?}");
        self.trainees
            .push((version, id(&reply.json()["data"]).to_owned()));
        self.count("registration", 1);
    }

    fn register_many(&mut self, address: &str) {
        let version = self.random.below(self.manners.len());
        let request =
            self.manners[version].create_many(&format!("{}w{}x", self.name, self.words), BATCH);
        // Items that were put off are carried out when the batch is sent again.
        let results = loop {
            let Value::Array(results) = self.caller.insist(address, &request).json()["data"].take()
            else {
                panic!()
            };
            if results.iter().all(|result| result["status"] == 201) {
                break results;
            }
            let is_put_off = |result: &&Value| result["status"] != 201 && result["status"] != 503;
            assert_eq!(results.iter().find(is_put_off), None);
        };
        self.trainees.extend(
            results
                .iter()
                .map(|result| (version, id(&result["data"]).to_owned())),
        );
        self.count("batch", 1);
    }

    /// Returns whether the trainee was still there.
    fn update(
        &mut self,
        address: &str,
        version: usize,
        trainee: &str,
        what: &'static str,
        data: Value,
    ) -> bool {
        let path = self.manners[version].path(Endpoint::UpdateTrainee, trainee, "");
        let reply = self.caller.insist(
            address,
            &Request::with_body("PATCH", path, &json!({ "data": data })),
        );
        if reply.status == 404 {
            return false;
        }
        assert_eq!(reply.status, 200, "{reply:?}");
        self.count(what, 1);
        true
    }

    fn count(&mut self, what: &'static str, count: usize) {
        *self.writes.entry(what).or_default() += count;
    }
}

/// Discards the trainees, as an operator does. Returns how many those were.
pub(super) fn discard(site: &Site, to_discard: &Mutex<Vec<String>>) -> usize {
    let trainees = std::mem::take(&mut *to_discard.lock().unwrap());
    if !trainees.is_empty() {
        let mut rows = "trainee_id\n".to_owned();
        trainees
            .iter()
            .for_each(|trainee| writeln!(rows, "{trainee}").unwrap());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), rows).unwrap();
        let path = file.path().to_str().unwrap();
        site.run(&["registry", "apply", "discard", path]);
    }
    trainees.len()
}
