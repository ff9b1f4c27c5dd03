//! The program under mixed load at the machine's limit, and then beside clients that abuse it, for
//! a long time.
//!
//! Nothing that was acknowledged is lost, and no answer is an error of the server's but a `503`
//! that says when to come again. A long run (`SOAK_SECONDS`) asks more: the server's memory stays
//! what it was after the warm-up, and ordinary clients keep at least half of their rate while
//! others abuse the server.

mod abuse;
mod connection;
pub(super) mod memory;
mod warming;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::abuse::{ABUSES, Abuse, Target};
use self::memory::Memory;
use self::warming::warm_up;
use super::client::Client;
use super::crash::{check, report, require_count};
use super::deployment::{SERVE, Server, Site};
use super::http::Caller;
use super::size::{seed, size};
use super::version_requests::Manner;

/// Ordinary clients that ask at once, each as fast as it is answered.
const CLIENTS: usize = 6;
/// How often each abuse is made: what one leaves behind may only be seen when it is made again.
const ROUNDS: usize = 2;
/// Share of the load of a long run for each abuse in a round, and for the quiet time beside it.
const ABUSES_IN_LOAD: usize = 40;
/// The least share of its rate that ordinary traffic keeps under abuse, in percent.
const LEAST_RATE: usize = 50;
/// The most that the server's memory may grow after the warm-up, in percent.
const MOST_GROWTH: usize = 10;
/// The systemd unit of the server. This test uses its settings of the C library, which decide how
/// much free memory a process keeps.
const UNIT: &str = include_str!("../../../../deploy/trainee-register.service");

/// How much a run does.
struct Plan {
    load: Duration,
    abuse: Duration,
    connections: usize,
    /// Trainees of another provider, who are there from the beginning.
    trainees: usize,
    /// Whether time and memory are compared with their bounds.
    is_long: bool,
}

impl Plan {
    fn from_environment() -> Self {
        match size("SOAK_SECONDS", 0) {
            0 => Self {
                load: Duration::from_secs(2),
                abuse: Duration::from_millis(150),
                connections: 20,
                trainees: 100,
                is_long: false,
            },
            seconds => {
                let load = Duration::from_secs(seconds as u64);
                let connections = size("SOAK_CONNECTIONS", 600);
                let abuse = Duration::from_secs(
                    size("SOAK_ABUSE_SECONDS", seconds / ABUSES_IN_LOAD) as u64,
                );
                Self {
                    load,
                    abuse,
                    connections,
                    trainees: 20_000,
                    is_long: true,
                }
            }
        }
    }
}

#[test]
fn abused_server_keeps_memory_and_ordinary_rate() {
    let (plan, seed, begun) = (Plan::from_environment(), seed(), Instant::now());
    let site = Site::new();
    let mut server = serve_as_installed(&site);
    let address = server.address.clone();
    let (manners, learned) = Manner::learn_all(&Caller::new(&site.token), &address);
    let target = Target {
        address: &address,
        token: &site.token,
        connections: plan.connections,
        seed,
    };
    warm_up(&site, &target, &manners[0], plan.trainees);
    let mut clients = Client::several(CLIENTS, &site.token, &manners, seed);
    let memory = Memory::watch(server.id(), plan.load / 400);

    let mut shares = Shares::default();
    under_load(&mut clients, &address, |rate| {
        eprintln!(
            "load: {} requests/s, {}",
            rate(plan.load),
            memory.in_words()
        );
        memory.end_part("the load");
        for _ in 0..ROUNDS {
            let mut quiet = rate(plan.abuse);
            for abuse in ABUSES {
                let (under_abuse, done) =
                    read_rate_under_abuse(abuse, &target, || rate(plan.abuse));
                let after = rate(plan.abuse);
                let share = shares.note(abuse.name, under_abuse, usize::midpoint(quiet, after));
                eprintln!(
                    "{:>28}: {done:6} times, {under_abuse} requests/s of ordinary clients beside {quiet} and {after} \
                     ({share} %), {}",
                    abuse.name,
                    memory.in_words()
                );
                quiet = after;
            }
            memory.end_part("a round of abuse");
        }
    });

    clients
        .iter_mut()
        .for_each(|client| client.compare(&address, true));
    require_count(&site, &address, learned, &clients);
    let growths = memory.finish();
    server.stop();
    check(&site);
    report(
        &format!("{:?}, load and abuse", site.kind()),
        &clients,
        begun,
    );
    if plan.is_long {
        assert!(
            !growths.is_empty(),
            "this system does not tell how much memory a process holds"
        );
        growths
            .iter()
            .for_each(|growth| eprintln!("memory: {growth}"));
        assert!(
            shares.slow().is_empty(),
            "ordinary clients were slowed down, in percent: {:?}",
            shares.slow()
        );
        assert!(
            growths
                .iter()
                .all(|growth| growth.in_percent() <= MOST_GROWTH),
            "the server's memory grows"
        );
    }
}

/// Starts a server as the unit does.
pub(super) fn serve_as_installed(site: &Site) -> Server {
    Server::start(as_installed(site))
}

/// The command of a server as the unit has it, as far as that can be seen in its memory.
pub(super) fn as_installed(site: &Site) -> Command {
    let settings = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix("Environment=")?.split_once('='));
    // The register of the test is a sandbox.
    let settings = settings.filter(|(name, _)| *name != "REGISTER_ENVIRONMENT");
    let mut command = site.command(&[], &SERVE);
    command.envs(settings);
    command
}

/// The rate of ordinary clients under each abuse, over all rounds, and that of the quiet times
/// beside it.
#[derive(Default)]
struct Shares(BTreeMap<&'static str, (usize, usize)>);

impl Shares {
    /// Notes what was measured once, and gives the share of the rate that was kept, in percent.
    fn note(&mut self, abuse: &'static str, under_abuse: usize, quiet: usize) -> usize {
        let (sum, quiet_sum) = self.0.entry(abuse).or_default();
        *sum += under_abuse;
        *quiet_sum += quiet;
        100 * under_abuse / quiet.max(1)
    }

    /// The abuses that reduced the rate too much.
    fn slow(&self) -> Vec<(&'static str, usize)> {
        let shares = self
            .0
            .iter()
            .map(|(abuse, (sum, quiet))| (*abuse, 100 * sum / (*quiet).max(1)));
        shares.filter(|(_, share)| *share < LEAST_RATE).collect()
    }
}

/// Lets the ordinary clients ask as long as `act` runs. It is given a function that waits and
/// measures their rate, in requests a second.
fn under_load(
    clients: &mut [Client<'_>],
    address: &str,
    act: impl FnOnce(&dyn Fn(Duration) -> usize),
) {
    let (answered, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ask = |client: &mut Client<'_>| {
        while !is_over.load(Ordering::Relaxed) {
            client.act(address);
            answered.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let asking: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || ask(client)))
            .collect();
        let _over = Over(&is_over);
        act(&|time| {
            let (from, begun) = (answered.load(Ordering::Relaxed), Instant::now());
            // A client that ends before it is told to has failed, and says so when the scope ends.
            while begun.elapsed() < time && !asking.iter().any(|writer| writer.is_finished()) {
                thread::sleep(Duration::from_millis(5).min(time));
            }
            let answered = answered.load(Ordering::Relaxed) - from;
            (answered as f64 / begun.elapsed().as_secs_f64()) as usize
        });
    });
}

/// Tells others that it is over once this is dropped, also where that comes of a failure.
pub(super) struct Over<'a>(pub(super) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has the server abused as long as something is measured. Says how often it was abused, too.
fn read_rate_under_abuse(
    abuse: &Abuse,
    target: &Target<'_>,
    measure: impl FnOnce() -> usize,
) -> (usize, usize) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let abusing = scope.spawn(|| (abuse.run)(target, &is_over));
        let measured = {
            let _over = Over(&is_over);
            measure()
        };
        (measured, abusing.join().unwrap())
    })
}
