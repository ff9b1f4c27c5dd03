//! What a run has shown, as a line of a table, and whether that is what the register promises.

use std::time::Duration;

use super::http::Observation;
use super::probes::{Probe, READY};
use super::watcher::Truth;

/// Within this time each request has its answer.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);
/// Within this time after a node can do it, servers do it too.
const LONGEST_RETURN: Duration = Duration::from_secs(5);
/// Within this time the probes answer, and tell the truth.
const LONGEST_LIE: Duration = Duration::from_secs(3);
/// How exactly it is known when a node could do something.
const SLACK: Duration = Duration::from_millis(500);
/// The most faults of one kind that are named.
const NAMED: usize = 3;

/// What was promised of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Reads continue, whatever happens to writes.
    GoOn,
    /// Reads are unavailable while the primary is.
    MayStop,
}

/// What was seen in a run.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) observations: Vec<Observation>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) truth: Truth,
    pub(crate) length: Duration,
    pub(crate) reads: Reads,
}

/// What was found afterwards.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Acknowledged writes that are not there, or are there twice.
    pub(crate) lost: Vec<String>,
    /// Answers that were not those to what was written.
    pub(crate) wrong: Vec<String>,
    pub(crate) acknowledged: usize,
}

/// The head of the table.
pub(crate) const HEAD: &str = "| scenario | requests | outage of reads | outage of writes | with a writable node | slowest | 503 | other 5xx | \
     no answer | lost | wrong | probes wrong or late |\n|---|---|---|---|---|---|---|---|---|---|---|---|";

impl Run {
    /// Prints the line of the table, and gives what is not as promised.
    pub(crate) fn judge(&self, found: &Found) -> Vec<String> {
        let mut faults = Vec::new();
        let seen = &self.observations;
        let count = |is: &dyn Fn(&Observation) -> bool| seen.iter().filter(|one| is(one)).count();
        let slowest = seen.iter().max_by_key(|one| one.time());
        let refused = count(&|one| one.status == Some(503));
        let failed = count(&|one| {
            one.status
                .is_some_and(|status| status >= 500 && status != 503)
        });
        let unanswered = count(&|one| one.status.is_none());
        let (reads, _) = self.outage(false);
        let (writes, late) = self.outage(true);
        let untrue = self.untrue_probes();
        let shown_kind =
            |one: &Observation| format!("{:.1} s ({:?})", one.time().as_secs_f64(), one.kind);
        eprintln!(
            "| {} | {} | {:.1} s | {:.1} s | {:.1} s | {} | {refused} | {failed} | {unanswered} | {} of {} | {} | {} of {} |",
            self.name,
            seen.len(),
            reads.as_secs_f64(),
            writes.as_secs_f64(),
            late.as_secs_f64(),
            slowest.map_or("none".to_owned(), shown_kind),
            found.lost.len(),
            found.acknowledged,
            found.wrong.len(),
            untrue.len(),
            self.probes.len(),
        );
        let slow = count(&|one| one.time() > LONGEST_REQUEST);
        let mute = count(&|one| one.status == Some(503) && !one.has_retry_after);
        for (number, what) in [
            (slow, "requests took longer than 10 s"),
            (mute, "times 503 without Retry-After"),
            (failed, "errors of the server"),
            (unanswered, "requests without an answer"),
        ] {
            if number > 0 {
                faults.push(format!("{number} {what}"));
            }
        }
        for (what, named) in [
            ("lost", &found.lost),
            ("wrong", &found.wrong),
            ("probe", &untrue),
        ] {
            faults.extend(named.iter().take(NAMED).map(|one| format!("{what}: {one}")));
        }
        faults.extend(self.late_returns());
        faults
    }

    /// The longest time without a request that was served, and how much of that time a node would
    /// have served it.
    fn outage(&self, writes: bool) -> (Duration, Duration) {
        let (from, to) = self
            .gaps(writes)
            .into_iter()
            .max_by_key(|(from, to)| (*to).checked_sub(*from).unwrap())
            .unwrap_or_default();
        (to.checked_sub(from).unwrap(), self.longest_able(from, to))
    }

    /// The longest time in a period with a writable node.
    fn longest_able(&self, from: Duration, to: Duration) -> Duration {
        let able = self.truth.able(|attempt| attempt.is_writable).into_iter();
        able.map(|(begin, end)| end.min(to).saturating_sub(begin.max(from)))
            .max()
            .unwrap_or_default()
    }

    /// The times between one request that was served and the next.
    fn gaps(&self, writes: bool) -> Vec<(Duration, Duration)> {
        let served = self
            .observations
            .iter()
            .filter(|one| one.kind.is_write() == writes && one.is_served());
        let mut times: Vec<_> = served
            .map(|one| one.ended)
            .chain([Duration::ZERO, self.length])
            .collect();
        times.sort_unstable();
        times.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// The times without service that should have had it.
    fn late_returns(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (what, writes) in [("reads", false), ("writes", true)] {
            let must_go_on = !writes && self.reads == Reads::GoOn;
            for (from, to) in self.gaps(writes) {
                let away = if must_go_on {
                    to.checked_sub(from).unwrap()
                } else {
                    self.longest_able(from, to)
                };
                if away > LONGEST_RETURN {
                    let (from, away) = (from.as_secs_f64(), away.as_secs_f64());
                    faults
                        .push(format!("no {what} for {away:.1} s after {from:.1} s, although a node would serve them"));
                }
            }
        }
        faults
    }

    /// Probes that were late, or said what had not been so for some time.
    fn untrue_probes(&self) -> Vec<String> {
        let mut untrue = Vec::new();
        for probe in &self.probes {
            let away = probe.ended.checked_sub(probe.begun).unwrap();
            let since = probe.begun.saturating_sub(LONGEST_LIE + SLACK);
            let expected = if probe.path == READY {
                let is_writable = self
                    .truth
                    .between(since, probe.ended, |attempt| attempt.is_writable);
                let is_readable = self
                    .truth
                    .between(since, probe.ended, |attempt| attempt.is_readable);
                match self.reads {
                    // Clients of a lost node have to find the other one.
                    Reads::GoOn => {
                        (!self.truth.has_lost_a_node(since, probe.ended)).then_some(true)
                    }
                    // A standby that is left may be read, and need not be.
                    Reads::MayStop => is_writable
                        .filter(|is| *is)
                        .or(is_readable.filter(|is| !*is)),
                }
            } else {
                self.truth
                    .between(since, probe.ended, |attempt| attempt.is_writable)
            };
            let said = match probe.status {
                Some(200) => Some(true),
                Some(503) => Some(false),
                _ => None,
            };
            if away > LONGEST_LIE
                || said.is_none()
                || expected.is_some_and(|expected| said != Some(expected))
            {
                untrue.push(format!(
                    "server {} {} at {:.1} s: {:?} after {:.1} s, where {expected:?} is true",
                    probe.server,
                    probe.path,
                    probe.begun.as_secs_f64(),
                    probe.status,
                    away.as_secs_f64()
                ));
            }
        }
        untrue
    }
}
