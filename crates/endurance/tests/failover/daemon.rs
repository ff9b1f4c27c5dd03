//! A program that runs beside the test, and writes its log into a file.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use test_support::Process;

use super::machine::{Host, Machine};

/// How long a daemon may take to be ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// A process, which is killed when this is dropped.
pub(crate) struct Daemon {
    pub(crate) process: Process,
    log: PathBuf,
}

impl Daemon {
    /// Starts a command on a host. `name` is that of its log.
    pub(crate) fn start(machine: &Machine, host: Host, name: &str, mut command: Command) -> Self {
        let log = machine.home(host).join(format!("{name}.log"));
        let file = File::options()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        Self {
            process: Process::start(&mut command),
            log,
        }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits until it is ready.
    pub(crate) fn wait_until(&self, what: &str, is_ready: impl FnMut() -> bool) {
        assert!(
            becomes_true(PATIENCE, is_ready),
            "{what} in {PATIENCE:?}:\n{}",
            last_lines(&self.log(), 40)
        );
    }
}

/// Asks until the answer is yes, or the time is over.
pub(crate) fn becomes_true(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !is_so() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// The end of a log.
pub(crate) fn last_lines(log: &str, count: usize) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
