//! Processes: their processors, and the time and memory that they used.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use crate::outcome::Outcome;

/// The processor of what is measured.
pub(crate) const SERVER: &str = "0";
/// The processor of the load.
pub(crate) const LOAD: &str = "1";
/// Linux counts processor time in hundredths of a second for programs, on every machine.
const TICKS_A_SECOND: f64 = 100.0;

/// All processors.
pub(crate) fn all_processors() -> Outcome<String> {
    Ok(fs::read_to_string("/sys/devices/system/cpu/online")?
        .trim()
        .to_owned())
}

/// Whether there is a processor for each.
fn is_pinned() -> bool {
    all_processors().is_ok_and(|processors| processors != SERVER)
}

/// A command that runs on the processor of what is measured, and is killed when the benchmark ends
/// in any way.
pub(crate) fn on_server_processor(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if is_pinned() {
        command.args(["taskset", "--cpu-list", SERVER]);
    }
    command.arg(program);
    command
}

/// Moves a process with all its threads.
pub(crate) fn pin(process: u32, processor: &str) -> Outcome<()> {
    if !is_pinned() {
        return Ok(());
    }
    let mut command = Command::new("taskset");
    command
        .args([
            "--all-tasks",
            "--cpu-list",
            "--pid",
            processor,
            &process.to_string(),
        ])
        .stdout(Stdio::null());
    if command.status()?.success() {
        Ok(())
    } else {
        Err(format!("taskset cannot move process {process}").into())
    }
}

/// What is measured: a process, and the database server that works for it alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    pub(crate) process: u32,
    pub(crate) database: Option<u32>,
}

impl Meter {
    /// The processor time that was used so far, of the database server's processes too.
    pub(crate) fn processor_time(self) -> Outcome<Duration> {
        let mut ticks = Stat::read(self.process).ok_or("the server has exited")?.own;
        if let Some(database) = self.database {
            let postmaster = Stat::read(database).ok_or("the database server has exited")?;
            let children = processes()
                .filter_map(Stat::read)
                .filter(|stat| stat.parent == database);
            ticks += postmaster.own
                + postmaster.of_ended_children
                + children.map(|stat| stat.own).sum::<f64>();
        }
        Ok(Duration::from_secs_f64(ticks / TICKS_A_SECOND))
    }

    /// The resident memory of the process alone, in mebibytes.
    pub(crate) fn memory(self) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .ok_or("no resident memory in /proc")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes / 1024.0)
    }
}

/// The processes of the database server.
pub(crate) fn family(parent: u32) -> Vec<u32> {
    let children = processes()
        .filter(|process| Stat::read(*process).is_some_and(|stat| stat.parent == parent));
    children.chain([parent]).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What `/proc/PID/stat` says, in ticks.
struct Stat {
    parent: u32,
    own: f64,
    of_ended_children: f64,
}

impl Stat {
    fn read(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name, in brackets, may hold anything. The fields behind it begin with the third.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |place: usize| fields.get(place - 3)?.parse::<f64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(14)? + ticks(15)?,
            of_ended_children: ticks(16)? + ticks(17)?,
        })
    }
}

/// Waits until something is there.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Outcome<T> {
    for _ in 0..120_000 {
        if let Some(found) = look() {
            return Ok(found);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(format!("{what} is not ready after 2 minutes").into())
}
