//! Writes values as JSON into a buffer. The output is equal to that of `serde_json`.

use chrono::{DateTime, NaiveDate, Utc};
use domain::values::iso_8601::{write_date, write_timestamp};

const HEX: &[u8; 16] = b"0123456789abcdef";
/// The maximum number of digits in a 64-bit number.
const MAX_DIGITS: usize = 20;

/// Writes a string in quotes. Copies strings without escapes as a whole.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text
        .bytes()
        .any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        text.bytes().for_each(|byte| write_escaped(out, byte));
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
}

/// Writes a byte of a string, with an escape if JSON requires one.
fn write_escaped(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0x00..0x20 => {
            out.extend_from_slice(b"\\u00");
            out.extend(
                [byte >> 4, byte & 0xf]
                    .iter()
                    .filter_map(|digit| HEX.get(usize::from(*digit))),
            );
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Writes a whole number.
pub(super) fn integer(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    let mut rest = number.unsigned_abs();
    let start = out.len();
    // Writes the digits from the last to the first, then reverses them.
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

/// Writes `true` or `false`.
pub(super) fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Writes a date as `"YYYY-MM-DD"`.
pub(super) fn date(out: &mut Vec<u8>, date: NaiveDate) {
    out.push(b'"');
    write_date(out, date);
    out.push(b'"');
}

/// Writes a timestamp as `"YYYY-MM-DDTHH:MM:SS.mmmZ"`.
pub(super) fn timestamp(out: &mut Vec<u8>, timestamp: DateTime<Utc>) {
    out.push(b'"');
    write_timestamp(out, timestamp);
    out.push(b'"');
}

/// Returns the digit of a number from 0 to 9.
fn digit(number: u64) -> u8 {
    b"0123456789"
        .get(usize::try_from(number).unwrap_or_default())
        .copied()
        .unwrap_or(b'?')
}
