//! How the log is written: as lines of text for people, or as one JSON object a line for programs.
//!
//! What is logged says its facts as key-values; both forms show them. Which lines are shown is said by `RUST_LOG`.
//!
//! A server logs into a bounded queue, from which a thread of its own writes: whoever reads standard error slowly, or not at
//! all, holds no request up. A command writes its lines itself, between the others that it prints.

mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::env;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use env_logger::{Builder, Env, Target, WriteStyle};
use log::kv::{Error, Key, Value as KeyValue, VisitSource, VisitValue};
use log::{Level, LevelFilter, Record};
use serde_json::{Map, Value};

use self::queue::LogQueue;

/// The most that waits to be written, in bytes. As much again may be on its way to standard error.
const MAX_QUEUED_BYTES: usize = 1_048_576;
/// How long the end of the program waits for the log to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// The target of the line that reports a panic.
const PANIC: &str = "panic";

/// The queue of a server.
static QUEUE: OnceLock<LogQueue> = OnceLock::new();

/// The keys that every JSON line has. A key-value of such a name goes by another one, with [`RENAMED`] before it.
const OWN_KEYS: [&str; 4] = ["timestamp", "level", "target", "message"];
/// Stands before the name of a key-value that would take the place of one of the keys of every line.
const RENAMED: &str = "kv_";

/// Where the HTTP library calls it an error of the server's when a client sends what is no HTTP, or goes away, and the TLS
/// library warns of a handshake with what the client sent in it. Whoever can reach the port could fill the log with it; it is
/// shown where `RUST_LOG` names these.
const ABOUT_CLIENTS: [&str; 3] = ["actix_http::h1::decoder", "actix_http::h1::dispatcher", "rustls"];

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// Lines of text for people
    #[default]
    Text,
    /// One JSON object a line for programs
    Json,
}

/// Who writes the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Whoever logs, at once.
    Direct,
    /// A thread of its own.
    Queued,
}

/// The log of the process. What is queued is written when this is dropped, also by a panic.
#[derive(Debug)]
#[must_use]
pub struct Log(());

impl Drop for Log {
    fn drop(&mut self) {
        flush();
    }
}

/// Begins to write the log to standard error. Once for a process.
pub fn start(format: LogFormat, writing: Writing) -> Log {
    let mut builder = Builder::new();
    if writing == Writing::Queued && begin_thread() {
        let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stderr().is_terminal() && !is_plain {
            // The queue is no terminal, but what it holds is shown by one.
            builder.write_style(WriteStyle::Always);
        }
        if let Some(queue) = QUEUE.get() {
            builder.target(Target::Pipe(Box::new(queue.clone())));
        }
        log_panics();
    }
    for target in ABOUT_CLIENTS {
        builder.filter_module(target, LevelFilter::Off);
    }
    builder.parse_env(Env::default().default_filter_or("info"));
    match format {
        LogFormat::Text => {}
        LogFormat::Json => {
            builder.format(|out, record| {
                let timestamp = out.timestamp_millis().to_string();
                writeln!(out, "{}", Value::Object(object(timestamp, record)))
            });
        }
    }
    builder.init();
    Log(())
}

/// Waits until what is queued is written, for two seconds at most. For the end of the process.
pub fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush(FLUSH_TIMEOUT);
    }
}

/// Writes a line to standard error behind all that was logged.
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

/// Begins to write what is queued. Whether there is a queue.
fn begin_thread() -> bool {
    let queue = LogQueue::new(MAX_QUEUED_BYTES);
    let writing = queue.clone();
    let report = |dropped| log::warn!(dropped; "log lines dropped, since nobody read the log for a while: {dropped}");
    let thread = thread::Builder::new().name("log".to_owned()).spawn(move || writing.write_to(stderr(), report));
    thread.is_ok() && QUEUE.set(queue).is_ok()
}

/// Reports panics in the log: to write them where they happen would hold requests up.
fn log_panics() {
    let write = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if !log::log_enabled!(target: PANIC, Level::Error) {
            return write(info);
        }
        let current = thread::current();
        let name = current.name().unwrap_or("without a name");
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            log::error!(target: PANIC, "thread {name} {info}\n{backtrace}");
        } else {
            log::error!(target: PANIC, "thread {name} {info}");
        }
    }));
}

/// One line as an object.
fn object(timestamp: String, record: &Record<'_>) -> Map<String, Value> {
    let own = [timestamp, record.level().to_string(), record.target().to_owned(), record.args().to_string()];
    let own = OWN_KEYS.into_iter().zip(own).map(|(key, text)| (key.to_owned(), Value::String(text)));
    let mut object = Object(own.collect());
    // A key-value that cannot be read is left out, and the line is written all the same.
    let _ = record.key_values().visit(&mut object);
    object.0
}

struct Object(Map<String, Value>);

impl<'kvs> VisitSource<'kvs> for Object {
    fn visit_pair(&mut self, key: Key<'kvs>, value: KeyValue<'kvs>) -> Result<(), Error> {
        let key = key.as_str();
        let prefix = if OWN_KEYS.contains(&key) { RENAMED } else { "" };
        let mut read = Read(Value::Null);
        value.visit(&mut read)?;
        self.0.insert(format!("{prefix}{key}"), read.0);
        Ok(())
    }
}

/// The value of a key-value, as JSON.
struct Read(Value);

impl<'v> VisitValue<'v> for Read {
    fn visit_any(&mut self, value: KeyValue<'_>) -> Result<(), Error> {
        self.0 = Value::String(value.to_string());
        Ok(())
    }

    fn visit_null(&mut self) -> Result<(), Error> {
        self.0 = Value::Null;
        Ok(())
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_str(&mut self, value: &str) -> Result<(), Error> {
        self.0 = value.into();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use log::Level;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_one_object_that_says_what_was_logged() {
        let pairs: &[(&str, KeyValue<'_>)] = &[
            ("request_id", KeyValue::from("a\"b")),
            ("milliseconds", KeyValue::from(1.5)),
            ("count", KeyValue::from(7_u64)),
            ("below", KeyValue::from(-7_i64)),
            ("is_done", KeyValue::from(true)),
            ("level", KeyValue::from("mine")),
            ("shown", KeyValue::from_display(&200)),
        ];
        let line = object(
            "2026-03-02T12:00:00.000Z".to_owned(),
            &Record::builder()
                .level(Level::Warn)
                .target("access")
                .args(format_args!("a \"line\"\nwith {}", "\u{1b}\u{e9}"))
                .key_values(&pairs)
                .build(),
        );
        let text = Value::Object(line).to_string();
        assert!(!text.contains('\n'), "{text}");
        let expected = json!({
            "timestamp": "2026-03-02T12:00:00.000Z", "level": "WARN", "target": "access",
            "message": "a \"line\"\nwith \u{1b}\u{e9}",
            "request_id": "a\"b", "milliseconds": 1.5, "count": 7, "below": -7, "is_done": true,
            "kv_level": "mine", "shown": "200",
        });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }
}
