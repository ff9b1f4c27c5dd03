//! Ordinary requests beside many with invented tokens: valid tokens are not delayed.
//!
//! A long run (`UNKNOWN_TOKEN_SECONDS`, for each part) holds the time of ordinary requests against
//! its bound.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fixtures::random::Random;
use server::sandbox::demo;

use super::deployment::{SERVE, Server, Site};
use super::http::{Caller, Request};
use super::size::{seed, size};

/// Clients that invent tokens, each on its own connection.
const INVENTORS: usize = 10;
/// Ordinary requests in a second.
const ORDINARY_RATE: usize = 100;
/// How many times as long as otherwise an ordinary request may take, at the 99th percentile.
const MOST_TIMES: u32 = 2;
/// How often a valid token that the server has not seen is sent, a second apart.
const MOST_TRIES: usize = 10;

/// Where those who invent tokens come from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// One address, which is that of the ordinary clients too.
    OneAddress,
    /// A different address for each request, as a trusted proxy reports it.
    ManyAddresses,
}

#[test]
fn ordinary_requests_beside_invented_tokens_are_answered_as_before() {
    let seconds = size("UNKNOWN_TOKEN_SECONDS", 0);
    let (time, rate) = match seconds {
        0 => (Duration::from_millis(500), 200),
        seconds => (
            Duration::from_secs(seconds as u64),
            size("INVENTED_RATE", 500),
        ),
    };
    let site = Site::new();
    let trusted = [SERVE.as_slice(), &["--trusted-proxies", "127.0.0.1"]].concat();
    let mut server = Server::start(site.command(&[], &trusted));
    let address = server.address.clone();
    let newest = versions::all().newest().unwrap().version;
    let trainees = format!("/api/{}/trainees", newest.label);
    let caller = Caller::new(&site.token);
    let body = serde_json::from_str(&demo::example(newest)).unwrap();
    let created = caller.ask(&address, &Request::with_body("POST", &trainees, &body));
    assert_eq!(created.status, 201, "{created:?}");
    let id = created.json()["data"]["trainee_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let read = Request::get(format!("{trainees}/{id}"));

    let seed = seed();
    // The first requests of a process are slow.
    ordinary(&caller, &address, &read, time / 2);
    let alone = p99(ordinary(&caller, &address, &read, time));
    for origin in [Origin::OneAddress, Origin::ManyAddresses] {
        let fresh = Caller::new(&site.another_token());
        let (is_over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (beside, tries) = thread::scope(|scope| {
            for number in 0..INVENTORS {
                let (address, is_over, sent) = (&address, &is_over, &sent);
                let seed = seed.wrapping_add(number as u64);
                scope.spawn(move || invent(address, origin, rate, seed, is_over, sent));
            }
            // No thread stays behind after a failure.
            let _end = End(&is_over);
            let beside = p99(ordinary(&caller, &address, &read, time));
            (beside, get_in(&fresh, &address, &read))
        });
        let sent = sent.into_inner();
        eprintln!(
            "{:?}: ordinary requests take {alone:?} alone, and {beside:?} beside {sent} with invented tokens of \
             {origin:?} in {time:?} (99th percentile); a valid token that is new gets in at try {tries}",
            site.kind()
        );
        assert!(sent > 0);
        if seconds > 0 {
            assert!(
                beside <= alone * MOST_TIMES,
                "ordinary requests are slowed down: {alone:?}, {beside:?}"
            );
        }
    }
    server.stop();
}

/// Ends those who invent tokens when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends ordinary requests at their rate, and gives the time of each.
fn ordinary(caller: &Caller, address: &str, request: &Request, time: Duration) -> Vec<Duration> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let sent = Instant::now();
        let reply = caller.ask(address, request);
        assert_eq!(reply.status, 200, "{reply:?}");
        let taken = sent.elapsed();
        times.push(taken);
        thread::sleep(
            Duration::from_secs(1)
                .div_f64(ORDINARY_RATE as f64)
                .saturating_sub(taken),
        );
    }
    times
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100) - 1]
}

/// Sends requests with invented tokens, at its share of the rate.
fn invent(
    address: &str,
    origin: Origin,
    rate: usize,
    seed: u64,
    is_over: &AtomicBool,
    sent: &AtomicUsize,
) {
    let random = Random::new(seed);
    let caller = Caller::new("");
    let newest = versions::all().newest().unwrap().version.label;
    let pause = Duration::from_secs(1).div_f64(rate as f64 / INVENTORS as f64);
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        let secret: String = (0..4)
            .map(|_| format!("{:016x}", random.number()))
            .collect();
        let mut request =
            Request::get(format!("/api/{newest}/trainees")).with("Authorization", bearer(&secret));
        if let Origin::ManyAddresses = origin {
            let number = random.number();
            request = request.with(
                "X-Forwarded-For",
                format!(
                    "10.{}.{}.{}",
                    number as u8,
                    (number >> 8) as u8,
                    (number >> 16) as u8
                ),
            );
        }
        let reply = caller.ask(address, &request);
        assert!([401, 429, 503].contains(&reply.status), "{reply:?}");
        sent.fetch_add(1, Ordering::Relaxed);
        next = (next + pause).max(Instant::now().checked_sub(pause).unwrap());
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn bearer(secret: &str) -> String {
    format!("Bearer sandbox_{secret}")
}

/// Sends a valid token that the server has not seen until it is accepted, and gives the number of
/// tries.
fn get_in(caller: &Caller, address: &str, request: &Request) -> usize {
    let is_accepted = |tries: &usize| {
        if *tries > 1 {
            thread::sleep(Duration::from_secs(1));
        }
        let reply = caller.ask(address, request);
        assert!([200, 429, 503].contains(&reply.status), "{reply:?}");
        assert!(reply.status == 200 || reply.retry_after, "{reply:?}");
        reply.status == 200
    };
    (1..=MOST_TRIES)
        .find(is_accepted)
        .expect("a valid token does not get in")
}
