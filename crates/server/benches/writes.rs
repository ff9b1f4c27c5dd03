//! What a shared commit brings: creates of 64 clients over HTTP with writes that share commits, against one transaction
//! for each request, side by side on the same disk. Every commit waits for the disk (`synchronous=FULL`).
//!
//! The two take turns, so that whatever else the machine does meets both. `docs/performance.md` holds the ratio.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark that cannot go on ends")]

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use server::register::Register;
use server::{demo, versions};
use storage::error::StorageError;
use storage::store::{Store, StoreOptions};
use storage::tokens::{Environment, NewToken};
use ureq::Agent;

const UKPRN: &str = "10012345";
const CLIENTS: u64 = 64;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(4);

/// A register whose writes share a commit in groups of some size.
struct Contestant {
    name: &'static str,
    store: Store,
    address: SocketAddr,
    token: String,
    /// Trainees that were asked for, so that no two are alike.
    asked: AtomicU64,
    /// Requests a second, by turn.
    rates: Vec<f64>,
    _folder: tempfile::TempDir,
}

impl Contestant {
    fn new(name: &'static str, group: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("register.db").display());
        let store = Store::open(&url, StoreOptions { group, ..StoreOptions::default() }).unwrap();
        store.migrate().unwrap();
        let token = store.write_blocking::<_, StorageError>(|session| {
            session.ensure_sandbox_organisations()?;
            session.add_provider(UKPRN, "A provider")?;
            let request = NewToken {
                provider_ukprn: UKPRN,
                environment: Environment::Sandbox,
                name: "benchmark",
                created_by: "benchmark",
                expires_on: None,
            };
            Ok(session.issue_token(&request)?.0.reveal().to_owned())
        });
        let register = Register::of(store.clone(), Environment::Sandbox);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (started, wait) = mpsc::channel();
        thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = server::serve::server(register, listener).unwrap();
                started.send(()).unwrap();
                server.await.unwrap();
            });
        });
        wait.recv().unwrap();
        Self {
            name,
            store,
            address,
            token: token.unwrap(),
            asked: AtomicU64::new(0),
            rates: Vec::new(),
            _folder: folder,
        }
    }

    /// Lets all clients register trainees for a while.
    fn take_turn(&mut self) {
        let over = AtomicBool::new(false);
        let begun = Instant::now();
        let done: u64 = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| self.create_until(&over))).collect();
            thread::sleep(TURN);
            over.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        });
        self.rates.push(done as f64 / begun.elapsed().as_secs_f64());
    }

    fn create_until(&self, over: &AtomicBool) -> u64 {
        let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
        let version = versions::all().newest().unwrap().version;
        let url = format!("http://{}/api/{}/trainees", self.address, version.label);
        let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
        let mut done = 0;
        while !over.load(Ordering::Relaxed) {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            body["data"]["last_name"] =
                format!("{number:07}").bytes().map(|digit| char::from(digit + 49)).collect::<String>().into();
            body["data"]["email"] = format!("{number}@example.com").into();
            let request = agent.post(&url).header("Authorization", format!("Bearer {}", self.token));
            let reply = request.header("Content-Type", "application/json").send(body.to_string()).unwrap();
            assert_eq!(reply.status(), 201);
            done += 1;
        }
        done
    }
}

fn median(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn main() {
    // Cargo also runs this when it runs all tests.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let options = StoreOptions::default();
    let mut both = [Contestant::new("one commit for many requests", options.group), Contestant::new("one for each", 1)];
    for _ in 0..TURNS {
        both.iter_mut().for_each(Contestant::take_turn);
    }
    for contestant in &both {
        let stats = contestant.store.writer_stats();
        let rate = median(&contestant.rates);
        let size = stats.jobs as f64 / stats.groups as f64;
        println!("{:30} {rate:7.0} creates a second, {size:5.1} writes in a commit", contestant.name);
    }
    println!("ratio {:.2}", median(&both[0].rates) / median(&both[1].rates));
}
