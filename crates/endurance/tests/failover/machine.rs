//! A separate machine for each test: process, mount and network namespaces, where the machine
//! allows them, with one network namespace for each node of PostgreSQL. Otherwise, addresses on
//! loopback.
//!
//! A test runs its own program again on that machine. `machine.sh` stands between the two and
//! leaves nothing behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use test_support::{Kind, Process, Tool, has_tools};

use super::size::{in_full, seconds};

const SCRIPT: &str = include_str!("machine.sh");
/// The options of a process in namespaces of its own.
const UNSHARE: [&str; 6] = [
    "--pid",
    "--fork",
    "--kill-child",
    "--mount",
    "--net",
    "--mount-proc",
];
/// Part of the names of the cases to run.
const WANTED: &str = "FAILOVER_CASES";
/// Variables that tell the program which case runs on a test machine, its kind, and the folder of
/// its files.
const CASE: &str = "FAILOVER_CASE";
const KIND: &str = "FAILOVER_MACHINE";
const FOLDER: &str = "FAILOVER_FOLDER";
/// The folder of a machine in namespaces: a file system in memory, visible only there.
const PRIVATE_FOLDER: &str = "/run/register";
/// The user as whom PostgreSQL runs where the test runs as root.
const SERVANT: &str = "postgres";

/// What the scenarios execute.
const TOOLS: [Tool; 8] = [
    Tool::Postgresql,
    Tool::Patroni,
    Tool::Etcd,
    Tool::Pgbouncer,
    Tool::Haproxy,
    Tool::Ip,
    Tool::Localedef,
    Tool::Setpriv,
];

/// Where a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// Where the servers, the balancer and the clients are.
    Main,
    /// One of the nodes of PostgreSQL, by its number.
    Node(usize),
    /// No process: an address that does not answer.
    Dead,
}

/// The machine of a test.
pub(crate) struct Machine {
    folder: PathBuf,
    has_namespaces: bool,
    /// The first three numbers of each address.
    network: String,
    is_root: bool,
}

/// Whether a case belongs to the short form too, which continuous integration runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Short,
    FullOnly,
}

/// A fault of a machine.
pub(crate) struct Case {
    name: &'static str,
    form: Form,
    /// Returns the broken promises.
    run: fn(&Machine) -> Vec<String>,
}

impl Case {
    pub(crate) const fn new(
        name: &'static str,
        form: Form,
        run: fn(&Machine) -> Vec<String>,
    ) -> Self {
        Self { name, form, run }
    }

    /// Whether this run includes the case: `FAILOVER_CASES` is a part of the names.
    fn is_wanted(&self) -> bool {
        let wanted = std::env::var(WANTED).unwrap_or_default();
        (self.form == Form::Short || in_full()) && self.name.contains(&wanted)
    }
}

/// Runs each case in a separate machine by starting `test` of this program again there.
pub(crate) fn on_own_machines(test: &str, cases: &[Case]) {
    if let Ok(name) = std::env::var(CASE) {
        let kind = std::env::var(KIND).unwrap();
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let faults = (case.run)(&Machine::new(kind == "namespaces"));
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        return;
    }
    if Kind::from_environment() != Kind::Postgres || !has_tools(&TOOLS) {
        return;
    }
    let wanted: Vec<_> = cases.iter().filter(|case| case.is_wanted()).collect();
    assert!(!wanted.is_empty(), "no case has this name");
    let failed = wanted.iter().map(|case| case.name);
    let failed: Vec<_> = failed.filter(|name| !passes(test, name)).collect();
    assert!(failed.is_empty(), "{failed:?} have failed; see above");
}

/// Runs this program for one case on a separate machine.
fn passes(test: &str, case: &str) -> bool {
    eprintln!("case: {case}");
    let has_namespaces = are_namespaces_allowed();
    let mut command = Command::new(if has_namespaces { "unshare" } else { "sh" });
    if has_namespaces {
        command.args(UNSHARE).arg("sh");
    } else {
        eprintln!(
            "no namespaces can be made here; what is to be cut off is stopped by SIGSTOP alone"
        );
    }
    let (kind, folder) = if has_namespaces {
        ("namespaces", PathBuf::from(PRIVATE_FOLDER))
    } else {
        ("loopback", temporary_folder())
    };
    command
        .args(["-c", SCRIPT, "machine", kind])
        .arg(&folder)
        .arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    command.env(CASE, case).env(KIND, kind).env(FOLDER, &folder);
    // What is typed at a terminal to end the tests does not reach the script, which has to tidy up.
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    let mut process = Process::start(&mut command);
    let printed = BufReader::new(process.stdout())
        .lines()
        .map_while(Result::ok);
    // A name that no test has would run none, and pass.
    let has_run = printed.filter(|line| line.contains("1 passed")).count() == 1;
    // Standard input stays open until here.
    process.wait().success() && has_run
}

fn are_namespaces_allowed() -> bool {
    let tried = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add tried && ip link add type bridge";
    let tried = Command::new("unshare")
        .args(UNSHARE)
        .args(["sh", "-c", tried])
        .stderr(Stdio::null())
        .status();
    std::env::var("FAILOVER_NAMESPACES").as_deref() != Ok("off")
        && tried.is_ok_and(|status| status.success())
}

fn temporary_folder() -> PathBuf {
    let mut builder = tempfile::Builder::new();
    let folder = builder
        .prefix("register-failover-")
        .disable_cleanup(true)
        .tempdir()
        .unwrap()
        .path()
        .to_owned();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

impl Machine {
    fn new(has_namespaces: bool) -> Self {
        let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
        let own = std::process::id();
        let network = if has_namespaces {
            "10.254.9".to_owned()
        } else {
            // Any address that begins with 127 is this machine; no other program uses these.
            format!("127.{}.{}", 16 + own / 256 % 200, own % 256)
        };
        let is_root = printed("id", &["-u"]).trim() == "0";
        let machine = Self {
            folder,
            has_namespaces,
            network,
            is_root,
        };
        if has_namespaces {
            machine.make_network();
        }
        for host in [Host::Main, Host::Node(0), Host::Node(1)] {
            let home = machine.home(host);
            fs::create_dir_all(&home).unwrap();
            machine.hand_over(&home);
        }
        let form = if in_full() { "full" } else { "short" };
        eprintln!(
            "network: {}; {form} form, {:?} of load before and after",
            machine.network,
            seconds()
        );
        machine
    }

    fn make_network(&self) {
        ip(&["link", "add", "switch", "type", "bridge"]);
        ip(&[
            "addr",
            "add",
            &format!("{}/24", self.address(Host::Main)),
            "dev",
            "switch",
        ]);
        ip(&["link", "set", "switch", "up"]);
        for node in 0..2 {
            let (namespace, port) = (format!("node-{node}"), format!("port-{node}"));
            let address = self.address(Host::Node(node));
            ip(&["netns", "add", &namespace]);
            ip(&[
                "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &namespace,
            ]);
            ip(&["link", "set", &port, "master", "switch", "up"]);
            ip(&[
                "-n",
                &namespace,
                "addr",
                "add",
                &format!("{address}/24"),
                "dev",
                "eth0",
            ]);
            ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
            ip(&["-n", &namespace, "link", "set", "lo", "up"]);
            // A node whose cable is cut is as silent as one on a hanging machine: no error is
            // returned.
            let shown = printed("ip", &["-n", &namespace, "-o", "link", "show", "eth0"]);
            let hardware = shown
                .split_whitespace()
                .skip_while(|word| *word != "link/ether")
                .nth(1)
                .unwrap();
            ip(&[
                "neigh",
                "add",
                &address,
                "lladdr",
                hardware,
                "dev",
                "switch",
                "nud",
                "permanent",
            ]);
        }
        let dead = self.address(Host::Dead);
        ip(&[
            "neigh",
            "add",
            &dead,
            "lladdr",
            "02:00:00:00:00:99",
            "dev",
            "switch",
            "nud",
            "permanent",
        ]);
    }

    /// The address of a host.
    pub(crate) fn address(&self, host: Host) -> String {
        match host {
            Host::Main => format!("{}.1", self.network),
            Host::Node(node) => format!("{}.{}", self.network, 11 + node),
            Host::Dead if self.has_namespaces => format!("{}.99", self.network),
            // Of a network that no machine should have, so that a packet is lost on its way.
            Host::Dead => "10.255.0.1".to_owned(),
        }
    }

    /// The working folder of a host's processes.
    pub(crate) fn home(&self, host: Host) -> PathBuf {
        match host {
            Host::Main | Host::Dead => self.folder.join("main"),
            Host::Node(node) => self.folder.join(format!("node-{node}")),
        }
    }

    /// A file system of `mib` MiB for a host; `None` where the machine does not allow one.
    pub(crate) fn small_disk(&self, host: Host, mebibytes: u32) -> Option<PathBuf> {
        if !self.has_namespaces {
            return None;
        }
        let folder = self.home(host).join("disk");
        fs::create_dir(&folder).unwrap();
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"])
            .arg(&folder));
        self.hand_over(&folder);
        Some(folder)
    }

    /// A program on a host, which does not run as root.
    pub(crate) fn command(&self, host: Host, program: impl AsRef<Path>) -> Command {
        let mut words: Vec<String> = Vec::new();
        if let (Host::Node(node), true) = (host, self.has_namespaces) {
            words.extend(["ip", "netns", "exec", &format!("node-{node}")].map(str::to_owned));
        }
        if self.is_root {
            words.extend(
                [
                    "setpriv",
                    "--reuid",
                    SERVANT,
                    "--regid",
                    SERVANT,
                    "--clear-groups",
                ]
                .map(str::to_owned),
            );
        }
        words.push(program.as_ref().display().to_string());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir(self.home(host))
            .env_remove(CASE)
            .stdin(Stdio::null());
        command
    }

    /// Cuts the network of a node, where it has one.
    pub(crate) fn cut(&self, node: usize) {
        self.set_cable(node, "down");
    }

    /// Joins the network of a node again.
    pub(crate) fn join(&self, node: usize) {
        self.set_cable(node, "up");
    }

    fn set_cable(&self, node: usize, state: &str) {
        if self.has_namespaces {
            ip(&["link", "set", &format!("port-{node}"), state]);
        }
    }

    /// The processes that work in the folder of a host, or below it.
    pub(crate) fn processes(&self, host: Host) -> Vec<u32> {
        let home = self.home(host);
        let works_there = |process: &u32| {
            fs::read_link(format!("/proc/{process}/cwd"))
                .is_ok_and(|folder| folder.starts_with(&home))
        };
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(works_there)
            .collect()
    }

    /// Sends a signal to all processes of a host, also to those that start during the call.
    pub(crate) fn signal(&self, host: Host, name: &str) {
        for _ in 0..2 {
            let processes = self
                .processes(host)
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>();
            // A process that has just ended cannot get it.
            let kill = ["-c", "kill \"$@\"", "kill"];
            let mut command = Command::new("sh");
            let _ = command
                .args(kill)
                .arg(format!("-{name}"))
                .args(processes)
                .stderr(Stdio::null())
                .status();
        }
    }

    fn hand_over(&self, folder: &Path) {
        if self.is_root {
            run(Command::new("chown")
                .arg(format!("{SERVANT}:{SERVANT}"))
                .arg(folder));
        }
    }
}

fn ip(arguments: &[&str]) {
    run(Tool::Ip.command().args(arguments));
}

/// Runs a command to its good end.
pub(crate) fn run(command: &mut Command) -> String {
    let ended = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [stdout, stderr] =
        [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(ended.status.success(), "{command:?}: {stdout}{stderr}");
    stdout
}

fn printed(program: &str, arguments: &[&str]) -> String {
    run(Command::new(program).args(arguments))
}
