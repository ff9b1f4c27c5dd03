//! How much memory a process holds, over time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, fs};

/// What the server held over time, looked at every so often. Nothing on a system that does not
/// tell.
pub(super) struct Memory {
    seen: Arc<Mutex<Vec<usize>>>,
    /// What the server went through, and how often it had been looked at when that ended.
    parts: Mutex<Vec<(&'static str, usize)>>,
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<()>,
}

/// What a server held after the warm-up and later, in KiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    part: &'static str,
    before: usize,
    after: usize,
}

impl Memory {
    /// Looks at what a process holds, every so often.
    pub(super) fn watch(process: u32, every: Duration) -> Self {
        let (seen, is_over) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let (noting, ending) = (Arc::clone(&seen), Arc::clone(&is_over));
        let watching = thread::spawn(move || {
            while !ending.load(Ordering::Relaxed) {
                noting.lock().unwrap().extend(resident(process));
                thread::sleep(every);
            }
        });
        Self {
            seen,
            parts: Mutex::default(),
            is_over,
            watching,
        }
    }

    /// What the server goes through ends here, and the next thing begins.
    pub(super) fn end_part(&self, part: &'static str) {
        let seen = self.seen.lock().unwrap().len();
        self.parts.lock().unwrap().push((part, seen));
    }

    /// What is held now.
    pub(super) fn in_words(&self) -> String {
        let now = self.seen.lock().unwrap().last().copied();
        now.map_or_else(
            || "memory unknown".to_owned(),
            |kib| format!("{} MiB", kib / 1024),
        )
    }

    /// Stops watching. A fifth of the first part is the warm-up: the fifth after it is compared
    /// with the last one of each part.
    pub(super) fn finish(self) -> Vec<Growth> {
        self.is_over.store(true, Ordering::Relaxed);
        self.watching.join().unwrap();
        let (seen, mut begin, mut before, mut growths) =
            (self.seen.lock().unwrap(), 0, None, Vec::new());
        for &(part, end) in &*self.parts.lock().unwrap() {
            let fifths: Vec<usize> = fifths(&seen[begin..end]).collect();
            let before = *before.get_or_insert(fifths.get(1).copied());
            growths.extend(before.zip(fifths.last()).map(|(before, &after)| Growth {
                part,
                before,
                after,
            }));
            begin = end;
        }
        growths
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
        let ([before, after], part) = (
            [self.before, self.after].map(|kib| kib as f64 / 1024.0),
            self.part,
        );
        let percent = self.in_percent();
        write!(
            formatter,
            "{before:.1} MiB after the warm-up, {after:.1} MiB after {part} ({percent} % more)"
        )
    }
}

/// What was held in each fifth of the time.
fn fifths(seen: &[usize]) -> impl Iterator<Item = usize> {
    seen.chunks(seen.len().div_ceil(5).max(1))
        .map(|fifth| fifth.iter().sum::<usize>() / fifth.len())
}

/// What a process holds, in KiB.
pub(crate) fn resident(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
