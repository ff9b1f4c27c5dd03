//! How much memory a process holds, over time.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What the server held over time, looked at every so often. Nothing on a system that does not tell.
pub(super) struct Memory {
    seen: Arc<Mutex<Vec<usize>>>,
    every: Duration,
    end_of_load: OnceLock<usize>,
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<()>,
}

/// What a server held at two times, in KiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Memory {
    /// Looks at what a process holds, every so often.
    pub(super) fn watch(process: u32, every: Duration) -> Self {
        let (seen, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (noting, ending) = (Arc::clone(&seen), Arc::clone(&is_over));
        let watching = thread::spawn(move || {
            while !ending.load(Ordering::Relaxed) {
                noting.lock().unwrap().extend(resident(process));
                thread::sleep(every);
            }
        });
        Self { seen, every, end_of_load: OnceLock::new(), is_over, watching }
    }

    /// The load ends here: what comes is abuse.
    pub(super) fn end_load(&self) {
        self.end_of_load.get_or_init(|| self.seen.lock().unwrap().len());
    }

    /// What is held now.
    pub(super) fn in_words(&self) -> String {
        let now = self.seen.lock().unwrap().last().copied();
        now.map_or_else(|| "memory unknown".to_owned(), |kib| format!("{} MiB", kib / 1024))
    }

    /// What was held over so long until now.
    pub(super) fn over_the_last(&self, time: Duration) -> Option<usize> {
        let seen = self.seen.lock().unwrap();
        let count = (time.as_millis() / self.every.as_millis().max(1)).max(1) as usize;
        mean(&seen[seen.len().saturating_sub(count)..])
    }

    /// Stops watching. A fifth of the load is the warm-up; the fifth after it is compared with the last one.
    pub(super) fn finish(self) -> Option<Growth> {
        self.is_over.store(true, Ordering::Relaxed);
        self.watching.join().unwrap();
        let seen = self.seen.lock().unwrap();
        let load = seen.get(..*self.end_of_load.get()?)?;
        let fifths: Vec<usize> = load.chunks(load.len().div_ceil(5).max(1)).filter_map(mean).collect();
        eprintln!("memory under load, by fifths, in KiB: {fifths:?}");
        Some(Growth { before: *fifths.get(1)?, after: *fifths.last()? })
    }
}

impl Growth {
    /// How much more is held, in percent.
    pub(super) fn in_percent(self) -> usize {
        self.after.saturating_sub(self.before) * 100 / self.before.max(1)
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = [self.before, self.after].map(|kib| kib as f64 / 1024.0);
        write!(formatter, "{before:.1} MiB, then {after:.1} MiB ({} % more)", self.in_percent())
    }
}

fn mean(seen: &[usize]) -> Option<usize> {
    seen.iter().sum::<usize>().checked_div(seen.len())
}

/// What a process holds, in KiB.
fn resident(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
