//! How much memory a process holds, over time.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What the server held over time, looked at every so often. Nothing on a system that does not tell.
pub(super) struct Memory {
    seen: Arc<Mutex<Vec<usize>>>,
    end_of_load: Mutex<Option<usize>>,
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<()>,
}

/// What the server held after its warm-up and at the end, in KiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    warm: usize,
    loaded: usize,
    last: usize,
}

impl Memory {
    pub(super) fn watch(process: u32, every: Duration) -> Self {
        let (seen, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (noting, ending) = (Arc::clone(&seen), Arc::clone(&is_over));
        let watching = thread::spawn(move || {
            while !ending.load(Ordering::Relaxed) {
                noting.lock().unwrap().extend(resident(process));
                thread::sleep(every);
            }
        });
        Self { seen, end_of_load: Mutex::new(None), is_over, watching }
    }

    /// The load ends here: what comes is abuse.
    pub(super) fn mark_end_of_load(&self) {
        *self.end_of_load.lock().unwrap() = Some(self.seen.lock().unwrap().len());
    }

    /// What is held now.
    pub(super) fn in_words(&self) -> String {
        let now = self.seen.lock().unwrap().last().copied();
        now.map_or_else(|| "memory unknown".to_owned(), |kib| format!("{} MiB", kib / 1024))
    }

    /// Stops watching. A fifth of the load is the warm-up; what is held in the fifth after it is compared with what is
    /// held in the last fifth of the load, and in the quiet time at the end.
    pub(super) fn finish(self) -> Option<Growth> {
        self.is_over.store(true, Ordering::Relaxed);
        self.watching.join().unwrap();
        let seen = self.seen.lock().unwrap();
        let loaded = (*self.end_of_load.lock().unwrap())?;
        let fifth = loaded / 5;
        Some(Growth {
            warm: mean(seen.get(fifth..2 * fifth)?)?,
            loaded: mean(seen.get(loaded - fifth..loaded)?)?,
            last: *seen.last()?,
        })
    }
}

impl Growth {
    /// How much more is held than after the warm-up, in percent: at the end of the load, or after the abuse.
    pub(super) fn in_percent(self) -> usize {
        self.loaded.max(self.last).saturating_sub(self.warm) * 100 / self.warm.max(1)
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [warm, loaded, last] = [self.warm, self.loaded, self.last].map(|kib| kib as f64 / 1024.0);
        write!(
            formatter,
            "memory: {warm:.1} MiB after the warm-up, {loaded:.1} MiB at the end of the load, {last:.1} MiB after the \
             abuse ({} % more)",
            self.in_percent()
        )
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
