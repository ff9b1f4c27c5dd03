//! One PostgreSQL server on a node, and SQL that is sent to a node by `psql`.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::daemon::Daemon;
use super::machine::{Host, Machine, run};
use super::programs;

/// The superuser of each node.
pub(crate) const SUPERUSER: &str = "postgres";
/// The user and the database of the register.
pub(crate) const REGISTER: &str = "register";
/// The database of the test itself.
pub(crate) const WATCH: &str = "watch";

/// A PostgreSQL server without Patroni.
pub(crate) struct Postgres<'a> {
    machine: &'a Machine,
    host: Host,
    options: Vec<String>,
    environment: Vec<(&'static str, String)>,
    daemon: Option<Daemon>,
}

impl<'a> Postgres<'a> {
    /// Makes and starts a server with these settings, as `name=value`, and this environment.
    pub(crate) fn start(
        machine: &'a Machine,
        settings: &[&str],
        environment: &[(&'static str, String)],
    ) -> Self {
        let host = Host::Node(0);
        let mut command = machine.command(host, programs::postgres("initdb"));
        command.args([
            "--no-sync",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "-U",
            SUPERUSER,
            "-D",
            "data",
        ]);
        run(&mut command);
        let access = machine.home(host).join("data/pg_hba.conf");
        std::fs::write(
            access,
            "local all all trust\nhost all all 0.0.0.0/0 trust\n",
        )
        .unwrap();
        let address = format!("listen_addresses={}", machine.address(host));
        let sockets = format!("unix_socket_directories={}", machine.home(host).display());
        let usual = [
            &*address,
            &*sockets,
            "shared_buffers=32MB",
            "log_line_prefix=%t %e ",
        ];
        let options = usual
            .iter()
            .chain(settings)
            .flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]);
        let options = options.collect();
        let mut server = Self {
            machine,
            host,
            options,
            environment: environment.to_vec(),
            daemon: None,
        };
        server.start_again();
        make_databases(machine, host);
        server
    }

    /// Starts the server where it was stopped.
    pub(crate) fn start_again(&mut self) {
        let mut command = self
            .machine
            .command(self.host, programs::postgres("postgres"));
        command
            .args(["-D", "data"])
            .args(&self.options)
            .envs(self.environment.iter().cloned());
        let daemon = Daemon::start(self.machine, self.host, "postgres", command);
        daemon.wait_until("PostgreSQL takes no connection", || {
            sql(self.machine, self.host, SUPERUSER, "SELECT 1").is_ok()
        });
        self.daemon = Some(daemon);
    }

    /// Stops the server: connections are cut, and new ones are refused.
    pub(crate) fn stop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.process.signal("INT");
            daemon.process.wait();
        }
    }

    /// The address of the register's database.
    pub(crate) fn url(&self) -> String {
        url(&[self.machine.address(self.host)], "connect_timeout=2")
    }

    /// How often the server has logged an error of this SQLSTATE.
    pub(crate) fn count_of(&self, state: &str) -> usize {
        let words = format!(" {state} ");
        self.log()
            .lines()
            .filter(|line| line.contains(&words))
            .count()
    }

    pub(crate) fn log(&self) -> String {
        self.daemon.as_ref().map(Daemon::log).unwrap_or_default()
    }
}

/// The address of the register's database on several hosts.
pub(crate) fn url(hosts: &[String], parameters: &str) -> String {
    format!(
        "postgres://{REGISTER}@{}/{REGISTER}?{parameters}",
        hosts.join(",")
    )
}

/// Makes the database of the register, and that of the test.
pub(crate) fn make_databases(machine: &Machine, host: Host) {
    let orders = [
        (SUPERUSER, format!("CREATE ROLE {REGISTER} LOGIN")),
        (
            SUPERUSER,
            format!("CREATE DATABASE {REGISTER} OWNER {REGISTER}"),
        ),
        (SUPERUSER, format!("CREATE DATABASE {WATCH}")),
        (
            WATCH,
            "CREATE TABLE attempts (at TIMESTAMPTZ DEFAULT now())".to_owned(),
        ),
    ];
    for (database, order) in orders {
        sql(machine, host, database, &order).unwrap();
    }
}

/// Sends statements to a database of a node, each in its own transaction, and gives what they
/// print.
pub(crate) fn sql(
    machine: &Machine,
    host: Host,
    database: &str,
    statements: &str,
) -> Result<String, String> {
    let ended = psql(machine, host, database, Duration::from_secs(20))
        .args(["-c", statements])
        .output()
        .unwrap();
    let [stdout, stderr] =
        [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if ended.status.success() {
        Ok(stdout)
    } else {
        Err(stderr)
    }
}

/// `psql` with a connection to a database of a node, for so long at most.
pub(crate) fn psql(machine: &Machine, host: Host, database: &str, patience: Duration) -> Command {
    let mut command = machine.command(Host::Main, "timeout");
    command
        .args(["--signal=KILL", &format!("{}", patience.as_secs_f64())])
        .arg(programs::postgres("psql"));
    command.args([
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "--set=ON_ERROR_STOP=1",
    ]);
    command.args([
        "-h",
        &machine.address(host),
        "-U",
        SUPERUSER,
        "-d",
        database,
    ]);
    command
        .env("PGCONNECT_TIMEOUT", "2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
