//! Clients write as fast as they can while the server, or PostgreSQL itself, is killed again and
//! again.
//!
//! Afterwards every acknowledged write is there to the byte, every other one is there whole or not
//! at all, and sending it again makes it one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use domain::values::academic_year;
use fixtures::random::Random;
use serde_json::Value;
use test_support::{Kind, Tool, has_tools};

use super::client::{Client, Tally};
use super::deployment::Site;
use super::http::{Caller, Request};
use super::size::{seed, size};
use super::version_requests::{Manner, begun_on};

/// Clients that write at once.
const CLIENTS: usize = 8;
/// The most writes that are acknowledged between two kills.
const MOST_WRITES: usize = 120;
/// The longest time from the last of these to the kill, in microseconds: some writes are on their
/// way by then.
const LONGEST_DELAY: usize = 4_000;
/// The longest life of a server that is killed while it starts, in microseconds.
const LONGEST_START: usize = 60_000;
/// One of this number of starts is killed.
const STARTS: usize = 5;
/// The data is checked after this number of kills, and at the end.
const KILLS_BETWEEN_CHECKS: usize = 25;

#[test]
fn killed_server_keeps_every_acknowledged_write() {
    let (kills, seed, begun) = (size("CRASH_KILLS", 8), seed(), Instant::now());
    let random = Random::new(seed);
    let site = Site::new();
    // Also a database that is being made.
    (0..STARTS).for_each(|_| site.serve_and_kill(random.below(LONGEST_START) as u64));
    let mut server = site.serve();
    let (manners, learned) = Manner::learn_all(&Caller::new(&site.token), &server.address);
    let mut clients = Client::several(CLIENTS, &site.token, &manners, seed);
    for kill in 1..=kills {
        let (target, delay) = (
            random.below(MOST_WRITES),
            random.below(LONGEST_DELAY) as u64,
        );
        let (acknowledged, address) = (AtomicUsize::new(0), server.address.clone());
        thread::scope(|scope| {
            let write = |client: &mut Client<'_>| {
                while client.write(&address) {
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            };
            let writing: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(move || write(client)))
                .collect();
            // A client that ends before the server has failed, and says so when the scope ends.
            while acknowledged.load(Ordering::Relaxed) < target
                && !writing.iter().any(|writer| writer.is_finished())
            {
                thread::sleep(Duration::from_micros(200));
            }
            thread::sleep(Duration::from_micros(delay));
            server.kill();
        });
        if random.below(STARTS) == 0 {
            site.serve_and_kill(random.below(LONGEST_START) as u64);
        }
        server = site.serve();
        reconcile(&mut clients, &server.address, false);
        if kill % KILLS_BETWEEN_CHECKS == 0 {
            check(&site);
        }
    }
    reconcile(&mut clients, &server.address, true);
    require_count(&site, &server.address, learned, &clients);
    server.stop();
    check(&site);
    report(
        &format!("{:?}, {kills} kills of the server", site.kind()),
        &clients,
        begun,
    );
}

#[test]
fn server_keeps_acknowledged_writes_through_postgres_crashes() {
    if Kind::from_environment() != Kind::Postgres || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let (stops, seed, begun) = (size("POSTGRES_STOPS", 1), seed(), Instant::now());
    let random = Random::new(seed);
    let mut site = Site::on_own_cluster();
    let mut server = site.serve();
    let address = server.address.clone();
    let (manners, learned) = Manner::learn_all(&Caller::new(&site.token), &address);
    let mut clients = Client::several(CLIENTS, &site.token, &manners, seed);
    for _ in 0..stops {
        let target = random.below(MOST_WRITES);
        let (acknowledged, put_off) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let write = |client: &mut Client<'_>| {
                while !is_over.load(Ordering::Relaxed) {
                    if client.write(&address) {
                        acknowledged.fetch_add(1, Ordering::Relaxed);
                    } else {
                        put_off.fetch_add(1, Ordering::Relaxed);
                        client.resolve(&address);
                    }
                }
            };
            let writing: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(move || write(client)))
                .collect();
            let wait_for = |counter: &AtomicUsize, count: usize| {
                while counter.load(Ordering::Relaxed) < count
                    && !writing.iter().any(|writer| writer.is_finished())
                {
                    thread::sleep(Duration::from_micros(200));
                }
            };
            wait_for(&acknowledged, target);
            site.cluster().stop_immediately();
            wait_for(&put_off, 1);
            site.cluster().start_again();
            // The server finds its way back by itself: each client writes again.
            let back = acknowledged.load(Ordering::Relaxed) + CLIENTS;
            wait_for(&acknowledged, back);
            is_over.store(true, Ordering::Relaxed);
        });
        reconcile(&mut clients, &address, false);
    }
    reconcile(&mut clients, &address, true);
    require_count(&site, &address, learned, &clients);
    server.stop();
    check(&site);
    report(
        &format!("{stops} immediate stops of PostgreSQL"),
        &clients,
        begun,
    );
}

/// Each client finds out what became of its last write, and compares what it knows.
fn reconcile(clients: &mut [Client<'_>], address: &str, all: bool) {
    thread::scope(|scope| {
        for client in clients {
            scope.spawn(move || {
                client.resolve(address);
                client.compare(address, all);
            });
        }
    });
}

/// The register holds exactly the trainees of the clients and those of the calibration.
pub(crate) fn require_count(site: &Site, address: &str, learned: usize, clients: &[Client<'_>]) {
    let cycle = academic_year::starting_year(begun_on());
    let newest = versions::all().newest().unwrap().version.label;
    let list = Request::get(format!(
        "/api/{newest}/trainees?per_page=1&academic_cycle={cycle}"
    ));
    let count = Caller::new(&site.token).ask(address, &list).json()["meta"]["total_count"].take();
    let known: usize = clients.iter().map(Client::count).sum();
    assert_eq!(count, Value::from(known + learned));
}

/// Has the program look through the data for what is wrong with it.
pub(crate) fn check(site: &Site) {
    site.run(&["check"]);
}

/// Says what was done.
pub(crate) fn report(what: &str, clients: &[Client<'_>], begun: Instant) {
    let tally = Tally::from_clients(clients);
    let records: usize = clients.iter().map(Client::count).sum();
    eprintln!(
        "{what}: {} acknowledged, {} unacknowledged found whole, {} absent, {records} records, {} comparisons, {:.1} s",
        tally.acknowledged,
        tally.found_whole,
        tally.found_absent,
        tally.compared,
        begun.elapsed().as_secs_f64()
    );
    for (endpoint, count) in tally.by_endpoint {
        eprintln!("  {count:6} {endpoint}");
    }
}
