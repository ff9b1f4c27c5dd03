//! Writes dates and times as ISO 8601 has them, without a format that must be interpreted.
//!
//! Every reply and every stored record is full of them.

use std::io::Write as _;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveTime, Timelike as _, Utc};

/// Years that are written with four digits and no sign.
const PLAIN_YEARS: std::ops::RangeInclusive<i32> = 0..=9_999;

/// `YYYY-MM-DD`; a year outside 0 to 9999 has a sign and as many digits as it needs.
pub fn write_date(out: &mut Vec<u8>, date: NaiveDate) {
    let (year, month, day) = (date.year(), date.month(), date.day());
    if PLAIN_YEARS.contains(&year) {
        let ([y1, y2], [y3, y4]) = (two_digits(year.unsigned_abs() / 100), two_digits(year.unsigned_abs()));
        let ([m1, m2], [d1, d2]) = (two_digits(month), two_digits(day));
        out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
    } else {
        // Writing to a buffer cannot fail.
        let _ = write!(out, "{date}");
    }
}

/// `HH:MM:SS`.
pub fn write_time(out: &mut Vec<u8>, time: NaiveTime) {
    let ([h1, h2], [m1, m2], [s1, s2]) =
        (two_digits(time.hour()), two_digits(time.minute()), two_digits(time.second()));
    out.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2]);
}

/// `.mmm`, the milliseconds of the second; what is shorter is cut off.
pub fn write_milliseconds(out: &mut Vec<u8>, time: NaiveTime) {
    let milliseconds = time.nanosecond() / 1_000_000 % 1_000;
    let ([_, first], [second, third]) = (two_digits(milliseconds / 100), two_digits(milliseconds));
    out.extend_from_slice(&[b'.', first, second, third]);
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
    string(|out| write_date(out, date))
}

/// What [`write_timestamp`] writes.
#[must_use]
pub fn timestamp(timestamp: DateTime<Utc>) -> String {
    string(|out| write_timestamp(out, timestamp))
}

/// What these functions write, as a string.
#[must_use]
pub fn string(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity("YYYY-MM-DDTHH:MM:SS.mmmZ".len());
    write(&mut out);
    // All of it is ASCII.
    String::from_utf8(out).unwrap_or_default()
}

/// The last two digits of a number.
fn two_digits(number: u32) -> [u8; 2] {
    [number / 10, number].map(|number| b'0' + u8::try_from(number % 10).unwrap_or_default())
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
