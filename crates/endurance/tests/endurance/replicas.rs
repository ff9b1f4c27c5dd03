//! Servers that read from standbys: a provider reads what it has written, through whichever server and with whichever token,
//! while others write and however far a standby is behind.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use fixtures::random::Random;
use serde_json::{Value, json};
use server::versions;
use test_support::{Cluster, Kind, Tool, has_tools};

use super::crash::check;
use super::deployment::{SERVE, Server, Site};
use super::following::open_transaction::OpenTransaction;
use super::http::{Caller, Reply, Request};
use super::size::{seed, size};
use super::version_requests::{Manner, Person, id};

/// Clients that write and read at once.
const CLIENTS: usize = 4;
/// How far the second standby is behind.
const DELAY: Duration = Duration::from_secs(2);
/// Trainees on a page of a list that is gone through.
const PER_PAGE: usize = 20;
/// The most pages of a list while others write.
const MOST_PAGES: usize = 200;
/// How long a server needs until it would read from a standby.
const TIME_TO_BE_TRIED: Duration = Duration::from_secs(3);
/// How long a standby may take to come to where the primary is, with the delay.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two servers that read from two standbys, and two tokens of one provider.
struct Deployment {
    servers: Vec<Server>,
    callers: [Caller; 2],
    /// Whoever asks operators.
    operator: Caller,
}

impl Deployment {
    fn over(site: &Site, standbys: &[&Cluster]) -> Self {
        let urls: Vec<String> = standbys.iter().map(|standby| standby.url("postgres")).collect();
        let serve = || {
            let mut command = site.command(&[], &SERVE);
            command.env("REGISTER_READ_DATABASE_URL", urls.join(" ")).env("REGISTER_OPERATOR_LISTEN", "127.0.0.1:0");
            Server::start(command)
        };
        Self {
            servers: (0..2).map(|_| serve()).collect(),
            callers: [Caller::new(&site.token), Caller::new(&site.another_token())],
            operator: Caller::new(""),
        }
    }

    /// Sends a request with any token to any server.
    fn send(&self, random: &Random, request: &Request) -> Reply {
        let caller = &self.callers[random.below(self.callers.len())];
        caller.ask(&self.servers[random.below(self.servers.len())].address, request)
    }

    /// How many requests of both servers ended so, by the metric.
    fn reads(&self, outcome: &str) -> u64 {
        let line = format!("register_replica_reads_total{{outcome=\"{outcome}\"}} ");
        let lag = "register_replica_lag_seconds{replica=\"1\"} ";
        let of_server = |server: &Server| {
            let metrics = self.operator.ask(server.operator.as_ref().unwrap(), &Request::get("/metrics")).body;
            assert!(metrics.contains(lag), "no {lag}");
            let found = metrics.lines().find_map(|metric| metric.strip_prefix(&line)?.parse::<u64>().ok());
            found.unwrap_or_else(|| panic!("no {line}"))
        };
        self.servers.iter().map(of_server).sum()
    }
}

/// A client that writes its own trainees, and looks at each write at once.
struct Writer<'a> {
    deployment: &'a Deployment,
    manner: &'a Manner,
    base: &'a str,
    random: Random,
    who: String,
    trainees: Vec<String>,
    /// Behind the changes that it has seen.
    after: Option<String>,
}

impl<'a> Writer<'a> {
    fn new(deployment: &'a Deployment, manner: &'a Manner, base: &'a str, seed: u64, who: &str) -> Self {
        let random = Random::new(seed);
        Self { deployment, manner, base, random, who: who.to_owned(), trainees: Vec::new(), after: None }
    }

    fn send(&self, request: &Request) -> Reply {
        self.deployment.send(&self.random, request)
    }

    /// Writes a trainee, and looks for it wherever it must be shown.
    fn write_and_read(&mut self, round: usize) {
        let (trainee, email) = self.write_and_read_record(round);
        match self.random.below(3) {
            0 => self.find_in_list(&trainee, &email),
            1 => self.find_in_changes(&trainee, &email),
            _ => self.go_through_list(),
        }
    }

    /// Registers or updates a trainee, and reads it; tells which, and what was written.
    fn write_and_read_record(&mut self, round: usize) -> (String, Value) {
        let write = self.random.below(3);
        let (trainee, email) = if write == 0 || self.trainees.is_empty() {
            let created = self.send(&self.manner.create(&Person::new(&self.who, round)));
            assert_eq!(created.status, 201, "{created:?}");
            let created = created.json()["data"].clone();
            self.trainees.push(id(&created).to_owned());
            (id(&created).to_owned(), created["email"].clone())
        } else {
            let trainee = self.trainees[self.random.below(self.trainees.len())].clone();
            // What a reader was shown is what a writer finds.
            let shown = self.show(&trainee);
            let email = json!(format!("{}-{round}@example.com", self.who));
            let path = self.manner.path(Endpoint::UpdateTrainee, &trainee, "");
            let update = Request::with_body("PATCH", path, &json!({ "data": { "email": email } }));
            let updated = self.send(&update.with("If-Match", shown.etag.unwrap()));
            assert_eq!(updated.status, 200, "{updated:?}");
            (trainee, email)
        };
        let shown = self.show(&trainee);
        assert_eq!((shown.status, &shown.json()["data"]["email"]), (200, &email), "{trainee} was written as {email}");
        (trainee, email)
    }

    fn show(&self, trainee: &str) -> Reply {
        self.send(&Request::get(self.manner.path(Endpoint::ShowTrainee, trainee, "")))
    }

    /// Others may have written since, but not very many.
    fn find_in_list(&self, trainee: &str, email: &Value) {
        let list = self.send(&Request::get(format!("{}/trainees?academic_cycle={}&per_page=50", self.base, cycle())));
        let list = list.json();
        let found = list["data"].as_array().unwrap().iter().find(|one| id(one) == trainee);
        assert_eq!(found.map(|one| &one["email"]), Some(email), "{trainee} is not in the list as written");
    }

    /// A change is final when no older transaction is open, so others may hold it up for a moment.
    fn find_in_changes(&mut self, trainee: &str, email: &Value) {
        let begun = Instant::now();
        loop {
            let after = self.after.as_ref().map_or_else(String::new, |after| format!("&after={after}"));
            let changes = self.send(&Request::get(format!("{}/changes?limit=500{after}", self.base)));
            assert_eq!(changes.status, 200, "{changes:?}");
            let changes = changes.json();
            let found = changes["data"].as_array().unwrap().iter().rfind(|change| change["trainee_id"] == trainee);
            self.after = changes["meta"]["after"].as_str().map(str::to_owned);
            if found.is_some_and(|change| change["trainee"]["email"] == *email) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "the change of {trainee} is not told");
        }
    }

    /// From server to server, from standby to primary and back.
    fn go_through_list(&self) {
        let mut next = Some(format!("{}/trainees?academic_cycle={}&per_page={PER_PAGE}", self.base, cycle()));
        let mut listed = BTreeSet::new();
        let mut pages = 0;
        while let Some(path) = next {
            pages += 1;
            assert!(pages <= MOST_PAGES, "the list does not end");
            let page = self.send(&Request::get(path));
            assert_eq!(page.status, 200, "{page:?}");
            listed.extend(page.json()["data"].as_array().unwrap().iter().map(|one| id(one).to_owned()));
            next = page.linked("next").map(str::to_owned);
        }
        let missed: Vec<&String> = self.trainees.iter().filter(|trainee| !listed.contains(*trainee)).collect();
        assert!(missed.is_empty(), "missed in a list: {missed:?}");
    }
}

/// The academic cycle in which every trainee begins.
fn cycle() -> i32 {
    domain::academic_year::of(super::version_requests::begun_on())
}

#[test]
fn a_provider_reads_what_it_wrote_through_any_server_while_a_standby_is_behind() {
    if Kind::of_this_run() != Kind::Postgres || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let (rounds, seed) = (size("REPLICA_ROUNDS", 40), seed());
    let mut site = Site::on_own_cluster();
    let (prompt, delayed) = (site.cluster().standby(Duration::ZERO), site.cluster().standby(DELAY));
    let mut deployment = Deployment::over(&site, &[&prompt, &delayed]);
    let (manners, _) = Manner::learn_all(&deployment.callers[0], &deployment.servers[0].address);
    let base = versions::all().newest().unwrap().version.label.base_path();
    wait_until(|| {
        deployment.send(&Random::new(seed), &Request::get(format!("{base}/changes")));
        deployment.reads("replica") > 0
    });
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (deployment, base) = (&deployment, base.as_str());
            let manner = manners.last().unwrap();
            scope.spawn(move || {
                let who = format!("reader{client}");
                let mut writer = Writer::new(deployment, manner, base, seed + client as u64, &who);
                (0..rounds).for_each(|round| writer.write_and_read(round));
            });
        }
    });
    let reads = ["replica", "behind", "failed"].map(|outcome| deployment.reads(outcome));
    println!(
        "reads from a standby {}, from the primary while standbys were behind {}, failed {}",
        reads[0], reads[1], reads[2]
    );
    assert!(reads[0] > 0 && reads[2] == 0, "{reads:?}");

    // A transaction stays open, and more has changed since than fits on a page.
    let open = OpenTransaction::begin(&site);
    let mut writer = Writer::new(&deployment, manners.last().unwrap(), &base, seed, "open");
    for round in 0..3 * PER_PAGE {
        writer.write_and_read_record(round);
    }
    writer.go_through_list();
    open.commit();
    deployment.servers.iter_mut().for_each(Server::stop);

    // The delayed one alone: everything is read from the primary, until it has come as far.
    drop(prompt);
    let mut deployment = Deployment::over(&site, &[&delayed]);
    let random = Random::new(seed);
    wait_until(|| {
        deployment.send(&random, &Request::get(format!("{base}/changes")));
        deployment.reads("replica") > 0
    });
    let manner = manners.last().unwrap();
    let mut writer = Writer::new(&deployment, manner, &base, seed, "delayed");
    let before = deployment.reads("behind");
    (0..10).for_each(|round| writer.write_and_read(round));
    assert!(deployment.reads("behind") > before, "nothing was read while the standby was behind");
    let before = deployment.reads("replica");
    wait_until(|| {
        deployment.send(&random, &Request::get(format!("{base}/changes")));
        deployment.reads("replica") > before
    });

    // It goes away, and comes back.
    let mut delayed = delayed;
    delayed.stop_immediately();
    let account = deployment.send(&random, &Request::get(format!("{base}/changes")));
    assert_eq!(account.status, 200, "{account:?}");
    delayed.start_again();
    // It is behind where it was when it went.
    for round in 10..15 {
        delayed.stop_immediately();
        delayed.start_again();
        writer.write_and_read(round);
    }
    let before = deployment.reads("replica");
    wait_until(|| {
        deployment.send(&random, &Request::get(format!("{base}/changes")));
        deployment.reads("replica") > before
    });
    deployment.servers.iter_mut().for_each(Server::stop);

    // The standby of another register, whose log is longer, is never read.
    let mut other = Site::on_own_cluster();
    let foreign = other.cluster().standby(Duration::ZERO);
    let caller = Caller::new(&other.token);
    let mut server = other.serve();
    (0..5).for_each(|number| {
        let created = caller.ask(&server.address, &manner.create_many(&format!("other{number}"), 200));
        assert_eq!(created.status, 200, "{created:?}");
    });
    server.stop();
    let mut deployment = Deployment::over(&site, &[&foreign]);
    thread::sleep(TIME_TO_BE_TRIED);
    let account = deployment.send(&random, &Request::get(format!("{base}/changes")));
    assert_eq!((account.status, deployment.reads("replica")), (200, 0), "{account:?}");
    deployment.servers.iter_mut().for_each(Server::stop);
    check(&site);
}

#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "it does not come");
        thread::sleep(Duration::from_millis(50));
    }
}
