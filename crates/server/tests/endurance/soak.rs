//! The program under mixed load at the machine's limit, and then beside clients that abuse it, for a long time.
//!
//! Nothing that was acknowledged is lost, and no answer is an error of the server's but a `503` that says when to come
//! again. A long run (`SOAK_SECONDS`) asks more: the server's memory stays what it was after the warm-up, and ordinary
//! clients keep at least half of their rate while others abuse the server.

mod abuse;
mod connection;
mod memory;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::abuse::{ABUSES, Abuse, Target};
use self::memory::Memory;
use super::client::Client;
use super::crash::{check, report, require_count};
use super::http::Caller;
use super::manner::Manner;
use super::site::Site;
use super::size::{seed, size};

/// Ordinary clients that ask at once, each as fast as it is answered.
const CLIENTS: usize = 6;
/// A long run takes so much of its load again for each abuse, and for the quiet time beside it.
const ABUSES_IN_LOAD: u32 = 20;
/// The least share of its rate that ordinary traffic keeps under abuse, in percent.
const LEAST_RATE: usize = 50;
/// The most that the server's memory may grow after the warm-up, in percent.
const MOST_GROWTH: usize = 10;

/// How much a run does.
struct Plan {
    load: Duration,
    abuse: Duration,
    connections: usize,
    /// Whether time and memory are held against their bounds.
    is_long: bool,
}

impl Plan {
    fn of_this_run() -> Self {
        match size("SOAK_SECONDS", 0) {
            0 => Self {
                load: Duration::from_secs(2),
                abuse: Duration::from_millis(300),
                connections: 20,
                is_long: false,
            },
            seconds => {
                let load = Duration::from_secs(seconds as u64);
                let connections = size("SOAK_CONNECTIONS", 600);
                Self { load, abuse: load / ABUSES_IN_LOAD, connections, is_long: true }
            }
        }
    }
}

#[test]
fn a_server_under_load_and_abuse_stays_what_it_was() {
    let (plan, seed, begun) = (Plan::of_this_run(), seed(), Instant::now());
    let site = Site::new();
    let mut server = site.serve();
    let address = server.address.clone();
    let (manners, learned) = Manner::learn_all(&Caller::new(&site.token), &address);
    let mut clients = Client::several(CLIENTS, &site.token, &manners, seed);
    let memory = Memory::watch(server.id(), plan.load / 400);

    let mut ratios = Vec::new();
    under_load(&mut clients, &address, |rate| {
        let loaded = rate(plan.load);
        eprintln!("load: {loaded} requests/s, {}", memory.in_words());
        memory.mark_end_of_load();
        let mut quiet = rate(plan.abuse);
        for abuse in ABUSES {
            let target = Target { address: &address, token: &site.token, connections: plan.connections, seed };
            let (rate_under, done) = beside(abuse, &target, || rate(plan.abuse));
            let after = rate(plan.abuse);
            let ratio = 100 * rate_under / ((quiet + after) / 2).max(1);
            eprintln!(
                "{:>28}: {done:6} times, {rate_under} requests/s of ordinary clients beside {quiet} and {after} \
                 ({ratio} %), {}",
                abuse.name,
                memory.in_words()
            );
            ratios.push((abuse.name, ratio));
            quiet = after;
        }
    });

    clients.iter_mut().for_each(|client| client.compare(&address, true));
    require_count(&site, &address, learned, &clients);
    let growth = memory.finish();
    server.stop();
    check(&site);
    report(&format!("{:?}, load and abuse", site.kind()), &clients, begun);
    if plan.is_long {
        let slow: Vec<_> = ratios.iter().filter(|(_, ratio)| *ratio < LEAST_RATE).collect();
        assert!(slow.is_empty(), "ordinary clients were slowed down, in percent: {slow:?}");
        let growth = growth.expect("this system tells how much memory a process holds");
        eprintln!("{growth}");
        assert!(growth.in_percent() <= MOST_GROWTH, "{growth}");
    }
}

/// Lets the ordinary clients ask as long as `act` runs. It is given a function that waits and measures their rate, in
/// requests a second.
fn under_load(clients: &mut [Client<'_>], address: &str, act: impl FnOnce(&dyn Fn(Duration) -> usize)) {
    let (answered, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ask = |client: &mut Client<'_>| {
        while !is_over.load(Ordering::Relaxed) {
            client.act(address);
            answered.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let asking: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || ask(client))).collect();
        act(&|time| {
            let (from, begun) = (answered.load(Ordering::Relaxed), Instant::now());
            // A client that ends before it is told to has failed, and says so when the scope ends.
            while begun.elapsed() < time && !asking.iter().any(|one| one.is_finished()) {
                thread::sleep(Duration::from_millis(5).min(time));
            }
            let answered = answered.load(Ordering::Relaxed) - from;
            (answered as f64 / begun.elapsed().as_secs_f64()) as usize
        });
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Has the server abused as long as something is measured. Says how often it was abused, too.
fn beside(abuse: &Abuse, target: &Target<'_>, measure: impl FnOnce() -> usize) -> (usize, usize) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let abusing = scope.spawn(|| (abuse.run)(target, &is_over));
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        (measured, abusing.join().unwrap())
    })
}
