//! How one version speaks: its paths and bodies, and what its transitions do to a record as it
//! shows it.
//!
//! What a transition does is learned from one that was carried out before anything is broken. So no
//! field is named here that could have another name in another version.

use adapter_kit::{ApiVersion, Endpoint};
use chrono::{Days, NaiveDate, Utc};
use serde_json::{Map, Value, json};
use version_tools::openapi::examples;

use super::expected_record::{drawn_anew, leave_open};
use super::http::{Caller, Request};

/// How long before today the training began, in days, so that everything that presupposes its
/// beginning is allowed.
const BEGUN_DAYS_AGO: u64 = 60;
/// How long the training is, in days.
const TRAINING_DAYS: u64 = 300;

/// A version as a client of it knows it.
pub(crate) struct Manner {
    version: &'static ApiVersion,
    create: Value,
    /// A record that was just registered, with nothing said of what the service draws.
    pub(crate) new_record: Value,
    /// The transitions of the version, each with its path, its body, and what it changes.
    transitions: Vec<(Endpoint, Value, Map<String, Value>)>,
}

/// Who a trainee is, so that no other one is taken for the same.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) last_name: String,
    pub(crate) email: String,
}

impl Person {
    /// The person with its own number.
    pub(crate) fn new(who: &str, number: usize) -> Self {
        let letters: String = number
            .to_string()
            .bytes()
            .map(|digit| char::from(digit - b'0' + b'a'))
            .collect();
        Self {
            last_name: format!("Example{who}{letters}"),
            email: format!("{who}.{number}@example.com"),
        }
    }
}

impl Manner {
    /// All versions, each learned from trainees that are registered for it. Returns how many those
    /// were.
    pub(crate) fn learn_all(caller: &Caller, address: &str) -> (Vec<Self>, usize) {
        let manners: Vec<_> = versions::all()
            .iter()
            .enumerate()
            .map(|(number, served)| Self::learn(served.version, number, caller, address))
            .collect();
        let learned = 2 * manners.len();
        (manners, learned)
    }

    fn learn(version: &'static ApiVersion, number: usize, caller: &Caller, address: &str) -> Self {
        let mut manner = Self {
            version,
            create: body_of_creates(version),
            new_record: Value::Null,
            transitions: Vec::new(),
        };
        let has = |endpoint| version.endpoints.has(endpoint);
        let recommend = [Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus];
        let leaving: Vec<_> = recommend
            .into_iter()
            .filter(|endpoint| has(*endpoint))
            .collect();
        // One trainee pauses and then leaves; another one is recommended.
        for (who, path) in [
            ("left", &[Endpoint::Defer, Endpoint::Withdraw][..]),
            ("stayed", &leaving[..1]),
        ] {
            let reply = caller.ask(address, &manner.create(&Person::new(who, number)));
            assert_eq!(reply.status, 201, "{reply:?}");
            let mut shown = reply.json()["data"].take();
            manner.new_record = drawn_anew(&shown);
            for endpoint in path {
                let body = manner.body_of(*endpoint);
                let reply =
                    caller.ask(address, &manner.request(*endpoint, id(&shown), None, &body));
                assert!((200..300).contains(&reply.status), "{reply:?}");
                let after = reply.json()["data"].take();
                let changed = changed(&shown, &after);
                let others = if recommend.contains(endpoint) {
                    &leaving[..]
                } else {
                    &[*endpoint][..]
                };
                manner.transitions.extend(
                    others
                        .iter()
                        .map(|endpoint| (*endpoint, body.clone(), changed.clone())),
                );
                shown = after;
            }
        }
        manner
    }

    /// The endpoints of transitions, with their bodies and changes.
    pub(crate) fn transitions(&self) -> &[(Endpoint, Value, Map<String, Value>)] {
        &self.transitions
    }

    /// Registers a person.
    pub(crate) fn create(&self, person: &Person) -> Request {
        Request::with_body(
            "POST",
            self.path(Endpoint::CreateTrainee, "", ""),
            &self.body_of_create(person),
        )
    }

    /// Registers a number of persons in one batch.
    pub(crate) fn create_many(&self, who: &str, count: usize) -> Request {
        let item = |number| {
            let mut item = self.body_of_create(&Person::new(who, number));
            item["idempotency_key"] = format!("{who}-{number}").into();
            item
        };
        let items: Value = (0..count).map(item).collect();
        Request::with_body("POST", self.path(Endpoint::CreateTrainees, "", ""), &items)
    }

    fn body_of_create(&self, person: &Person) -> Value {
        let mut body = self.create.clone();
        body["data"]["last_name"] = person.last_name.clone().into();
        body["data"]["email"] = person.email.clone().into();
        body
    }

    /// What the record of a person looks like once it is registered.
    pub(crate) fn created(&self, person: &Person) -> Value {
        let mut record = self.new_record.clone();
        record["last_name"] = person.last_name.clone().into();
        record["email"] = person.email.clone().into();
        record
    }

    /// The degree that every trainee is registered with, as a request has it.
    pub(crate) fn degree(&self) -> Value {
        json!({ "data": self.create["data"]["degrees_attributes"][0] })
    }

    /// The placement that every trainee is registered with, as a request has it.
    pub(crate) fn placement(&self) -> Value {
        json!({ "data": self.create["data"]["placements_attributes"][0] })
    }

    /// A request about a trainee, or about the part of one.
    pub(crate) fn request(
        &self,
        endpoint: Endpoint,
        trainee: &str,
        part: Option<&str>,
        body: &Value,
    ) -> Request {
        Request::with_body(
            "POST",
            self.path(endpoint, trainee, part.unwrap_or_default()),
            body,
        )
    }

    /// The path of an endpoint.
    pub(crate) fn path(&self, endpoint: Endpoint, trainee: &str, part: &str) -> String {
        let path = endpoint.path().replace("{trainee_id}", trainee);
        let path = path
            .replace("{placement_id}", part)
            .replace("{degree_id}", part);
        format!("/api/{}{path}", self.version.label)
    }

    fn body_of(&self, endpoint: Endpoint) -> Value {
        let mut body = examples::request(self.version, endpoint).unwrap();
        if [Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus].contains(&endpoint) {
            // The day must not lie in the future, and a recommendation says nothing else.
            let said = body["data"].as_object_mut().unwrap();
            assert_eq!(said.len(), 1);
            said.values_mut()
                .for_each(|day| *day = self.create["data"]["itt_start_date"].clone());
        }
        body
    }
}

/// The first day of every training.
pub(crate) fn begun_on() -> NaiveDate {
    Utc::now().date_naive() - Days::new(BEGUN_DAYS_AGO)
}

/// The body of a registration whose training has begun.
pub(crate) fn body_of_creates(version: &'static ApiVersion) -> Value {
    let mut body = examples::request(version, Endpoint::CreateTrainee).unwrap();
    let begun = begun_on();
    body["data"]["itt_start_date"] = begun.to_string().into();
    body["data"]["itt_end_date"] = (begun + Days::new(TRAINING_DAYS)).to_string().into();
    body
}

/// The identifier of a trainee.
pub(crate) fn id(trainee: &Value) -> &str {
    trainee["trainee_id"]
        .as_str()
        .unwrap_or_else(|| panic!("no trainee: {trainee}"))
}

/// What differs between two states of a record, as it is in the later one; moments are left open.
fn changed(before: &Value, after: &Value) -> Map<String, Value> {
    let mut changed = Value::Object(Map::new());
    for (key, value) in after.as_object().unwrap() {
        if *value != before[key] {
            changed[key] = value.clone();
            if key.ends_with("_at") {
                leave_open(&mut changed, key);
            }
        }
    }
    match changed {
        Value::Object(changed) => changed,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
