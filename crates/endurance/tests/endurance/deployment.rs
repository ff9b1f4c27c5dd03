//! A register that is operated: a database, a token, and the processes that serve it.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use test_support::{Cluster, Database, Kind, Process, Settings, signal};

/// The provider whose records the tests write.
const UKPRN: &str = "10000001";

/// Where the records are.
enum Place {
    /// A database of this test alone.
    Fresh(Database),
    /// A whole PostgreSQL server of this test alone, which keeps what it acknowledged.
    Own(Cluster),
}

/// A register with one provider and its token.
pub(crate) struct Site {
    place: Place,
    pub(crate) token: String,
}

impl Site {
    /// On the database of this run.
    pub(crate) fn new() -> Self {
        Self::at(Place::Fresh(Database::fresh()))
    }

    /// On a PostgreSQL server that can be stopped.
    pub(crate) fn on_own_cluster() -> Self {
        Self::at(Place::Own(Cluster::start(Settings::Durable)))
    }

    fn at(place: Place) -> Self {
        let mut site = Self {
            place,
            token: String::new(),
        };
        site.run(&[
            "provider",
            "add",
            "--ukprn",
            UKPRN,
            "--name",
            "A University",
        ]);
        site.token = site.another_token();
        site
    }

    /// Issues a token to the provider.
    pub(crate) fn another_token(&self) -> String {
        self.run(&["token", "issue", "--provider", UKPRN, "--name", "endurance"])
            .trim()
            .to_owned()
    }

    pub(crate) fn kind(&self) -> Kind {
        match &self.place {
            Place::Fresh(database) => database.kind(),
            Place::Own(_) => Kind::Postgres,
        }
    }

    /// The PostgreSQL server of [`Site::on_own_cluster`].
    pub(crate) fn cluster(&mut self) -> &mut Cluster {
        match &mut self.place {
            Place::Own(cluster) => cluster,
            Place::Fresh(_) => panic!("the database server is not this test's own"),
        }
    }

    pub(crate) fn url(&self) -> String {
        match &self.place {
            Place::Fresh(database) => database.url().to_owned(),
            Place::Own(cluster) => cluster.url("postgres"),
        }
    }

    /// The program with these arguments, for this database. `wrapper` is a program that runs it,
    /// with its arguments.
    pub(crate) fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        let server = test_support::server_program();
        let server = server.to_str().expect("the path of the program is UTF-8");
        let words = [wrapper, &[server], arguments].concat();
        let (program, arguments) = words.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments);
        command.env("REGISTER_DATABASE_URL", self.url());
        // Only the clients of the test change records.
        command.env("REGISTER_REGISTRY", "off");
        command.env("REGISTER_OPERATOR_LISTEN", "off");
        command.env("RUST_LOG", "warn,server::cli::serve=info");
        command
    }

    /// Runs a command to its good end and gives what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let ended = self.command(&[], arguments).output().unwrap();
        let [stdout, stderr] =
            [ended.stdout, ended.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(ended.status.success(), "{arguments:?}: {stdout}{stderr}");
        stdout
    }

    /// Starts a server and waits until it listens.
    pub(crate) fn serve(&self) -> Server {
        Server::start(self.command(&[], &SERVE))
    }

    /// Like [`Site::serve`], on the addresses of a host, as behind the balancer of the deployment
    /// kit.
    pub(crate) fn serve_at(&self, host: &str, stop_delay: &str) -> Server {
        let (clients, operators) = (format!("{host}:8080"), format!("{host}:9464"));
        let arguments = [
            "serve",
            "--listen",
            &clients,
            "--operator-listen",
            &operators,
            "--stop-delay",
            stop_delay,
        ];
        Server::start(self.command(&[], &arguments))
    }

    /// Starts a server and kills it after a number of microseconds, at any point of its start.
    pub(crate) fn serve_and_kill(&self, micros: u64) {
        let mut process = Process::start(self.command(&[], &SERVE).stderr(Stdio::null()));
        thread::sleep(Duration::from_micros(micros));
        process.kill();
    }
}

/// Serves on a free port.
pub(crate) const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// A server process. It is killed when this is dropped.
pub(crate) struct Server {
    process: Process,
    pub(crate) address: String,
    failures: Arc<Mutex<Vec<String>>>,
    log: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = Process::start(command.stderr(Stdio::piped()));
        let mut lines = BufReader::new(process.stderr()).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = lines
                .next()
                .unwrap_or_else(|| panic!("the server has ended: {said:#?}"))
                .unwrap();
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
            said.push(line);
        };
        let failures = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&failures);
        let log = thread::spawn(move || {
            // Log lines about a defect of the server, and panics. The pool speaks for itself
            // where it finds no database.
            let is_failure = |line: &String| {
                line.contains("ERROR") && !line.contains("ERROR r2d2]") || line.contains("panicked")
            };
            lines
                .map_while(Result::ok)
                .filter(is_failure)
                .for_each(|line| told.lock().unwrap().push(line));
        });
        Self {
            process,
            address,
            failures,
            log: Some(log),
        }
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the server in the middle of whatever it does.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
        self.require_no_failures();
    }

    /// Tells the server to stop, and waits until it has done so in good order.
    pub(crate) fn stop(&mut self) {
        self.stop_within(self.id());
    }

    /// Like [`Server::stop`], for a server inside another program, with the number of its
    /// own process.
    pub(crate) fn stop_within(&mut self, server: u32) {
        signal(server, "TERM");
        let status = self.process.wait();
        assert!(status.success(), "{status}");
        self.require_no_failures();
    }

    fn require_no_failures(&mut self) {
        if let Some(log) = self.log.take() {
            log.join().unwrap();
        }
        let failures = self.failures.lock().unwrap();
        assert!(
            failures.is_empty(),
            "the server had failures: {failures:#?}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() {
            // What the server says of itself may be why.
            let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.iter().for_each(|line| eprintln!("{line}"));
        }
    }
}

/// The servers over one database.
pub(crate) struct Servers {
    pub(crate) site: Site,
    servers: Vec<Server>,
}

impl Servers {
    /// The number that the database of this run accepts.
    pub(crate) fn start() -> Self {
        Self::with_site(Site::new())
    }

    /// The number that the database of the site accepts.
    pub(crate) fn with_site(site: Site) -> Self {
        let count = if site.kind() == Kind::Postgres { 2 } else { 1 };
        let servers = (0..count).map(|_| site.serve()).collect();
        Self { site, servers }
    }

    /// The address of a client's server.
    pub(crate) fn address(&self, client: usize) -> &str {
        &self.servers[client % self.servers.len()].address
    }

    pub(crate) fn stop(mut self) {
        self.servers.iter_mut().for_each(Server::stop);
    }
}
