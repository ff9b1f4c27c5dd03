//! Formats of log lines without colours: text like that of env_logger, or a JSON object.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

use env_logger::fmt::Formatter;
use log::Record;
use log::kv::{Error, Key, Value, VisitSource, VisitValue};
use serde::ser::{Serialize, SerializeMap, Serializer as _};
use serde_json::Serializer;

/// Initial capacity for a line, in bytes: enough for most lines.
const LINE_BYTES: usize = 384;
/// The keys that every JSON line has. A key-value with one of these names gets [`RENAMED`] as a
/// prefix.
const OWN_KEYS: [&str; 4] = ["timestamp", "level", "target", "message"];
/// Prefix for a key-value whose name is one of [`OWN_KEYS`].
const RENAMED: &str = "kv_";
/// The character that begins a control sequence of a terminal.
const ESCAPE: char = '\u{1b}';

/// Writes a line of text.
pub(super) fn write_text(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let timestamp = out.timestamp_seconds();
    out.write_all(text(timestamp, record).as_bytes())
}

/// Writes a line that is a JSON object.
pub(super) fn write_json(out: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let timestamp = out.timestamp_millis();
    out.write_all(&json(timestamp, record)?)
}

/// A record as a line of text with a line break at its end.
fn text(timestamp: impl fmt::Display, record: &Record<'_>) -> String {
    let mut line = TextLine(String::with_capacity(LINE_BYTES));
    // Writing to a string cannot fail. A value that cannot be formatted is left out of the line.
    let _ = write!(line, "[{timestamp} {:<5}", record.level());
    if !record.target().is_empty() {
        let _ = write!(line, " {}", record.target());
    }
    let _ = write!(line, "] {}", record.args());
    let _ = record.key_values().visit(&mut line);
    let TextLine(mut line) = line;
    line.push('\n');
    line
}

/// A line of text. Escape characters are removed, since data of a client could change how a
/// terminal shows other lines.
struct TextLine(String);

impl fmt::Write for TextLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.split(ESCAPE));
        Ok(())
    }
}

impl<'kvs> VisitSource<'kvs> for TextLine {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        self.0.push(' ');
        self.0.push_str(key.as_str());
        self.0.push('=');
        value.visit(self)
    }
}

impl VisitValue<'_> for &mut TextLine {
    fn visit_any(&mut self, value: Value<'_>) -> Result<(), Error> {
        Ok(write!(self, "{value}")?)
    }

    fn visit_str(&mut self, value: &str) -> Result<(), Error> {
        Ok(self.write_str(value)?)
    }
}

/// A record as a line with one JSON object and a line break at its end.
fn json(timestamp: impl fmt::Display, record: &Record<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(LINE_BYTES);
    let mut serializer = Serializer::new(&mut line);
    let mut object = serializer.serialize_map(None)?;
    let [timestamp_key, level, target, message] = OWN_KEYS;
    object.serialize_entry(timestamp_key, &format_args!("{timestamp}"))?;
    object.serialize_entry(level, record.level().as_str())?;
    object.serialize_entry(target, record.target())?;
    object.serialize_entry(message, record.args())?;
    // A key-value that cannot be read is left out of the line.
    let _ = record.key_values().visit(&mut Object(&mut object));
    object.end()?;
    line.push(b'\n');
    Ok(line)
}

/// A JSON line; the key-values of a record are added to it.
struct Object<'a, M>(&'a mut M);

impl<'kvs, M: SerializeMap> VisitSource<'kvs> for Object<'_, M> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let renamed;
        let mut key = key.as_str();
        if OWN_KEYS.contains(&key) {
            renamed = format!("{RENAMED}{key}");
            key = &renamed;
        }
        value.visit(Entry {
            object: self.0,
            key,
        })
    }
}

/// A key of a JSON line, whose value is written as JSON.
struct Entry<'a, M> {
    object: &'a mut M,
    key: &'a str,
}

impl<M: SerializeMap> Entry<'_, M> {
    fn write(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.object
            .serialize_entry(self.key, value)
            .map_err(|_| Error::msg("a value that is no JSON"))
    }
}

impl<M: SerializeMap> VisitValue<'_> for Entry<'_, M> {
    fn visit_any(&mut self, value: Value<'_>) -> Result<(), Error> {
        self.write(&format_args!("{value}"))
    }

    fn visit_null(&mut self) -> Result<(), Error> {
        self.write(&())
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
        self.write(&value)
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
        self.write(&value)
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
        self.write(&value)
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
        self.write(&value)
    }

    fn visit_str(&mut self, value: &str) -> Result<(), Error> {
        self.write(value)
    }
}

#[cfg(test)]
mod tests {
    use log::Level;
    use serde_json::json as expected_json;

    use super::*;

    fn with_record<T>(check: impl FnOnce(&Record<'_>) -> T) -> T {
        let pairs: &[(&str, Value<'_>)] = &[
            ("request_id", Value::from("a\"b\u{1b}[31m")),
            ("milliseconds", Value::from(1.5)),
            ("count", Value::from(7_u64)),
            ("below", Value::from(-7_i64)),
            ("is_done", Value::from(true)),
            ("level", Value::from("mine")),
            ("shown", Value::from_display(&200)),
            ("nothing", Value::null()),
        ];
        let mut record = Record::builder();
        let record = record
            .level(Level::Warn)
            .target("access")
            .key_values(&pairs);
        check(
            &record
                .args(format_args!("a \"line\"\nwith {}", "\u{1b}\u{e9}"))
                .build(),
        )
    }

    #[test]
    fn json_line_is_one_object_with_the_logged_values() {
        let line = with_record(|record| json("2026-03-02T12:00:00.000Z", record)).unwrap();
        let text = String::from_utf8(line).unwrap();
        assert!(
            text.ends_with("}\n") && text.matches('\n').count() == 1,
            "{text}"
        );
        let expected = expected_json!({
            "timestamp": "2026-03-02T12:00:00.000Z", "level": "WARN", "target": "access",
            "message": "a \"line\"\nwith \u{1b}\u{e9}",
            "request_id": "a\"b\u{1b}[31m", "milliseconds": 1.5, "count": 7, "below": -7, "is_done": true,
            "kv_level": "mine", "shown": "200", "nothing": null,
        });
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            expected
        );
    }

    #[test]
    fn text_line_matches_env_logger_without_escape_characters() {
        let line = with_record(|record| text("2026-03-02T12:00:00Z", record));
        let pairs = "request_id=a\"b[31m milliseconds=1.5 count=7 below=-7 is_done=true level=mine shown=200 nothing=None";
        let message = "a \"line\"\nwith \u{e9}";
        assert_eq!(
            line,
            format!("[2026-03-02T12:00:00Z WARN  access] {message} {pairs}\n")
        );
    }
}
