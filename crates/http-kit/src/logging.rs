//! Writes the log: as lines of text for people, or as one JSON object per line for programs.
//!
//! Log lines carry their data as key-values, and both forms show them. `RUST_LOG` selects which
//! lines are shown.
//!
//! A server logs into the bounded queue of `tracing-appender`, whose thread writes it out, so that a
//! slow reader of standard error delays no request: lines beyond the queue are dropped and counted.
//! A command line tool writes its log lines directly, in order with its other output.

mod lines;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{BufWriter, IsTerminal as _, Write as _, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, thread};

use clap::ValueEnum;
use env_logger::{Builder, Env, Target, WriteStyle};
use log::{Level, LevelFilter};
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// The most lines that wait to be written.
const MAX_QUEUED_LINES: usize = 4_096;
/// The target of the line that reports a panic.
const PANIC: &str = "panic";

/// The queue of a server.
static QUEUE: OnceLock<NonBlocking> = OnceLock::new();
/// Writes the queue when it is dropped.
static GUARD: Mutex<Option<WorkerGuard>> = Mutex::new(None);

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
#[expect(
    clippy::disallowed_methods,
    reason = "terminals and `env_logger` share these variables"
)]
pub fn start(format: LogFormat, writing: Writing, level: LevelFilter) -> Log {
    let mut builder = Builder::new();
    let is_colour_off = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_coloured = stderr().is_terminal() && !is_colour_off
        || env::var("RUST_LOG_STYLE").is_ok_and(|style| style == "always");
    if writing == Writing::Queued {
        let queue = begin_queue();
        // env_logger cannot see whether the queue ends in a terminal, so colours are forced here.
        // The formats without colours below ignore this style.
        builder.write_style(WriteStyle::Always);
        builder.target(Target::Pipe(Box::new(queue)));
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

/// Waits about a second until the queue is written. For the end of the process: later lines are
/// lost.
pub fn flush() {
    drop(GUARD.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Writes a line to standard error after all lines that were logged before.
pub fn print(line: &str) {
    match QUEUE.get() {
        // The queue accepts or drops a line, and never fails.
        Some(queue) => drop(queue.clone().write_all(format!("{line}\n").as_bytes())),
        None => eprintln!("{line}"),
    }
}

/// How many lines of the log were lost since the start.
#[must_use]
pub fn lines_lost() -> u64 {
    let lost = QUEUE
        .get()
        .map_or(0, |queue| queue.error_counter().dropped_lines());
    u64::try_from(lost).unwrap_or(u64::MAX)
}

/// Starts the thread that writes queued lines to standard error, many with one call.
fn begin_queue() -> NonBlocking {
    let (queue, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_QUEUED_LINES)
        .thread_name("log")
        .finish(BufWriter::new(stderr()));
    *GUARD.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    QUEUE.get_or_init(|| queue).clone()
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
