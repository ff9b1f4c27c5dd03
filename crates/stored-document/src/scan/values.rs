//! Reads values in the exact form written by this program.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use domain::{Kind, Value};

/// Reads the JSON of a value of a kind. Returns `None` if the JSON has another form.
pub(crate) fn read(kind: Kind, value: &str) -> Option<Value<'_>> {
    match kind {
        Kind::Text => text(value).map(Value::Text),
        Kind::Document => text(value).map(Value::Document),
        Kind::Integer | Kind::Year => integer(value).map(Value::Integer),
        Kind::Boolean => Some(Value::Boolean(value == "true")),
        Kind::Date => date(value).map(Value::Date),
        Kind::Timestamp => timestamp(value).map(Value::Timestamp),
        Kind::TextList => texts(value).map(Value::TextList),
        Kind::Uuid | Kind::Records => None,
    }
}

/// Reads a string. Copies only strings with escapes.
fn text(value: &str) -> Option<Cow<'_, str>> {
    if value.contains('\\') {
        return serde_json::from_str(value).ok().map(Cow::Owned);
    }
    value
        .strip_prefix('"')?
        .strip_suffix('"')
        .map(Cow::Borrowed)
}

/// Reads an array of strings.
pub(crate) fn texts(value: &str) -> Option<Vec<Cow<'_, str>>> {
    let texts: Vec<String> = serde_json::from_str(value).ok()?;
    Some(texts.into_iter().map(Cow::Owned).collect())
}

/// Reads a whole number in JSON form: without a plus sign and without leading zeros.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = text == "0" || !digits.starts_with('0');
    text.parse().ok().filter(|_| is_plain)
}

/// Parses decimal digits. Returns `None` for other characters.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u32::from(digit - b'0'))
    })
}

/// Reads `"YYYY-MM-DD"`, with quotes.
pub(crate) fn date(value: &str) -> Option<NaiveDate> {
    let [b'"', day @ .., b'"'] = value.as_bytes() else {
        return None;
    };
    calendar_day(day)
}

/// Reads `YYYY-MM-DD`, without quotes. Returns `None` for other texts and for days that do not
/// exist.
pub fn calendar_day(text: &[u8]) -> Option<NaiveDate> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let year = i32::try_from(number(&[*y1, *y2, *y3, *y4])?).ok()?;
    NaiveDate::from_ymd_opt(year, number(&[*m1, *m2])?, number(&[*d1, *d2])?)
}

/// Reads `"YYYY-MM-DDTHH:MM:SS.mmmZ"`, with quotes.
pub(crate) fn timestamp(value: &str) -> Option<DateTime<Utc>> {
    let [b'"', text @ .., b'"'] = value.as_bytes() else {
        return None;
    };
    let (day, time) = text.split_at_checked(10)?;
    let [
        b'T',
        h1,
        h2,
        b':',
        m1,
        m2,
        b':',
        s1,
        s2,
        b'.',
        milliseconds @ ..,
        b'Z',
    ] = time
    else {
        return None;
    };
    let time = NaiveTime::from_hms_milli_opt(
        number(&[*h1, *h2])?,
        number(&[*m1, *m2])?,
        number(&[*s1, *s2])?,
        number(milliseconds)?,
    )?;
    Some(calendar_day(day)?.and_time(time).and_utc())
}
