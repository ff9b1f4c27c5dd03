//! Trainees with different sets of optional fields cost a server no more memory than trainees with
//! the same set.
//!
//! A small run shows that they are registered. A long one (`MEMORY_CREATES=20000`) measures: the
//! same number of trainees goes to two servers over two fresh databases, to the one with equal
//! fields and to the other with random sets of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, thread};

use adapter_kit::{ApiVersion, Endpoint, WireRecord as _};
use domain::{Trainee, TraineeField};
use fixtures::random::Random;
use serde_json::{Map, Value, json};
use version_tools::openapi::examples;

use super::deployment::Site;
use super::http::{Caller, Request};
use super::size::{seed, size};
use super::soak::memory::resident;
use super::soak::serve_as_installed;
use super::version_requests::Person;

/// Clients that register trainees at once.
const CLIENTS: usize = 4;
/// From this number of trainees on, the memory is compared with its bound.
const MEASURED: usize = 5_000;
/// The most memory that a server may hold beside one whose trainees are alike, in percent.
const MOST: usize = 110;

/// Fields that the example does not have, with values that go with it.
const MORE: [(TraineeField, &str); 5] = [
    (TraineeField::middle_names, "Middle"),
    (TraineeField::previous_last_name, "Before"),
    (TraineeField::application_id, "A-1"),
    (TraineeField::course_subject_2, "100425"),
    (TraineeField::training_partner_ukprn, "10090101"),
];

/// The body of a registration, and the keys that it can do without.
struct Bodies {
    path: String,
    whole: Map<String, Value>,
    optional: Vec<String>,
}

impl Bodies {
    /// Finds out from a server which keys are optional.
    fn learn(version: &ApiVersion, caller: &Caller, address: &str) -> Self {
        let path = format!("/api/{}{}", version.label, Endpoint::CreateTrainee.path());
        let example = examples::request(version, Endpoint::CreateTrainee).unwrap()["data"].take();
        let mut whole = example.as_object().unwrap().clone();
        let is_accepted = |body: &Map<String, Value>| {
            let request = Request::with_body("POST", &path, &json!({ "data": body }));
            caller
                .insist(address, &request.with("Prefer", "validate-only"))
                .status
                == 201
        };
        for (field, value) in MORE {
            let mut more = whole.clone();
            more.insert(
                Trainee::inputs(version).name_of(field).unwrap().to_owned(),
                value.into(),
            );
            if is_accepted(&more) {
                whole = more;
            }
        }
        let can_go = |key: &&String| {
            let mut less = whole.clone();
            less.shift_remove(*key);
            is_accepted(&less)
        };
        let optional = whole.keys().filter(can_go).cloned().collect();
        Self {
            path,
            whole,
            optional,
        }
    }

    /// A registration of a person, with a random set of the optional keys or with all of them.
    fn create(&self, person: &Person, random: Option<&Random>) -> Request {
        let mut body = self.whole.clone();
        body["last_name"] = person.last_name.clone().into();
        body["email"] = person.email.clone().into();
        if let Some(random) = random {
            self.optional
                .iter()
                .filter(|_| random.chance(50))
                .for_each(|key| drop(body.shift_remove(key)));
        }
        Request::with_body("POST", self.path.clone(), &json!({ "data": body }))
    }
}

/// Memory of a server before and after the registrations, in KiB, and the number of refused ones.
struct Measured {
    before: usize,
    after: usize,
    refused: usize,
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = [self.before, self.after].map(|kib| kib as f64 / 1024.0);
        write!(
            formatter,
            "{before:.1} MiB before, {after:.1} MiB after; {} requests were refused",
            self.refused
        )
    }
}

/// Registers a number of trainees at a separate server.
fn measured_memory(count: usize, seed: Option<u64>) -> Measured {
    let site = Site::new();
    let mut server = serve_as_installed(&site);
    let (address, caller) = (server.address.clone(), Caller::new(&site.token));
    let bodies = Bodies::learn(versions::all().newest().unwrap().version, &caller, &address);
    assert!(bodies.optional.len() >= 10, "{:?}", bodies.optional);
    let before = resident(server.id()).unwrap_or_default();
    let (created, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (bodies, created, refused, address) = (&bodies, &created, &refused, &address);
            let (caller, random) = (
                caller.clone(),
                seed.map(|seed| Random::new(seed + client as u64)),
            );
            scope.spawn(move || {
                let who = char::from(b'A' + u8::try_from(client).unwrap()).to_string();
                for number in 0.. {
                    if created.load(Ordering::Relaxed) >= count {
                        break;
                    }
                    let request = bodies.create(&Person::new(&who, number), random.as_ref());
                    match caller.insist(address, &request).status {
                        201 => created.fetch_add(1, Ordering::Relaxed),
                        // Some fields are optional, and not without each other.
                        422 => refused.fetch_add(1, Ordering::Relaxed),
                        status => panic!("{status}"),
                    };
                }
            });
        }
    });
    let after = resident(server.id()).unwrap_or_default();
    server.stop();
    Measured {
        before,
        after,
        refused: refused.into_inner(),
    }
}

#[test]
fn memory_does_not_depend_on_which_optional_fields_trainees_have() {
    let (count, seed) = (size("MEMORY_CREATES", 40), seed());
    let equal = measured_memory(count, None);
    let varied = measured_memory(count, Some(seed));
    eprintln!("{count} trainees with equal fields: {equal}");
    eprintln!("{count} trainees with random sets of optional fields: {varied}");
    assert!(
        equal.refused == 0 && varied.refused < count,
        "{equal} beside {varied}"
    );
    if count >= MEASURED {
        assert!(
            equal.after > 0,
            "this system does not tell how much memory a process holds"
        );
        assert!(
            varied.after * 100 <= equal.after * MOST,
            "{varied} beside {equal}"
        );
    }
}
