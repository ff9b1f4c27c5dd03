//! How the log is written: as lines of text for people, or as one JSON object a line for programs.
//!
//! What is logged says its facts as key-values; both forms show them. Which lines are shown is said by `RUST_LOG`.

use std::io::Write as _;

use clap::ValueEnum;
use env_logger::{Builder, Env};
use log::kv::{Error, Key, Value as KeyValue, VisitSource, VisitValue};
use log::{LevelFilter, Record};
use serde_json::{Map, Value};

/// The keys that every JSON line has. A key-value of such a name goes by another one, with [`RENAMED`] before it.
const OWN_KEYS: [&str; 4] = ["timestamp", "level", "target", "message"];
/// Stands before the name of a key-value that would take the place of one of the keys of every line.
const RENAMED: &str = "kv_";

/// Where the HTTP library calls it an error of the server's when a client sends what is no HTTP, or goes away. Whoever can
/// reach the port could fill the log with it; it is shown where `RUST_LOG` names these.
const ABOUT_CLIENTS: [&str; 2] = ["actix_http::h1::decoder", "actix_http::h1::dispatcher"];

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// Lines of text for people
    #[default]
    Text,
    /// One JSON object a line for programs
    Json,
}

/// Begins to write the log to standard error. Once for a process.
pub fn begin(format: LogFormat) {
    let mut builder = Builder::new();
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
