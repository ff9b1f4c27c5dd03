//! Writes values as JSON into a buffer, as `serde_json` writes them.
//!
//! Knows no record and no version.

use std::fmt;
use std::io::Write as _;

use chrono::{DateTime, Datelike as _, NaiveDate, Timelike as _, Utc};

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Digits of the longest number.
const MAX_DIGITS: usize = 20;

/// A string in quotes. Most need no escape and are copied whole.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        text.bytes().for_each(|byte| escaped(out, byte));
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
}

fn escaped(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0x00..0x20 => {
            out.extend_from_slice(b"\\u00");
            out.extend([byte >> 4, byte & 0xf].iter().filter_map(|digit| HEX.get(usize::from(*digit))));
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// A whole number.
pub(super) fn integer(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    let mut rest = number.unsigned_abs();
    let start = out.len();
    for _ in 0..MAX_DIGITS {
        out.push(digit(rest % 10));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

/// `true` or `false`.
pub(super) fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// A date as `"YYYY-MM-DD"`.
pub(super) fn date(out: &mut Vec<u8>, date: NaiveDate) {
    out.push(b'"');
    if (0..=9_999).contains(&date.year()) {
        day(out, date);
    } else {
        // Writing to a buffer cannot fail.
        let _ = write!(out, "{date}");
    }
    out.push(b'"');
}

/// A timestamp as [`Milliseconds`].
pub(super) fn timestamp(out: &mut Vec<u8>, timestamp: DateTime<Utc>) {
    out.push(b'"');
    if (0..=9_999).contains(&timestamp.year()) {
        day(out, timestamp.date_naive());
        for (separator, number) in [(b'T', timestamp.hour()), (b':', timestamp.minute()), (b':', timestamp.second())] {
            out.push(separator);
            two_digits(out, number);
        }
        let milliseconds = timestamp.nanosecond() / 1_000_000 % 1_000;
        out.extend_from_slice(&[b'.', digit(u64::from(milliseconds / 100))]);
        two_digits(out, milliseconds % 100);
        out.push(b'Z');
    } else {
        // Writing to a buffer cannot fail.
        let _ = write!(out, "{}", Milliseconds(timestamp));
    }
    out.push(b'"');
}

fn day(out: &mut Vec<u8>, date: NaiveDate) {
    let year = date.year().unsigned_abs();
    two_digits(out, year / 100);
    two_digits(out, year % 100);
    out.push(b'-');
    two_digits(out, date.month());
    out.push(b'-');
    two_digits(out, date.day());
}

/// A number below a hundred.
fn two_digits(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&[digit(u64::from(number / 10)), digit(u64::from(number % 10))]);
}

/// The character of a number below ten.
fn digit(number: u64) -> u8 {
    b"0123456789".get(usize::try_from(number).unwrap_or_default()).copied().unwrap_or(b'?')
}

/// A timestamp in UTC with milliseconds, such as `2026-09-01T08:30:00.000Z`.
#[derive(Debug, Clone, Copy)]
pub struct Milliseconds(pub DateTime<Utc>);

impl fmt::Display for Milliseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, time) = (self.0.date_naive(), self.0.time());
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            day.year(),
            day.month(),
            day.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.nanosecond() / 1_000_000 % 1_000
        )
    }
}
