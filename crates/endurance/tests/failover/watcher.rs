//! What the nodes of PostgreSQL can really do, tried from outside of the servers: a read, and a
//! write that is committed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::machine::{Host, Machine};
use super::postgres::{WATCH, psql};

const PAUSE: Duration = Duration::from_millis(250);
/// How long a node may take for both.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What one node did when it was tried. Times are counted from the beginning of the load.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) node: usize,
    pub(crate) ended: Duration,
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
}

/// Tries a node again and again.
pub(crate) fn watch(
    machine: &Machine,
    node: usize,
    start: Instant,
    is_over: &AtomicBool,
) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let mut command = psql(machine, Host::Node(node), WATCH, PATIENCE);
        let tried = command
            .args([
                "-c",
                "SELECT 1",
                "-c",
                "INSERT INTO attempts DEFAULT VALUES",
            ])
            .output()
            .unwrap();
        // A commit that did not wait for the standby is a warning.
        let is_writable = tried.status.success() && tried.stderr.is_empty();
        let is_readable = tried.stdout.starts_with(b"1");
        attempts.push(Attempt {
            node,
            ended: start.elapsed(),
            is_readable,
            is_writable,
        });
        thread::sleep(PAUSE);
    }
    attempts
}

/// What is known of the nodes over the time of a load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    pub(crate) attempts: Vec<Attempt>,
    /// Between these times, what one attempt on a node says is not what a server meets.
    pub(crate) unknown: Vec<(Duration, Duration)>,
}

impl Truth {
    /// The unbroken times with a capable node.
    pub(crate) fn able(&self, can: impl Fn(&Attempt) -> bool) -> Vec<(Duration, Duration)> {
        let mut able: Vec<(Duration, Duration)> = Vec::new();
        for node in [0, 1] {
            let attempts: Vec<_> = self
                .attempts
                .iter()
                .filter(|attempt| attempt.node == node)
                .collect();
            for stretch in attempts
                .chunk_by(|one, other| can(one) && can(other))
                .filter(|stretch| can(stretch[0]))
            {
                able.push((stretch[0].ended, stretch[stretch.len() - 1].ended));
            }
        }
        able.sort_unstable();
        let mut joined: Vec<(Duration, Duration)> = Vec::new();
        for (from, to) in able {
            match joined.last_mut().filter(|last| from <= last.1 + PAUSE) {
                Some(last) => last.1 = last.1.max(to),
                None => joined.push((from, to)),
            }
        }
        joined
            .into_iter()
            .flat_map(|stretch| self.without_unknown(stretch))
            .collect()
    }

    /// Whether some node could do something all the time, or none could at any time; nothing where
    /// that changed.
    pub(crate) fn between(
        &self,
        from: Duration,
        to: Duration,
        can: impl Fn(&Attempt) -> bool,
    ) -> Option<bool> {
        let able = self.able(can);
        let is_unknown = self
            .unknown
            .iter()
            .any(|(begin, end)| *begin < to && from < *end);
        if is_unknown {
            None
        } else if able.iter().any(|(begin, end)| *begin <= from && to <= *end) {
            Some(true)
        } else {
            // A period begins with the end of an attempt; the node was capable before that.
            able.iter()
                .all(|(begin, end)| to + PATIENCE < *begin || *end + PAUSE + PATIENCE < from)
                .then_some(false)
        }
    }

    /// Whether a node stopped answering at about this time.
    pub(crate) fn has_lost_a_node(&self, from: Duration, to: Duration) -> bool {
        [0, 1].into_iter().any(|node| {
            let attempts: Vec<_> = self
                .attempts
                .iter()
                .filter(|attempt| attempt.node == node)
                .collect();
            let lost = attempts
                .windows(2)
                .filter(|pair| pair[0].is_readable && !pair[1].is_readable);
            lost.into_iter()
                .any(|pair| pair[0].ended < to && from < pair[1].ended)
        })
    }

    fn without_unknown(&self, (from, to): (Duration, Duration)) -> Vec<(Duration, Duration)> {
        let mut begin = from;
        let mut left = Vec::new();
        for (unknown, known) in self
            .unknown
            .iter()
            .filter(|(begin, end)| *begin < to && from < *end)
        {
            left.push((begin, *unknown));
            begin = *known;
        }
        left.push((begin, to));
        left.retain(|(from, to)| from < to);
        left
    }
}
