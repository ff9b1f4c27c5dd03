//! A run: clients, probes and watchers side by side while something is broken, and the look at what
//! is left afterwards.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::daemon::becomes_true;
use super::load::{Load, Record};
use super::machine::Host;
use super::postgres::{REGISTER, sql};
use super::probes::{self, READY, WRITABLE};
use super::site::Site;
use super::size::seconds;
use super::verdict::{Found, HEAD, Reads, Run};
use super::watcher::{Truth, watch};

/// Clients of an ordinary run.
const CLIENTS: usize = 16;
/// How long the register may take to be whole again before it is looked at.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run at a site.
pub(crate) struct Scenario<'a> {
    pub(crate) site: &'a Site<'a>,
    pub(crate) name: &'a str,
    pub(crate) clients: usize,
    /// Whether they go through the balancer. It answers in the place of servers that are not ready.
    pub(crate) is_balanced: bool,
    /// The nodes that the servers know.
    pub(crate) nodes: &'a [usize],
    pub(crate) reads: Reads,
    /// Where the database is looked at afterwards.
    pub(crate) records_at: &'a dyn Fn() -> usize,
}

/// Actions during a fault.
pub(crate) struct Breaking<'a> {
    load: &'a Load<'a>,
    unknown: Mutex<Vec<(Duration, Duration)>>,
}

impl Breaking<'_> {
    /// Does something that is no matter of a node as a whole: what one attempt meets is not what
    /// all meet.
    pub(crate) fn partly<T>(&self, act: impl FnOnce() -> T) -> T {
        let from = self.load.begun.elapsed();
        let done = act();
        self.unknown
            .lock()
            .unwrap()
            .push((from, self.load.begun.elapsed()));
        done
    }
}

/// Waits.
pub(crate) fn wait(seconds: u64) {
    thread::sleep(Duration::from_secs(seconds));
}

impl<'a> Scenario<'a> {
    /// An ordinary run over the one server of PostgreSQL on the first node.
    pub(crate) fn over_one_node(site: &'a Site<'a>, name: &'a str) -> Self {
        Self {
            site,
            name,
            clients: CLIENTS,
            is_balanced: true,
            nodes: &[0],
            reads: Reads::MayStop,
            records_at: &|| 0,
        }
    }

    /// Runs clients before, during and after `act`, and returns the broken promises.
    pub(crate) fn run(&self, act: impl FnOnce(&Breaking<'_>)) -> Vec<String> {
        let load = Load::new(self.site, self.clients, self.is_balanced);
        let is_over = AtomicBool::new(false);
        let breaking = Breaking {
            load: &load,
            unknown: Mutex::default(),
        };
        let (probes, attempts, length) = thread::scope(|scope| {
            let (is_over, start) = (&is_over, load.begun);
            let mut asking = Vec::new();
            for (number, server) in self.site.servers.iter().enumerate() {
                for path in [READY, WRITABLE] {
                    asking.push(
                        scope.spawn(move || probes::ask(server, number, path, start, is_over)),
                    );
                }
            }
            let machine = self.site.machine;
            let watching: Vec<_> = self
                .nodes
                .iter()
                .map(|node| scope.spawn(move || watch(machine, *node, start, is_over)))
                .collect();
            let _end = End(is_over);
            let mut length = Duration::ZERO;
            let name = self
                .name
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_lowercase();
            load.run(&name, || {
                thread::sleep(seconds());
                act(&breaking);
                thread::sleep(seconds() + Duration::from_secs(5));
                length = start.elapsed();
            });
            is_over.store(true, Ordering::Relaxed);
            let probes: Vec<_> = asking
                .into_iter()
                .flat_map(|one| one.join().unwrap())
                .collect();
            let attempts: Vec<_> = watching
                .into_iter()
                .flat_map(|one| one.join().unwrap())
                .collect();
            (probes, attempts, length)
        });
        let mut observations = load.observations.lock().unwrap().clone();
        observations.retain(|one| one.begun < length);
        let unknown = breaking.unknown.into_inner().unwrap();
        let run = Run {
            name: self.name.to_owned(),
            observations,
            probes,
            truth: Truth { attempts, unknown },
            length,
            reads: self.reads,
        };
        let found = self.look(&load);
        eprintln!("{HEAD}");
        let faults = run.judge(&found);
        if !faults.is_empty() {
            eprintln!("the servers' last warnings:\n{}", self.site.warnings(4));
        }
        faults
    }

    /// Compares what was acknowledged with what is there, through the servers and in the database.
    fn look(&self, load: &Load<'_>) -> Found {
        let records = load.records.lock().unwrap().clone();
        let mut found = Found {
            acknowledged: records.len(),
            ..Found::default()
        };
        for record in &records {
            found.acknowledged += record.changes().0 as usize;
        }
        self.look_through_servers(load, &records, &mut found);
        match self.look_in_database() {
            Ok(emails) => compare(&records, &emails, &mut found),
            Err(reason) => found
                .lost
                .push(format!("the database cannot be looked at: {reason}")),
        }
        found.wrong = load.wrong.lock().unwrap().clone();
        found
    }

    fn look_through_servers(&self, load: &Load<'_>, records: &[Arc<Record>], found: &mut Found) {
        let caller = load.caller();
        for record in records {
            let is_answered = || {
                load.read_one(&caller, record)
                    .is_some_and(|reply| reply.status != 503)
            };
            if !becomes_true(PATIENCE, is_answered) {
                found
                    .lost
                    .push(format!("{} cannot be read after the run", record.id));
                return;
            }
        }
    }

    /// The emails of all trainees by their identifiers.
    fn look_in_database(&self) -> Result<BTreeMap<String, String>, String> {
        let node = Host::Node((self.records_at)());
        let query = "SELECT trainee_id || ' ' || coalesce(record->>'email', '') FROM trainees";
        let shown = sql(self.site.machine, node, REGISTER, query)?;
        Ok(shown
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(id, email)| (id.into(), email.into()))
            .collect())
    }
}

fn compare(records: &[Arc<Record>], emails: &BTreeMap<String, String>, found: &mut Found) {
    for record in records {
        let (acknowledged, sent) = record.changes();
        let email = emails
            .get(&record.id)
            .map(String::as_str)
            .unwrap_or_default();
        if !record.is_after(email, acknowledged, sent) {
            let at = record.acknowledged_at().as_secs_f64();
            let lost = format!(
                "{}: change {acknowledged} to {sent}, the first at {at:.1} s, not {email:?}",
                record.id
            );
            found.lost.push(lost);
        }
    }
    // Every name is registered once, however often the request was sent.
    let mut names: Vec<_> = emails
        .values()
        .filter_map(|email| Some(email.split_once('.')?.0))
        .collect();
    names.sort_unstable();
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        found.lost.push(format!("registered twice: {:?}", pair[0]));
    }
}

/// Ends the watchers when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
