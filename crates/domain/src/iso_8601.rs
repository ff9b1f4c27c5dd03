//! Writes dates and times as ISO 8601 has them, without a format that must be interpreted.
//!
//! Every reply and every stored record is full of them.

use std::io::Write as _;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveTime, Timelike as _, Utc};

/// Years that are written with four digits and no sign.
const PLAIN_YEARS: std::ops::RangeInclusive<i32> = 0..=9_999;

/// `YYYY-MM-DD`; a year outside 0 to 9999 has a sign and as many digits as it needs.
pub fn write_date(out: &mut Vec<u8>, date: NaiveDate) {
    if PLAIN_YEARS.contains(&date.year()) {
        let year = date.year().unsigned_abs();
        write_two_digits(out, year / 100);
        write_two_digits(out, year % 100);
        out.push(b'-');
        write_two_digits(out, date.month());
        out.push(b'-');
        write_two_digits(out, date.day());
    } else {
        // Writing to a buffer cannot fail.
        let _ = write!(out, "{date}");
    }
}

/// `HH:MM:SS`.
pub fn write_time(out: &mut Vec<u8>, time: NaiveTime) {
    write_two_digits(out, time.hour());
    out.push(b':');
    write_two_digits(out, time.minute());
    out.push(b':');
    write_two_digits(out, time.second());
}

/// `.mmm`, the milliseconds of the second; what is shorter is cut off.
pub fn write_milliseconds(out: &mut Vec<u8>, time: NaiveTime) {
    let milliseconds = time.nanosecond() / 1_000_000 % 1_000;
    out.extend_from_slice(&[b'.', digit(milliseconds / 100)]);
    write_two_digits(out, milliseconds % 100);
}

/// A timestamp in UTC with milliseconds, such as `2026-09-01T08:30:00.000Z`, as the API shows it.
pub fn write_timestamp(out: &mut Vec<u8>, timestamp: DateTime<Utc>) {
    write_date(out, timestamp.date_naive());
    out.push(b'T');
    write_time(out, timestamp.time());
    write_milliseconds(out, timestamp.time());
    out.push(b'Z');
}

/// What [`write_date`] writes.
#[must_use]
pub fn date(date: NaiveDate) -> String {
    text(|out| write_date(out, date))
}

/// What [`write_timestamp`] writes.
#[must_use]
pub fn timestamp(timestamp: DateTime<Utc>) -> String {
    text(|out| write_timestamp(out, timestamp))
}

/// What these functions write, as a string.
#[must_use]
pub fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity("YYYY-MM-DDTHH:MM:SS.mmmZ".len());
    write(&mut out);
    // All of it is ASCII.
    String::from_utf8(out).unwrap_or_default()
}

/// A number below a hundred.
fn write_two_digits(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&[digit(number / 10), digit(number % 10)]);
}

/// The character of a number below ten.
fn digit(number: u32) -> u8 {
    b"0123456789".get(usize::try_from(number).unwrap_or_default()).copied().unwrap_or(b'?')
}

#[cfg(test)]
mod tests {
    use chrono::SecondsFormat;

    use super::*;

    #[test]
    fn dates_and_timestamps_are_written_as_chrono_writes_them() {
        for text in [
            "0001-01-01T00:00:00Z",
            "1999-12-31T23:59:59.999Z",
            "2024-02-29T08:05:09.050Z",
            "2026-09-01T08:30:00.123456Z",
            "9999-12-31T12:00:00.007Z",
        ] {
            let parsed: DateTime<Utc> = text.parse().unwrap();
            assert_eq!(timestamp(parsed), parsed.to_rfc3339_opts(SecondsFormat::Millis, true));
            assert_eq!(date(parsed.date_naive()), parsed.date_naive().to_string());
        }
    }

    #[test]
    fn a_year_of_more_than_four_digits_has_a_sign() {
        for (year, expected) in [(10_000, "+10000-01-01"), (-1, "-0001-01-01")] {
            assert_eq!(date(NaiveDate::from_ymd_opt(year, 1, 1).unwrap()), expected);
        }
    }
}
