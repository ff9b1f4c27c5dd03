//! A list is read page by page while others change it: by its links, which show every trainee, and
//! beside that by page numbers, which do not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use domain::values::academic_year;
use fixtures::random::Random;
use serde_json::json;

use super::super::deployment::Servers;
use super::super::http::{Caller, Reply, Request};
use super::super::size::{seed, size};
use super::super::soak::Over;
use super::super::version_requests::{Manner, Person, begun_on, id};

/// Trainees that are registered at once.
const AT_ONCE: usize = 100;
/// Updates a second.
const RATES: [usize; 2] = [5, 50];
/// Clients that make them.
const WRITERS: usize = 5;

/// An update that was acknowledged.
struct Update {
    trainee: String,
    updated_at: String,
    answered: Instant,
}

/// A list that was read from its first page to its end.
struct Walk {
    pages: usize,
    /// Each trainee with the times of its shown changes.
    shown: BTreeMap<String, Vec<String>>,
    last_requested: Instant,
}

/// What is wrong with a walk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Faults {
    missed: usize,
    /// The trainees that did not change.
    missed_unchanged: usize,
    /// How often a trainee was shown again as it was shown before.
    repeated: usize,
    /// Trainees that were last shown as they were before a change that was acknowledged before the
    /// last page was requested.
    outdated: usize,
}

impl Walk {
    fn begin() -> Self {
        Self {
            pages: 0,
            shown: BTreeMap::new(),
            last_requested: Instant::now(),
        }
    }

    fn page(&mut self, caller: &Caller, address: &str, path: &str) -> Reply {
        self.last_requested = Instant::now();
        let reply = caller.insist(address, &Request::get(path));
        if reply.status == 404 {
            return reply;
        }
        assert_eq!(reply.status, 200, "{reply:?}");
        self.pages += 1;
        for record in reply.json()["data"].as_array().unwrap() {
            let updated_at = record["updated_at"].as_str().unwrap().to_owned();
            self.shown
                .entry(id(record).to_owned())
                .or_default()
                .push(updated_at);
        }
        reply
    }

    fn faults(&self, all: &BTreeSet<String>, updates: &[Update]) -> Faults {
        let missed: Vec<&String> = all
            .iter()
            .filter(|trainee| !self.shown.contains_key(*trainee))
            .collect();
        let is_changed = |trainee: &str| updates.iter().any(|update| update.trainee == trainee);
        let again = |times: &Vec<String>| times.len() - times.iter().collect::<BTreeSet<_>>().len();
        let is_outdated = |update: &&Update| {
            let last = self
                .shown
                .get(&update.trainee)
                .and_then(|times| times.last());
            update.answered < self.last_requested
                && last.is_some_and(|last| *last < update.updated_at)
        };
        let outdated: BTreeSet<&str> = updates
            .iter()
            .filter(is_outdated)
            .map(|update| update.trainee.as_str())
            .collect();
        Faults {
            missed: missed.len(),
            missed_unchanged: missed.iter().filter(|trainee| !is_changed(trainee)).count(),
            repeated: self.shown.values().map(again).sum(),
            outdated: outdated.len(),
        }
    }
}

/// The list that is read, and who reads it.
struct Experiment {
    servers: Servers,
    manner: Manner,
    /// The trainees that every writer may change.
    changeable: Vec<String>,
    all: BTreeSet<String>,
    /// How long a client waits before it requests another page.
    pause: Duration,
    /// The seed of the next writer.
    seed: AtomicU64,
}

impl Experiment {
    fn begin() -> Self {
        let servers = Servers::start();
        let caller = Caller::new(&servers.site.token);
        let (mut manners, _) = Manner::learn_all(&caller, servers.address(0));
        let manner = manners.pop().unwrap();
        let mut changeable = Vec::new();
        for number in 0..size("FOLLOWED_TRAINEES", 300).div_ceil(AT_ONCE) {
            let reply = caller.ask(
                servers.address(number),
                &manner.create_many(&format!("list{number}x"), AT_ONCE),
            );
            for result in reply.json()["data"].as_array().unwrap() {
                assert_eq!(result["status"], 201, "{result}");
                changeable.push(id(&result["data"]).to_owned());
            }
        }
        let pause = Duration::from_millis(size("FOLLOWING_PAUSE_MS", 100) as u64);
        let mut this = Self {
            servers,
            manner,
            changeable,
            all: BTreeSet::new(),
            pause,
            seed: seed().into(),
        };
        this.all = this
            .by_links("asc", "&per_page=500")
            .shown
            .into_keys()
            .collect();
        this
    }

    fn path(&self, order: &str) -> String {
        let path = self.manner.path(Endpoint::ListTrainees, "", "");
        format!(
            "{path}?academic_cycle={}&sort_order={order}",
            academic_year::starting_year(begun_on())
        )
    }

    /// Each page through the next server.
    fn by_links(&self, order: &str, others: &str) -> Walk {
        let (caller, mut walk) = (Caller::new(&self.servers.site.token), Walk::begin());
        let mut next = Some(self.path(order) + others);
        while let Some(path) = next {
            let reply = walk.page(&caller, self.servers.address(walk.pages), &path);
            next = reply.linked("next").map(str::to_owned);
            if next.is_some() {
                thread::sleep(self.pause);
            }
        }
        walk
    }

    fn by_number(&self, order: &str) -> Walk {
        let (caller, mut walk) = (Caller::new(&self.servers.site.token), Walk::begin());
        let path = self.path(order);
        for number in 1.. {
            let page = walk.page(
                &caller,
                self.servers.address(number),
                &format!("{path}&page={number}"),
            );
            if page.status == 404 {
                break;
            }
            thread::sleep(self.pause);
        }
        walk
    }

    /// Makes its share of the updates, paced by the clock, until the run ends.
    fn update(&self, writer: usize, rate: usize, is_over: &AtomicBool) -> Vec<Update> {
        let (caller, mut updates) = (Caller::new(&self.servers.site.token), Vec::new());
        let random = Random::new(self.seed.fetch_add(1, Ordering::Relaxed));
        let begun = Instant::now();
        for number in (writer..).step_by(WRITERS) {
            let due = Duration::from_secs_f64(number as f64 / rate as f64);
            while begun.elapsed() < due {
                if is_over.load(Ordering::Relaxed) {
                    return updates;
                }
                thread::sleep(Duration::from_millis(5).min(due.saturating_sub(begun.elapsed())));
            }
            let trainee = random.pick(&self.changeable).unwrap();
            let name = Person::new("Changed", random.below(1_000_000_000)).last_name;
            let path = self.manner.path(Endpoint::UpdateTrainee, trainee, "");
            let body = json!({ "data": { "middle_names": name } });
            let reply = caller.insist(
                self.servers.address(writer),
                &Request::with_body("PATCH", path, &body),
            );
            assert_eq!(reply.status, 200, "{reply:?}");
            let updated_at = reply.json()["data"]["updated_at"]
                .as_str()
                .unwrap()
                .to_owned();
            updates.push(Update {
                trainee: trainee.clone(),
                updated_at,
                answered: Instant::now(),
            });
        }
        updates
    }

    /// Reads the list in both ways at the same time, while clients change a number of trainees a
    /// second.
    fn run(&self, order: &str, rate: usize) -> ([(Walk, Faults); 2], usize) {
        let (is_over, updates) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let walks = thread::scope(|scope| {
            let _over = Over(&is_over);
            for writer in 0..WRITERS {
                let (updates, is_over) = (&updates, &is_over);
                scope.spawn(move || {
                    let made = self.update(writer, rate, is_over);
                    updates.lock().unwrap().extend(made);
                });
            }
            let by_number = scope.spawn(|| self.by_number(order));
            let by_links = self.by_links(order, "");
            [by_links, by_number.join().unwrap()]
        });
        let updates = updates.into_inner().unwrap();
        let judged = walks.map(|walk| {
            let faults = walk.faults(&self.all, &updates);
            (walk, faults)
        });
        (judged, updates.len())
    }
}

#[test]
fn client_following_list_links_misses_nothing() {
    let (experiment, runs) = (Experiment::begin(), size("FOLLOWING_RUNS", 1));
    let kind = experiment.servers.site.kind();
    for order in ["asc", "desc"] {
        for rate in RATES {
            for run in 1..=runs {
                let ([(by_links, faults), (by_number, faults_by_number)], updates) =
                    experiment.run(order, rate);
                eprintln!(
                    "{kind:?}, {order}, {rate} updates/s, run {run}: {} trainees, {updates} updates; by links {} pages, {} \
                     missed, {} repeated; by number {} pages, {} missed ({} of them unchanged), {} repeated",
                    experiment.all.len(),
                    by_links.pages,
                    faults.missed,
                    faults.repeated,
                    by_number.pages,
                    faults_by_number.missed,
                    faults_by_number.missed_unchanged,
                    faults_by_number.repeated
                );
                assert!(updates > 0);
                assert_eq!(faults, Faults::default());
            }
        }
    }
    experiment.servers.stop();
}
