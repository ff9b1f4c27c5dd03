//! Readers follow the changes from different cursors while others write, are killed and go on from
//! what they had stored: in the end each has what the register shows.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::client::{Client, Tally};
use super::super::crash::check;
use super::super::deployment::Servers;
use super::super::http::Caller;
use super::super::size::{seed, size};
use super::super::version_requests::Manner;
use super::mirror::Mirror;
use super::writers::{Mover, discard};

/// Trainees that are there before anybody writes.
const TRAINEES: usize = 200;
/// A reader stores its state once in this number of replies.
const STORED_EVERY: usize = 3;
/// How long a reader that has everything waits before its next request.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the last changes may take to be shown.
const MOST_DELAY: Duration = Duration::from_secs(30);

/// How a reader follows.
struct ReaderPlan {
    limit: usize,
    /// In seconds.
    wait: usize,
    /// When it begins, and when it is killed, in percent of the time.
    begins: u32,
    killed: u32,
    /// Whether it had a copy before anybody wrote.
    has_copy: bool,
}

/// In the order of the fields.
const READERS: [ReaderPlan; 4] = [
    ReaderPlan::new(500, 0, 0, 50, false),
    ReaderPlan::new(50, 0, 50, 70, false),
    ReaderPlan::new(100, 5, 0, 40, true),
    ReaderPlan::new(17, 0, 25, 60, false),
];

impl ReaderPlan {
    const fn new(limit: usize, wait: usize, begins: u32, killed: u32, has_copy: bool) -> Self {
        Self {
            limit,
            wait,
            begins,
            killed,
            has_copy,
        }
    }
}

/// What became of a reader, and in how many academic cycles there are trainees.
struct Followed {
    line: String,
    cycles: usize,
}

fn follow(
    mut mirror: Mirror<'_>,
    reader: &ReaderPlan,
    time: Duration,
    is_over: &AtomicBool,
) -> Followed {
    let begun = Instant::now();
    while begun.elapsed() < time * reader.begins / 100 {
        thread::sleep(PAUSE);
    }
    while !is_over.load(Ordering::Relaxed) {
        let has_more = mirror.request();
        if mirror.forgotten.is_none() && begun.elapsed() > time * reader.killed / 100 {
            mirror.kill();
        } else if mirror.requests.is_multiple_of(STORED_EVERY) {
            mirror.store();
        }
        if !has_more && mirror.wait == 0 {
            thread::sleep(PAUSE);
        }
    }
    let ended = Instant::now();
    mirror.wait = 0;
    let (register, cycles) = mirror.register();
    while mirror.trainees != register && ended.elapsed() < MOST_DELAY {
        let has_more = mirror.request();
        if mirror.forgotten.is_none() {
            // Nothing was shown before.
            mirror.kill();
        } else if !has_more {
            mirror.store();
        }
        if !has_more {
            thread::sleep(PAUSE);
        }
    }
    let differences = mirror.differences(&register);
    assert!(
        differences.is_empty(),
        "limit={}: {}",
        mirror.limit,
        differences.join("\n")
    );
    let forgotten = mirror.forgotten.expect("the reader was never killed");
    let line = format!(
        "limit={}: {} trainees after {} requests with {} changes, {} of them removals, {forgotten} forgotten when killed; \
         equal {:.1} s after the last write",
        mirror.limit,
        register.len(),
        mirror.requests,
        mirror.changes,
        mirror.removed,
        ended.elapsed().as_secs_f64()
    );
    Followed {
        line,
        cycles: cycles.len(),
    }
}

#[test]
fn copies_made_during_writes_are_correct() {
    let servers = Servers::start();
    let (seed, time) = (
        seed(),
        Duration::from_secs(size("FOLLOWING_SECONDS", 5) as u64),
    );
    let writers = size("FOLLOWING_WRITERS", 6);
    let caller = Caller::new(&servers.site.token);
    let (manners, _) = Manner::learn_all(&caller, servers.address(0));
    let before = caller.ask(
        servers.address(1),
        &manners[0].create_many("before", TRAINEES),
    );
    assert_eq!(before.status, 200, "{before:?}");

    let mirrors = READERS.iter().enumerate().map(|(number, reader)| {
        let mut mirror = Mirror::new(
            &servers,
            &manners[number % manners.len()],
            reader.limit,
            reader.wait,
        );
        if reader.has_copy {
            mirror.wait = 0;
            mirror.follow();
            mirror.wait = reader.wait;
        }
        mirror
    });
    let mirrors: Vec<Mirror<'_>> = mirrors.collect();
    let mut clients = Client::several(writers / 2, &servers.site.token, &manners, seed);
    let movers = (0..writers - writers / 2)
        .map(|number| Mover::new(&servers.site.token, &manners, number, seed + number as u64));
    let mut movers: Vec<Mover<'_>> = movers.collect();
    let (to_discard, until) = (Mutex::new(Vec::new()), Instant::now() + time);
    let (are_writing, is_over, discarded) = (
        AtomicBool::new(true),
        AtomicBool::new(false),
        AtomicUsize::new(0),
    );
    let followed: Vec<Followed> = thread::scope(|scope| {
        let (servers, to_discard, is_over) = (&servers, &to_discard, &is_over);
        let operator = scope.spawn(|| {
            while are_writing.load(Ordering::Relaxed) || !to_discard.lock().unwrap().is_empty() {
                discarded.fetch_add(discard(&servers.site, to_discard), Ordering::Relaxed);
                thread::sleep(PAUSE);
            }
        });
        let readers = mirrors.into_iter().zip(&READERS);
        let readers: Vec<_> = readers
            .map(|(mirror, reader)| scope.spawn(move || follow(mirror, reader, time, is_over)))
            .collect();
        let of_clients = clients.iter_mut().enumerate().map(|(number, client)| {
            scope.spawn(move || {
                while Instant::now() < until {
                    if !client.write(servers.address(number)) {
                        client.resolve(servers.address(number));
                    }
                }
            })
        });
        let mut writing: Vec<_> = of_clients.collect();
        writing.extend(movers.iter_mut().enumerate().map(|(number, mover)| {
            scope.spawn(move || {
                while Instant::now() < until {
                    mover.write(servers.address(number), to_discard);
                }
            })
        }));
        let written: Vec<_> = writing
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        are_writing.store(false, Ordering::Relaxed);
        let operated = operator.join();
        is_over.store(true, Ordering::Relaxed);
        written.into_iter().for_each(|one| one.unwrap());
        operated.unwrap();
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect()
    });

    let mut writes: BTreeMap<&str, usize> = BTreeMap::new();
    for (what, count) in movers.iter().flat_map(|mover| &mover.writes) {
        *writes.entry(what).or_default() += count;
    }
    let discarded = discarded.into_inner();
    let others = Tally::from_clients(&clients).acknowledged;
    eprintln!(
        "{:?}: {writers} writers in {} s: {writes:?}, {discarded} discarded, {others} other writes of all kinds",
        servers.site.kind(),
        time.as_secs()
    );
    followed
        .iter()
        .for_each(|reader| eprintln!("  {}", reader.line));
    assert!(
        discarded > 0
            && ["registration", "batch", "move", "update"]
                .iter()
                .all(|what| writes.contains_key(what))
    );
    assert!(
        followed.iter().all(|reader| reader.cycles > 1),
        "no trainee was moved to another cycle"
    );
    check(&servers.site);
    servers.stop();
}
