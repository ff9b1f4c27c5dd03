//! How far the program is: a bar on a terminal, plain lines otherwise. Both go to standard error.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often a bar without a known end moves.
const TICK: Duration = Duration::from_millis(120);

/// Shows how far one job is. Copies of it show the same.
#[derive(Clone)]
pub(crate) struct Progress {
    /// On a terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Shows nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            bar: std::io::stderr().is_terminal().then(ProgressBar::no_length),
        }
    }

    /// Prints how many of `total` are done, and the requests since the start. `total` is `None`
    /// while it is unknown.
    pub(crate) fn show(&self, what: &str, done: usize, total: Option<usize>, requests: usize) {
        let Some(bar) = &self.bar else {
            let of_total = total
                .map(|total| format!(" of {total}"))
                .unwrap_or_default();
            eprintln!("{what}: {done}{of_total} ({requests} requests)");
            return;
        };
        // The bar of the job before was removed.
        if bar.is_finished() {
            bar.reset();
        }
        let template = if total.is_some() {
            "{msg} {wide_bar} {pos} of {len}"
        } else {
            "{spinner} {msg} {pos}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        match total {
            Some(total) => {
                bar.disable_steady_tick();
                bar.set_length(total as u64);
            }
            None => bar.enable_steady_tick(TICK),
        }
        bar.set_message(what.to_owned());
        bar.set_position(done as u64);
    }

    /// Says a line that stays.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
            bar.finish_and_clear();
        }
    }
}
