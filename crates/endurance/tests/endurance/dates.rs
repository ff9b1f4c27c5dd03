//! The dates of changes while clients write as fast as they can: how far they are ahead of the
//! clock, how many changes share one, and whether a client that polls sees every record.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use chrono::{DateTime, Datelike as _, TimeDelta, Utc};
use serde_json::json;
use test_support::Kind;

use super::http::{Caller, Request};
use super::race::Servers;
use super::size::size;
use super::version_requests::{Manner, Person, begun_on, id};

/// Clients that write.
const WRITERS: usize = 32;
/// Trainees that they change.
const TRAINEES: usize = 200;
/// Writers that all change one trainee.
const WRITERS_OF_ONE: usize = 8;
/// Records on a page of the client that polls.
const PER_PAGE: usize = 50;
/// How long a run is in every build, in milliseconds.
const SHORT_MS: usize = 1_500;

/// A change that was acknowledged.
struct Change {
    trainee: usize,
    updated_at: DateTime<Utc>,
    /// How far its date was ahead of the clock when its reply had arrived.
    lead: TimeDelta,
}

/// A client that takes the date of the last record on its page as its cursor.
struct Poller<'a> {
    caller: &'a Caller,
    address: &'a str,
    path: String,
    /// How far back each round begins.
    margin: TimeDelta,
    cursor: DateTime<Utc>,
    seen: HashMap<String, DateTime<Utc>>,
}

impl Poller<'_> {
    /// Reads pages until one is not full.
    fn poll(&mut self) {
        let mut since = self.cursor - self.margin;
        loop {
            let moment = since.format("%Y-%m-%dT%H:%M:%S%.3fZ");
            let query = format!("{}&since={moment}", self.path);
            let reply = self.caller.ask(self.address, &Request::get(query));
            if reply.status == 404 {
                return;
            }
            assert_eq!(reply.status, 200, "{reply:?}");
            let body = reply.json();
            let page = body["data"].as_array().unwrap();
            for record in page {
                let updated_at = timestamp_of(&record["updated_at"]);
                self.cursor = self.cursor.max(updated_at);
                self.seen.insert(id(record).to_owned(), updated_at);
            }
            let last = timestamp_of(&page.last().unwrap()["updated_at"]);
            if page.len() < PER_PAGE {
                return;
            }
            assert!(last > since, "the client is stuck at {since}");
            since = last;
        }
    }
}

fn timestamp_of(text: &serde_json::Value) -> DateTime<Utc> {
    text.as_str().unwrap().parse().unwrap()
}

#[test]
fn dates_follow_the_clock_and_polling_clients_miss_nothing() {
    let servers = Servers::start();
    let caller = Caller::new(&servers.site.token);
    let (manners, _) = Manner::learn_all(&caller, servers.address(0));
    let manner = manners.last().unwrap();
    let trainees: Vec<String> = (0..TRAINEES)
        .map(|number| {
            let reply = caller.ask(
                servers.address(number),
                &manner.create(&Person::new("Dates", number)),
            );
            assert_eq!(reply.status, 201, "{reply:?}");
            id(&reply.json()["data"]).to_owned()
        })
        .collect();

    let is_over = AtomicBool::new(false);
    let changes = Mutex::new(Vec::new());
    let begun = begun_on();
    let cycle = if begun.month() >= 8 {
        begun.year()
    } else {
        begun.year() - 1
    };
    let list = manner.path(Endpoint::ListTrainees, "", "");
    let mut poller = Poller {
        caller: &caller,
        address: servers.address(1),
        path: format!("{list}?academic_cycle={cycle}&sort_order=asc&per_page={PER_PAGE}"),
        // As the guide says: commits overlap on PostgreSQL.
        margin: if servers.site.kind() == Kind::Sqlite {
            TimeDelta::zero()
        } else {
            TimeDelta::minutes(1)
        },
        cursor: Utc::now() - TimeDelta::minutes(10),
        seen: HashMap::new(),
    };
    let started = Instant::now();
    let until = started + Duration::from_millis(size("DATES_MS", SHORT_MS) as u64);
    thread::scope(|scope| {
        let (changes, servers, trainees, is_over) = (&changes, &servers, &trainees, &is_over);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let caller = Caller::new(&servers.site.token);
                    let mut mine = Vec::new();
                    let mut step = 0;
                    while Instant::now() < until {
                        let trainee = if writer < WRITERS_OF_ONE {
                            0
                        } else {
                            (writer * 37 + step * 11) % TRAINEES
                        };
                        let names = Person::new("Dates", writer * 1_000_000 + step).last_name;
                        step += 1;
                        let path = manner.path(Endpoint::UpdateTrainee, &trainees[trainee], "");
                        let request = Request::with_body(
                            "PATCH",
                            path,
                            &json!({ "data": { "middle_names": names } }),
                        );
                        let reply = caller.ask(servers.address(writer), &request);
                        let now = Utc::now();
                        if reply.is_put_off() {
                            continue;
                        }
                        assert_eq!(reply.status, 200, "{reply:?}");
                        let updated_at = timestamp_of(&reply.json()["data"]["updated_at"]);
                        mine.push(Change {
                            trainee,
                            updated_at,
                            lead: updated_at - now,
                        });
                    }
                    changes.lock().unwrap().append(&mut mine);
                })
            })
            .collect();
        let poller = &mut poller;
        let polling = scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                poller.poll();
            }
            // What was changed last.
            poller.poll();
        });
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
        polling.join().unwrap();
    });
    let elapsed = started.elapsed();

    let changes = changes.into_inner().unwrap();
    let mut last: HashMap<&str, DateTime<Utc>> = HashMap::new();
    let mut shared: HashMap<DateTime<Utc>, usize> = HashMap::new();
    let mut of_one = HashSet::new();
    for change in &changes {
        assert!(
            of_one.insert((change.trainee, change.updated_at)),
            "two changes of one trainee have the same date"
        );
        *shared.entry(change.updated_at).or_default() += 1;
        let last = last
            .entry(&trainees[change.trainee])
            .or_insert(change.updated_at);
        *last = change.updated_at.max(*last);
    }
    let lead = changes.iter().map(|change| change.lead).max().unwrap();
    let most = shared.values().max().unwrap();
    let often = changes.iter().filter(|change| change.trainee == 0).count();
    eprintln!(
        "{:?}, dates: {} changes in {:.1} s, {often} of them of one trainee, at most {} ms ahead of the clock, at most \
         {most} in a millisecond",
        servers.site.kind(),
        changes.len(),
        elapsed.as_secs_f64(),
        lead.num_milliseconds(),
    );
    assert!(lead <= TimeDelta::seconds(1), "{lead}");
    assert!(*most <= 40, "{most}");
    for (trainee, updated_at) in last {
        assert_eq!(poller.seen.get(trainee), Some(&updated_at), "{trainee}");
    }
    servers.stop();
}
