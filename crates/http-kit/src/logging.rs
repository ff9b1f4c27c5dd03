//! Writes the log: as lines of text for people, or as one JSON object per line for programs.
//!
//! Log lines carry their data as key-values, and both forms show them. `RUST_LOG` selects which
//! lines are shown.
//!
//! A server logs into a bounded queue, and a separate thread writes it out, so that a slow reader
//! of standard error delays no request. A command line tool writes its log lines directly, in order
//! with its other output.

mod lines;
mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{IsTerminal as _, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, thread};

use clap::ValueEnum;
use env_logger::{Builder, Env, Target, WriteStyle};
use log::{Level, LevelFilter};

use self::queue::LogQueue;

/// The most bytes that wait to be written. Up to the same number may be in the middle of being
/// written to standard error.
const MAX_QUEUED_BYTES: usize = 1_048_576;
/// How long the end of the program waits for the log to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// The target of the line that reports a panic.
const PANIC: &str = "panic";

/// The queue of a server.
static QUEUE: OnceLock<LogQueue> = OnceLock::new();

/// Modules that log errors of clients: invalid HTTP, closed connections, failed TLS handshakes with
/// the data sent. Any client could fill the log with them, so they are logged only if `RUST_LOG`
/// names them.
const ABOUT_CLIENTS: [&str; 3] = [
    "actix_http::h1::decoder",
    "actix_http::h1::dispatcher",
    "rustls",
];

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON object per line for programs
    Json,
}

/// Who writes the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// The logging thread itself.
    Direct,
    /// A separate thread.
    Queued,
}

/// The log of the process. Dropping it, also in a panic, writes the queued lines.
#[derive(Debug)]
#[must_use]
pub struct Log(());

impl Drop for Log {
    fn drop(&mut self) {
        flush();
    }
}

/// Starts writing the log to standard error: entries of at least `level`, unless `RUST_LOG` names
/// other levels. Must be called only once in a process.
pub fn start(format: LogFormat, writing: Writing, level: LevelFilter) -> Log {
    let mut builder = Builder::new();
    let is_colour_off = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_coloured = stderr().is_terminal() && !is_colour_off
        || env::var("RUST_LOG_STYLE").is_ok_and(|style| style == "always");
    if writing == Writing::Queued && begin_thread() {
        // env_logger cannot see whether the queue ends in a terminal, so colours are forced here.
        // The formats without colours below ignore this style.
        builder.write_style(WriteStyle::Always);
        if let Some(queue) = QUEUE.get() {
            builder.target(Target::Pipe(Box::new(queue.clone())));
        }
        log_panics();
    }
    for target in ABOUT_CLIENTS {
        builder.filter_module(target, LevelFilter::Off);
    }
    // At level info, `actix_server` logs each worker that starts or stops.
    builder.filter_module("actix_server", LevelFilter::Warn);
    builder.parse_env(Env::default().default_filter_or(level.as_str()));
    match format {
        // The default format of env_logger has colours.
        LogFormat::Text if is_coloured => {}
        LogFormat::Text => drop(builder.format(lines::write_text)),
        LogFormat::Json => drop(builder.format(lines::write_json)),
    }
    builder.init();
    Log(())
}

/// Waits up to two seconds until the queue is written. For the end of the process.
pub fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush(FLUSH_TIMEOUT);
    }
}

/// Writes a line to standard error after all lines that were logged before.
pub fn print(line: &str) {
    match QUEUE.get() {
        Some(queue) => queue.push(format!("{line}\n").as_bytes()),
        None => eprintln!("{line}"),
    }
}

/// How many lines of the log were lost since the start.
#[must_use]
pub fn lines_lost() -> u64 {
    QUEUE.get().map_or(0, LogQueue::lost)
}

/// Starts the thread that writes queued lines. Returns whether the queue is in use.
fn begin_thread() -> bool {
    let queue = LogQueue::new(MAX_QUEUED_BYTES);
    let writing = queue.clone();
    let report =
        |dropped| log::warn!(dropped; "log lines dropped while log output was blocked: {dropped}");
    let thread = thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || writing.write_to(stderr(), report));
    thread.is_ok() && QUEUE.set(queue).is_ok()
}

/// Reports panics through the log queue: writing to standard error from the panicking thread could
/// block requests. If the log hides panics, the previous hook reports them.
fn log_panics() {
    let previous_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if !log::log_enabled!(target: PANIC, Level::Error) {
            return previous_hook(info);
        }
        let current = thread::current();
        let name = current.name().unwrap_or("<unnamed>");
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            log::error!(target: PANIC, "thread {name} {info}\n{backtrace}");
        } else {
            log::error!(target: PANIC, "thread {name} {info}");
        }
    }));
}
