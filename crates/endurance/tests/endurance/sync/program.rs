//! Runs of `trainee-sync` against a server. Each can be killed at any time.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use adapter_kit::Label;
use fixtures::random::Random;
use test_support::{Process, trainee_sync};

use super::super::balancer::Balancer;
use super::super::deployment::{Server, Site};

/// The highest number of progress lines before a kill.
const MOST_LINES: usize = 2;
/// The longest time from such a line to the kill, in microseconds: the next request is on its way
/// by then.
const LONGEST_DELAY: usize = 60_000;
/// The longest time without a server, in microseconds.
const LONGEST_OUTAGE: usize = 300_000;
/// How long the program sends a request again, in seconds.
const PATIENCE_SECS: &str = "60";

/// How often each side is still to be killed.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(super) struct Kills {
    pub(super) program: usize,
    pub(super) server: usize,
}

impl Kills {
    /// Takes a share away.
    pub(super) fn share(&mut self, part: usize, of: usize) -> Self {
        let share = Self {
            program: self.program * part / of,
            server: self.server * part / of,
        };
        self.program -= share.program;
        self.server -= share.server;
        share
    }

    /// Gives back what is left of a share.
    pub(super) fn give_back(&mut self, share: Self) {
        self.program += share.program;
        self.server += share.server;
    }

    /// Whether all kills are done.
    pub(super) fn is_over(self) -> bool {
        self == Self {
            program: 0,
            server: 0,
        }
    }
}

/// How a run of the program ended.
enum Ended {
    Killed,
    /// What it printed.
    ByItself(String),
}

/// The program, and the server that it talks to.
pub(super) struct SyncRuns {
    pub(super) site: Site,
    program: PathBuf,
    server: Server,
    /// The address of the register, which stays when the server is another one.
    balancer: Balancer,
    label: Label,
    random: Random,
    /// Requests that the present run has reported.
    requests: usize,
}

impl SyncRuns {
    pub(super) fn new(site: Site, label: Label, random: Random) -> Self {
        let program = trainee_sync::build();
        let server = site.serve();
        let balancer = Balancer::new(vec![server.address.clone()]);
        Self {
            site,
            program,
            server,
            balancer,
            label,
            random,
            requests: 0,
        }
    }

    /// The address of the server that runs now.
    pub(super) fn address(&self) -> &str {
        &self.server.address
    }

    /// Stops the server in good order.
    pub(super) fn stop(mut self) -> Site {
        self.server.stop();
        self.site
    }

    /// Runs a command until it ends by itself, while the program and the server are killed. Each
    /// time the program is killed the command is run again. Reports the requests of each run.
    pub(super) fn run(&mut self, what: &str, arguments: &[&str], kills: &mut Kills) -> String {
        let (before, mut requests) = (*kills, Vec::new());
        let printed = loop {
            let ended = self.run_once(arguments, kills);
            requests.push(self.requests);
            if let Ended::ByItself(printed) = ended {
                break printed;
            }
        };
        eprintln!(
            "{what}: program killed {} times, server {} times; {} requests, in each run at least {requests:?}",
            before.program - kills.program,
            before.server - kills.server,
            requests.iter().sum::<usize>()
        );
        eprintln!("  last run: {}", printed.trim());
        printed
    }

    /// Pushes the file again: nothing is registered or changed, and no row is refused.
    pub(super) fn require_no_changes(&mut self, push: &[&str], trainees: usize) {
        let printed = self.run(
            "the same file again",
            push,
            &mut Kills {
                program: 0,
                server: 0,
            },
        );
        let nothing = format!("0 registered, 0 updated, {trainees} unchanged, 0 refused");
        assert!(printed.starts_with(&nothing), "{printed}");
    }

    fn run_once(&mut self, arguments: &[&str], kills: &mut Kills) -> Ended {
        self.requests = 0;
        let mut command = Command::new(&self.program);
        command.args(arguments).args([
            "--patience",
            PATIENCE_SECS,
            "--version",
            &self.label.to_string(),
        ]);
        command.args(["--register", &format!("http://{}", self.balancer.address)]);
        command.env("TRAINEE_REGISTER_TOKEN", &self.site.token);
        let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let (progress, mut all) = (read_lines(process.stderr()), Vec::new());
        let mut lines_until_kill = 1 + self.random.below(MOST_LINES);
        while let Ok(line) = progress.recv() {
            let is_progress = line.ends_with(" requests)");
            if is_progress {
                self.requests = requests_of(&line);
                lines_until_kill = lines_until_kill.saturating_sub(1);
            }
            all.push(line);
            if !is_progress || lines_until_kill > 0 || kills.is_over() {
                continue;
            }
            thread::sleep(Duration::from_micros(
                self.random.below(LONGEST_DELAY) as u64
            ));
            lines_until_kill = 1 + self.random.below(MOST_LINES);
            if self.random.below(kills.program + kills.server) < kills.program {
                process.kill();
                break;
            }
            self.replace_server();
            kills.server -= 1;
        }
        let mut printed = String::new();
        process.stdout().read_to_string(&mut printed).unwrap();
        let status = process.wait();
        if status.success() {
            self.requests = requests_of(&printed);
            return Ended::ByItself(printed);
        }
        assert_eq!(status.code(), None, "{printed}{}", all.join("\n"));
        kills.program -= 1;
        Ended::Killed
    }

    /// Kills the server, and starts another one after a while.
    fn replace_server(&mut self) {
        self.server.kill();
        thread::sleep(Duration::from_micros(
            self.random.below(LONGEST_OUTAGE) as u64
        ));
        self.server = self.site.serve();
        self.balancer.replace(0, &self.server.address);
    }
}

/// The lines as they come.
fn read_lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        BufReader::new(stream)
            .lines()
            .map_while(Result::ok)
            .take_while(|line| sender.send(line.clone()).is_ok())
            .count()
    });
    receiver
}

/// The number of requests that a line reports.
fn requests_of(line: &str) -> usize {
    let words: Vec<&str> = line.split(['(', ' ', ')']).collect();
    let at = words
        .iter()
        .position(|word| word.starts_with("requests"))
        .unwrap_or_else(|| panic!("no requests: {line}"));
    words[at - 1].parse().unwrap()
}
