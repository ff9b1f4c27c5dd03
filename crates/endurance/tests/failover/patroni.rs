//! PostgreSQL on two nodes, one of them a synchronous standby, which Patroni watches over by means
//! of etcd.

use std::fs;
use std::time::{Duration, Instant};

use test_support::Tool;
use ureq::Agent;

use super::daemon::{Daemon, becomes_true, last_lines};
use super::machine::{Host, Machine};
use super::postgres::{SUPERUSER, make_databases, sql, url};
use super::programs;
use super::size::leader_ttl;

/// Seconds between two looks at the cluster.
const LOOP_SECONDS: u64 = 1;
/// Seconds of Patroni's retries of etcd and PostgreSQL; its minimum.
const RETRY_SECONDS: u64 = 3;
/// How long the cluster may take to get into a state.
const PATIENCE: Duration = Duration::from_secs(45);

/// What becomes of commits when the standby is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Writes wait until the standby is no longer synchronous, and then for the primary only.
    GoOn,
    /// Writes wait until the standby is back.
    Wait,
}

/// The two nodes.
pub(crate) struct Cluster<'a> {
    machine: &'a Machine,
    /// Patroni on each node.
    patroni: [Daemon; 2],
    _etcd: Daemon,
}

impl<'a> Cluster<'a> {
    /// Starts both nodes and waits until one is the primary and the other its synchronous standby.
    pub(crate) fn start(machine: &'a Machine, commits: Commits) -> Self {
        let etcd = start_etcd(machine);
        let patroni = [0, 1].map(|node| {
            let host = Host::Node(node);
            let file = machine.home(host).join("patroni.yml");
            fs::write(&file, configuration(machine, node, commits)).unwrap();
            let mut command = machine.command(host, programs::find(Tool::Patroni));
            command.arg(file);
            Daemon::start(machine, host, "patroni", command)
        });
        let cluster = Self {
            machine,
            patroni,
            _etcd: etcd,
        };
        cluster.wait_for_standby();
        make_databases(machine, Host::Node(cluster.primary()));
        cluster
    }

    /// The node that is the primary.
    pub(crate) fn primary(&self) -> usize {
        [0, 1]
            .into_iter()
            .find(|node| self.is(*node, "primary"))
            .unwrap_or_else(|| panic!("there is no primary"))
    }

    /// Waits until there are a primary and a synchronous standby.
    pub(crate) fn wait_for_standby(&self) {
        let are_there = || {
            [0, 1]
                .into_iter()
                .any(|node| self.is(node, "primary") && self.is(1 - node, "synchronous"))
        };
        let is_whole = becomes_true(PATIENCE, are_there);
        assert!(
            is_whole,
            "no primary with a synchronous standby in {PATIENCE:?}:\n{}",
            self.logs()
        );
    }

    /// What Patroni has logged last on each node.
    pub(crate) fn logs(&self) -> String {
        self.patroni
            .each_ref()
            .map(|patroni| last_lines(&patroni.log(), 60))
            .join("\n\n")
    }

    /// Waits until a node is the primary, and says how long that took.
    pub(crate) fn wait_for_primary(&self, node: usize) -> Duration {
        let begun = Instant::now();
        let is_primary = || {
            sql(self.machine, Host::Node(node), SUPERUSER, IS_PRIMARY)
                .is_ok_and(|shown| shown == "f\n")
        };
        assert!(
            becomes_true(PATIENCE, is_primary),
            "node {node} is not the primary after {PATIENCE:?}"
        );
        begun.elapsed()
    }

    /// Makes the standby the primary, and the primary the standby, in good order.
    pub(crate) fn switch_over(&self) {
        let primary = self.primary();
        let (leader, candidate) = (name_of(primary), name_of(1 - primary));
        let order = format!(r#"{{"leader": "{leader}", "candidate": "{candidate}"}}"#);
        let address = format!(
            "http://{}:8008/switchover",
            self.machine.address(Host::Node(primary))
        );
        let answer = agent(PATIENCE)
            .post(address)
            .content_type("application/json")
            .send(order)
            .unwrap();
        assert_eq!(
            answer.status().as_u16(),
            200,
            "Patroni does not switch over"
        );
        self.wait_for_primary(1 - primary);
    }

    /// Stops all processes of a node, as a machine that hangs, and cuts its network where it has
    /// one.
    pub(crate) fn freeze(&self, node: usize) {
        self.machine.cut(node);
        self.machine.signal(Host::Node(node), "STOP");
    }

    /// Lets them go on.
    pub(crate) fn thaw(&self, node: usize) {
        self.machine.signal(Host::Node(node), "CONT");
        self.machine.join(node);
    }

    /// Ends all processes of a node without a warning.
    pub(crate) fn kill(&self, node: usize) {
        self.machine.signal(Host::Node(node), "KILL");
    }

    /// Stops what would make the standby a primary, until it is told to go on.
    pub(crate) fn keep_from_promotion(&self, node: usize, is_kept: bool) {
        self.patroni[node]
            .process
            .signal(if is_kept { "STOP" } else { "CONT" });
    }

    /// The address of the register's database, with these nodes in this order.
    pub(crate) fn url(&self, nodes: &[usize], parameters: &str) -> String {
        url(
            &nodes
                .iter()
                .map(|node| self.machine.address(Host::Node(*node)))
                .collect::<Vec<_>>(),
            parameters,
        )
    }

    /// Whether Patroni says that a node has this role.
    fn is(&self, node: usize, role: &str) -> bool {
        let address = format!(
            "http://{}:8008/{role}",
            self.machine.address(Host::Node(node))
        );
        agent(Duration::from_secs(1))
            .get(address)
            .call()
            .is_ok_and(|answer| answer.status().as_u16() == 200)
    }
}

const IS_PRIMARY: &str = "SELECT pg_is_in_recovery()";

fn agent(patience: Duration) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(patience))
        .build()
        .into()
}

fn name_of(node: usize) -> String {
    format!("node-{node}")
}

fn start_etcd(machine: &Machine) -> Daemon {
    let mut command = machine.command(Host::Main, programs::find(Tool::Etcd));
    let address = machine.address(Host::Main);
    let (clients, peers) = (
        format!("http://{address}:2379"),
        format!("http://{address}:2380"),
    );
    let data = machine.home(Host::Main).join("etcd");
    command
        .args(["--name", "etcd", "--unsafe-no-fsync", "--data-dir"])
        .arg(data);
    command.args([
        "--listen-client-urls",
        &clients,
        "--advertise-client-urls",
        &clients,
    ]);
    command.args([
        "--listen-peer-urls",
        &peers,
        "--initial-advertise-peer-urls",
        &peers,
    ]);
    // By the second version of its interface: by the third one Patroni 3.0.2 writes the key of the
    // leader without comparing what is there (`_update_leader` in `dcs/etcd3.py`). A primary that
    // was frozen at the wrong moment then takes the place back from the one that was promoted in
    // the meantime, and its acknowledged writes are lost.
    command.args([
        "--initial-cluster",
        &format!("etcd={peers}"),
        "--enable-v2=true",
    ]);
    let etcd = Daemon::start(machine, Host::Main, "etcd", command);
    let health = format!("{clients}/health");
    etcd.wait_until("etcd does not answer", || {
        agent(Duration::from_secs(1)).get(&health).call().is_ok()
    });
    etcd
}

fn configuration(machine: &Machine, node: usize, commits: Commits) -> String {
    let (host, name, ttl) = (Host::Node(node), name_of(node), leader_ttl());
    let (address, home) = (
        machine.address(host),
        machine.home(host).display().to_string(),
    );
    let (etcd, is_strict) = (machine.address(Host::Main), commits == Commits::Wait);
    let programs = programs::postgres_folder().display().to_string();
    format!(
        r#"
scope: register
name: {name}
restapi: {{listen: "{address}:8008", connect_address: "{address}:8008"}}
etcd: {{host: "{etcd}:2379"}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: {LOOP_SECONDS}
    retry_timeout: {RETRY_SECONDS}
    synchronous_mode: true
    synchronous_mode_strict: {is_strict}
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: {{max_connections: 100, shared_buffers: 32MB, wal_log_hints: "on"}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}, no-sync]
  pg_hba: ["local all all trust", "host all all 0.0.0.0/0 trust", "host replication all 0.0.0.0/0 trust"]
postgresql:
  listen: "{address}:5432"
  connect_address: "{address}:5432"
  data_dir: {home}/data
  bin_dir: {programs}
  pgpass: {home}/pgpass
  authentication: {{superuser: {{username: {SUPERUSER}}}, replication: {{username: {SUPERUSER}}}}}
  parameters: {{unix_socket_directories: {home}}}
watchdog: {{mode: "off"}}
"#
    )
}
