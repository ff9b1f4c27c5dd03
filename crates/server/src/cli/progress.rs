//! The progress of a command, shown on standard error if it is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The time between two redraws of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// A progress bar for work of a known length. `done` is a template such as `{percent}% copied`.
pub(super) fn bar(length: u64, done: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // With an invalid template the bar has the default style.
    if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:40}} {done}, {{eta}} left")) {
        bar.set_style(style);
    }
    bar
}

/// Runs work of unknown length, and shows its name and the elapsed time.
pub(super) fn while_running<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let spinner = ProgressBar::new_spinner().with_message(name);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(TICK);
    let result = work();
    spinner.finish_and_clear();
    result
}
