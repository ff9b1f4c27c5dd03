//! A register with one provider, two servers, and the balancer before them.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::balancer::Balancer;
use super::daemon::{Daemon, becomes_true, last_lines};
use super::machine::{Host, Machine, run};

const UKPRN: &str = "10000001";
/// Each server has its own number behind these.
const PORT: u16 = 8081;
const OPERATORS_PORT: u16 = 9464;
/// How long a server may take until it listens, also where it has to wait until another one gives a
/// connection back.
const START: Duration = Duration::from_mins(2);

/// What is served.
pub(crate) struct Site<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) token: String,
    pub(crate) servers: Vec<Server>,
    pub(crate) balancer: Balancer,
}

/// A server process.
pub(crate) struct Server {
    daemon: Daemon,
    /// The address for clients.
    pub(crate) address: String,
    /// The address for operators.
    pub(crate) operators: String,
}

impl<'a> Site<'a> {
    /// Makes the register at the first address, and starts a server at each of the others.
    pub(crate) fn start(machine: &'a Machine, url: &str, servers: [&str; 2]) -> Self {
        Self::try_start(machine, url, servers).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Like [`Site::start`], but returns the output of a server that did not start.
    pub(crate) fn try_start(
        machine: &'a Machine,
        url: &str,
        servers: [&str; 2],
    ) -> Result<Self, String> {
        let token = make_register(machine, url);
        let started = servers
            .iter()
            .zip(0..)
            .map(|(url, number)| Server::start(machine, url, number));
        let servers: Vec<_> = started.collect::<Result<_, _>>()?;
        let numbered = servers.iter().zip(OPERATORS_PORT..);
        let balanced: Vec<_> = numbered
            .map(|(server, operators)| (server.address.clone(), operators))
            .collect();
        let balancer = Balancer::new(machine, &balanced);
        Ok(Self {
            machine,
            token,
            servers,
            balancer,
        })
    }

    /// The last warnings and errors that each server has logged.
    pub(crate) fn warnings(&self, count: usize) -> String {
        let is_warning = |line: &&str| line.contains(" WARN ") || line.contains(" ERROR ");
        let logs = self.servers.iter().map(|server| {
            let log = server.log();
            last_lines(
                &log.lines()
                    .filter(is_warning)
                    .collect::<Vec<_>>()
                    .join("\n"),
                count,
            )
        });
        logs.collect::<Vec<_>>().join("\n\n")
    }
}

/// Makes a register with one provider, and gives its token.
fn make_register(machine: &Machine, url: &str) -> String {
    run(program(machine, url).args([
        "provider",
        "add",
        "--ukprn",
        UKPRN,
        "--name",
        "A University",
    ]));
    let issued = run(program(machine, url).args([
        "token",
        "issue",
        "--provider",
        UKPRN,
        "--name",
        "failover",
    ]));
    issued.trim().to_owned()
}

/// The register's program with a database.
pub(crate) fn program(machine: &Machine, url: &str) -> Command {
    let mut command = Command::new(test_support::server_program());
    command
        .current_dir(machine.home(Host::Main))
        .env("REGISTER_DATABASE_URL", url)
        .stdin(Stdio::null());
    // Only the clients of the test change records.
    command
        .env("REGISTER_REGISTRY", "off")
        .env("RUST_LOG", "info,access=warn");
    command
}

impl Server {
    /// Starts a server and waits until it listens, or gives what it said when it ended or did not.
    pub(crate) fn start(machine: &Machine, url: &str, number: u16) -> Result<Self, String> {
        let server = Self::launch(machine, url, number);
        server.wait_until_listening(START).map(|()| server)
    }

    /// Starts a server.
    pub(crate) fn launch(machine: &Machine, url: &str, number: u16) -> Self {
        let host = machine.address(Host::Main);
        let (address, operators) = (
            format!("{host}:{}", PORT + number),
            format!("{host}:{}", OPERATORS_PORT + number),
        );
        let mut command = program(machine, url);
        command.args([
            "serve",
            "--listen",
            &address,
            "--operator-listen",
            &operators,
        ]);
        let daemon = Daemon::start(machine, Host::Main, &format!("server-{number}"), command);
        Self {
            daemon,
            address,
            operators,
        }
    }

    /// Waits until the server listens; otherwise gives what it has logged.
    pub(crate) fn wait_until_listening(&self, patience: Duration) -> Result<(), String> {
        let listens = || self.log().contains("listening on http://");
        becomes_true(patience, || listens() || !self.is_running());
        if listens() {
            Ok(())
        } else {
            Err(last_lines(&self.log(), 5))
        }
    }

    /// Whether the process has not ended. One that has stays in the list of processes until it is
    /// waited for.
    pub(crate) fn is_running(&self) -> bool {
        let shown = std::fs::read_to_string(format!("/proc/{}/stat", self.daemon.process.id()))
            .unwrap_or_default();
        shown
            .rsplit_once(')')
            .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    }

    /// What the server has logged.
    pub(crate) fn log(&self) -> String {
        self.daemon.log()
    }
}
