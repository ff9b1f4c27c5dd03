//! Reads and writes dates and times in ISO 8601. Writing does not interpret a format string,
//! because every reply and every stored record contains many dates.

use std::io::Write as _;

use chrono::{DateTime, Datelike as _, FixedOffset, NaiveDate, NaiveTime, Timelike as _, Utc};

/// The length of `YYYY-MM-DD`, in characters.
pub(crate) const DATE_LENGTH: usize = 10;
/// The typographic minus sign. ISO 8601 allows it as the sign of an offset.
const MINUS_SIGN: char = '\u{2212}';
/// The years with four digits and no sign.
const PLAIN_YEARS: std::ops::RangeInclusive<i32> = 0..=9_999;

/// Writes `YYYY-MM-DD`. A year outside 0 to 9999 has a sign and at least four digits.
pub fn write_date(out: &mut Vec<u8>, date: NaiveDate) {
    let year = date.year();
    if PLAIN_YEARS.contains(&year) {
        let [y1, y2] = two_digits(year.unsigned_abs() / 100);
        let [y3, y4] = two_digits(year.unsigned_abs());
        let [m1, m2] = two_digits(date.month());
        let [d1, d2] = two_digits(date.day());
        out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
    } else {
        // Writing to a buffer cannot fail.
        let _ = write!(out, "{date}");
    }
}

/// Writes `HH:MM:SS`.
pub fn write_time(out: &mut Vec<u8>, time: NaiveTime) {
    let [h1, h2] = two_digits(time.hour());
    let [m1, m2] = two_digits(time.minute());
    let [s1, s2] = two_digits(time.second());
    out.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2]);
}

/// Writes the milliseconds of the second as `.mmm`. Truncates microseconds and nanoseconds.
pub fn write_milliseconds(out: &mut Vec<u8>, time: NaiveTime) {
    let milliseconds = time.nanosecond() / 1_000_000 % 1_000;
    let [_, first] = two_digits(milliseconds / 100);
    let [second, third] = two_digits(milliseconds);
    out.extend_from_slice(&[b'.', first, second, third]);
}

/// Writes a timestamp in UTC with milliseconds, such as `2026-09-01T08:30:00.000Z`.
pub fn write_timestamp(out: &mut Vec<u8>, timestamp: DateTime<Utc>) {
    write_date(out, timestamp.date_naive());
    out.push(b'T');
    write_time(out, timestamp.time());
    write_milliseconds(out, timestamp.time());
    out.push(b'Z');
}

/// Like [`write_date`], but returns a string.
#[must_use]
pub fn date(date: NaiveDate) -> String {
    string(|out| write_date(out, date))
}

/// Like [`write_timestamp`], but returns a string.
#[must_use]
pub fn timestamp(timestamp: DateTime<Utc>) -> String {
    string(|out| write_timestamp(out, timestamp))
}

/// Returns the output of the functions of this module as a string.
#[must_use]
pub fn string(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity("YYYY-MM-DDTHH:MM:SS.mmmZ".len());
    write(&mut out);
    // The output is ASCII.
    String::from_utf8(out).unwrap_or_default()
}

/// Parses a date of the format `YYYY-MM-DD`. Stricter than chrono: `2026-11-2` may be a truncated
/// date and returns `None`.
#[must_use]
pub fn read_date(text: &str) -> Option<NaiveDate> {
    let is_whole = text.len() == DATE_LENGTH && has_date_format(text);
    if is_whole { text.parse().ok() } else { None }
}

/// Whether the text consists of digits, and of hyphens at the positions in `YYYY-MM-DD`.
pub(crate) fn has_date_format(day: &str) -> bool {
    day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

/// Parses a date (see [`read_date`]), a time and an optional offset.
///
/// The time has hours and minutes, and optionally seconds with a fraction. The offset is `Z`,
/// `+01:00`, `+0100` or `+01`. A time without an offset is in UTC.
#[must_use]
pub fn read_date_time(text: &str) -> Option<DateTime<Utc>> {
    let (day, rest) = text.split_at_checked(DATE_LENGTH)?;
    let day = read_date(day)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, offset) = rest.split_at(
        rest.find(['Z', 'z', '+', '-', MINUS_SIGN])
            .unwrap_or(rest.len()),
    );
    let time = ["%H:%M:%S%.f", "%H:%M"]
        .iter()
        .find_map(|format| NaiveTime::parse_from_str(time, format).ok())?;
    let offset = read_offset(offset)?;
    day.and_time(time)
        .checked_sub_offset(offset)
        .map(|timestamp| timestamp.and_utc())
}

/// Parses an offset such as `Z`, `+01:00`, `+0100` or `+01`. An empty text is the offset of UTC.
/// Returns `None` for other texts.
fn read_offset(text: &str) -> Option<FixedOffset> {
    let is_east = match text {
        "" | "Z" | "z" => return FixedOffset::east_opt(0),
        _ => text.starts_with('+'),
    };
    let digits = text.strip_prefix(['+', '-', MINUS_SIGN])?;
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 => digits.split_at_checked(2)?,
        _ => digits.split_once(':')?,
    };
    let seconds = two_digit_number(hours, 24)? * 3_600 + two_digit_number(minutes, 60)? * 60;
    FixedOffset::east_opt(if is_east { seconds } else { -seconds })
}

/// Parses two digits. Returns `None` for other text, and for a number of `limit` or more.
fn two_digit_number(text: &str, limit: i32) -> Option<i32> {
    let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|number| is_number && *number < limit)
}

/// Returns the last two digits of a number.
fn two_digits(number: u32) -> [u8; 2] {
    [number / 10, number].map(|number| b'0' + u8::try_from(number % 10).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use chrono::SecondsFormat;

    use super::*;

    #[test]
    fn date_is_an_existing_day() {
        assert_eq!(
            read_date("2026-11-02"),
            NaiveDate::from_ymd_opt(2026, 11, 2)
        );
        for other in [
            "2026-11-2",
            "2026-1-12",
            "26-11-02",
            "+2026-11-02",
            "2026-11-021",
            " 2026-11-02",
            "2026-02-30",
            "20261102",
            "２０２６-１１-０２",
            "",
        ] {
            assert_eq!(read_date(other), None, "{other:?}");
        }
    }

    #[test]
    fn date_time_without_offset_is_in_utc() {
        let expected = "2026-03-01T09:30:00Z".parse().ok();
        for text in [
            "2026-03-01T09:30",
            "2026-03-01T09:30:00",
            "2026-03-01 09:30:00.000",
            "2026-03-01T09:30Z",
            "2026-03-01t09:30:00z",
            "2026-03-01T10:30:00+01:00",
            "2026-03-01T10:30:00+0100",
            "2026-03-01T10:30:00.0+01",
            "2026-03-01T04:00-05:30",
            "2026-03-01T08:30:00\u{2212}01:00",
        ] {
            assert_eq!(read_date_time(text), expected, "{text}");
        }
        for text in [
            "2026-03-01",
            "2026-3-1T09:30",
            "26-03-01T09:30",
            "2026-03-01T",
            "2026-03-01T09",
            "2026-03-01T25:00",
            "2026-03-01T09:30:00+24:00",
            "2026-03-01T09:30:00+1",
            "2026-03-01T09:30:00+001",
            "2026-03-01T09:30:00+01:0",
            "2026-03-01T09:30:00Zulu",
            "2026-03-01T09:30:00-",
        ] {
            assert_eq!(read_date_time(text), None, "{text}");
        }
    }

    #[test]
    fn dates_and_timestamps_are_written_like_chrono() {
        for text in [
            "0001-01-01T00:00:00Z",
            "1999-12-31T23:59:59.999Z",
            "2024-02-29T08:05:09.050Z",
            "2026-09-01T08:30:00.123456Z",
            "9999-12-31T12:00:00.007Z",
        ] {
            let parsed: DateTime<Utc> = text.parse().unwrap();
            assert_eq!(
                timestamp(parsed),
                parsed.to_rfc3339_opts(SecondsFormat::Millis, true)
            );
            assert_eq!(date(parsed.date_naive()), parsed.date_naive().to_string());
        }
    }

    #[test]
    fn year_outside_four_digits_has_a_sign() {
        for (year, expected) in [(10_000, "+10000-01-01"), (-1, "-0001-01-01")] {
            assert_eq!(date(NaiveDate::from_ymd_opt(year, 1, 1).unwrap()), expected);
        }
    }
}
