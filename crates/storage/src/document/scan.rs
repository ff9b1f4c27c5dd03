//! Reads a document that this program wrote, in one pass: values are borrowed from it.
//!
//! It takes keys in the order of the dictionary, no white space, and nothing unknown. Whatever else it meets ends the scan,
//! and the document is read in the other way.

use std::borrow::Cow;
use std::marker::PhantomData;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use domain::dictionary::Record;
use domain::{Degree, Kind, Placement, RecordField as _, Stored, Trainee, TraineeField, Value};

use super::read::Parsed;
use super::{Extra, Nested, WITHDRAWALS};

/// The stored values of one record, by the index of the field.
#[derive(Debug)]
pub(super) struct Scanned<'a, R: Record> {
    values: Vec<Value<'a>>,
    record: PhantomData<R>,
}

/// The stored values of a trainee and its nested records.
#[derive(Debug)]
pub(super) struct ScannedTrainee<'a> {
    fields: Scanned<'a, Trainee>,
    placements: Vec<Scanned<'a, Placement>>,
    degrees: Vec<Scanned<'a, Degree>>,
    /// The list of withdrawals, as JSON.
    withdrawals: Option<&'a str>,
}

impl<R: Record> Stored<R> for Scanned<'_, R> {
    fn stored(&self, field: R::Field) -> Value<'_> {
        match self.values.get(field.index()) {
            // What is borrowed from the document is not copied for whoever looks at it.
            Some(Value::Text(text)) => Value::Text(Cow::Borrowed(text)),
            Some(Value::Document(text)) => Value::Document(Cow::Borrowed(text)),
            Some(Value::Texts(texts)) => Value::Texts(texts.iter().map(|text| Cow::Borrowed(&**text)).collect()),
            Some(value) => value.clone(),
            None => Value::Null,
        }
    }
}

impl Stored<Trainee> for ScannedTrainee<'_> {
    fn stored(&self, field: TraineeField) -> Value<'_> {
        if field == TraineeField::placements {
            Value::placements(&self.placements)
        } else if field == TraineeField::degrees {
            Value::degrees(&self.degrees)
        } else {
            self.fields.stored(field)
        }
    }
}

impl<R: Record> Scanned<'_, R> {
    fn to_record(&self) -> Option<R> {
        let mut record = R::default();
        for field in R::Field::ALL {
            let value = self.stored(*field);
            if value != Value::Null && !record.hold(*field, value) {
                return None;
            }
        }
        Some(record)
    }
}

impl ScannedTrainee<'_> {
    /// The trainee as a struct; `None` when the withdrawals are not of the form in which they are written.
    pub(super) fn to_parsed(&self) -> Option<Parsed> {
        let mut extra = Extra::default();
        if let Some(withdrawals) = self.withdrawals {
            extra.withdrawals = serde_json::from_str(withdrawals).ok()?;
        }
        let mut trainee = self.fields.to_record()?;
        trainee.placements = self.placements.iter().map(Scanned::to_record).collect::<Option<_>>()?;
        trainee.degrees = self.degrees.iter().map(Scanned::to_record).collect::<Option<_>>()?;
        Some(Parsed { trainee, extra })
    }
}

/// Reads a document; `None` when it is not one that this program wrote.
pub(super) fn scan(text: &str, nested: Nested) -> Option<ScannedTrainee<'_>> {
    let mut input = Input { rest: text };
    let mut trainee =
        ScannedTrainee { fields: Scanned::empty(), placements: Vec::new(), degrees: Vec::new(), withdrawals: None };
    let mut key = input.fields(&mut trainee.fields)?;
    if key == Some(WITHDRAWALS) {
        trainee.withdrawals = Some(input.array()?);
        key = input.next_key()?;
    }
    if key == Some("placements") {
        trainee.placements = input.nested(nested)?;
        key = input.next_key()?;
    }
    if key == Some("degrees") {
        trainee.degrees = input.nested(nested)?;
        key = input.next_key()?;
    }
    // A key behind the lists, where some editors put new ones, is one that was not read.
    (key.is_none() && input.rest.is_empty()).then_some(trainee)
}

impl<R: Record> Scanned<'_, R> {
    fn empty() -> Self {
        Self { values: vec![Value::Null; R::Field::ALL.len()], record: PhantomData }
    }
}

/// What is left of the document.
struct Input<'a> {
    rest: &'a str,
}

impl<'a> Input<'a> {
    fn take(&mut self, start: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(start)?;
        Some(())
    }

    /// So many bytes.
    fn split(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// The key behind the brace that opens an object; `None` inside when the object is empty.
    fn first_key(&mut self) -> Option<Option<&'a str>> {
        self.take("{")?;
        if self.take("}").is_some() { Some(None) } else { self.key().map(Some) }
    }

    /// The key behind a value; `None` inside when the object ends there.
    fn next_key(&mut self) -> Option<Option<&'a str>> {
        if self.take("}").is_some() {
            return Some(None);
        }
        self.take(",")?;
        self.key().map(Some)
    }

    fn key(&mut self) -> Option<&'a str> {
        self.take("\"")?;
        let key = self.split(self.rest.bytes().position(|byte| byte == b'"')?)?;
        self.take("\":")?;
        Some(key)
    }

    /// Reads the fields of an object, up to its end or to a key that is no field or holds other records: that is returned.
    fn fields<R: Record>(&mut self, record: &mut Scanned<'a, R>) -> Option<Option<&'a str>> {
        let mut fields = R::Field::ALL.iter();
        let mut key = self.first_key()?;
        while let Some(name) = key {
            let Some(field) = fields.find(|field| field.info().name == name) else { return Some(key) };
            let kind = field.info().kind;
            if kind == Kind::Records || !field.is_stored() {
                return Some(key);
            }
            *record.values.get_mut(field.index())? = self.value(kind)?;
            key = self.next_key()?;
        }
        Some(None)
    }

    /// A list of nested records, passed over where they are not wanted.
    fn nested<R: Record>(&mut self, nested: Nested) -> Option<Vec<Scanned<'a, R>>> {
        match nested {
            Nested::With => self.records(),
            Nested::Without => self.array().map(|_| Vec::new()),
        }
    }

    /// An array of objects, each with nothing but fields.
    fn records<R: Record>(&mut self) -> Option<Vec<Scanned<'a, R>>> {
        self.take("[")?;
        let mut records = Vec::new();
        loop {
            let mut record = Scanned::empty();
            if self.fields(&mut record)?.is_some() {
                return None;
            }
            records.push(record);
            if self.take("]").is_some() {
                return Some(records);
            }
            self.take(",")?;
        }
    }

    fn value(&mut self, kind: Kind) -> Option<Value<'a>> {
        match kind {
            Kind::Text => self.string().map(Value::Text),
            Kind::Document => self.string().map(Value::Document),
            Kind::Integer | Kind::Year => {
                let length = self.rest.bytes().position(|byte| !byte.is_ascii_digit() && byte != b'-')?;
                integer(self.split(length)?).map(Value::Integer)
            }
            Kind::Flag if self.take("true").is_some() => Some(Value::Flag(true)),
            Kind::Flag => self.take("false").map(|()| Value::Flag(false)),
            Kind::Date => {
                self.take("\"")?;
                let day = date(self.split(10)?.as_bytes())?;
                self.take("\"")?;
                Some(Value::Date(day))
            }
            Kind::Moment => {
                self.take("\"")?;
                let timestamp = timestamp(self.split(24)?.as_bytes())?;
                self.take("\"")?;
                Some(Value::Moment(timestamp))
            }
            Kind::Texts => {
                let texts: Vec<String> = serde_json::from_str(self.array()?).ok()?;
                Some(Value::Texts(texts.into_iter().map(Cow::Owned).collect()))
            }
            Kind::Uuid | Kind::Records => None,
        }
    }

    /// A string, copied only where it has escapes.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let text = self.rest.strip_prefix('"')?;
        let end = text.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte.is_ascii_control())?;
        if text.as_bytes().get(end) == Some(&b'"') {
            self.rest = text.get(end + 1..)?;
            return text.get(..end).map(Cow::Borrowed);
        }
        let raw = self.split(quoted(self.rest.as_bytes())?)?;
        serde_json::from_str(raw).ok().map(Cow::Owned)
    }

    /// An array, unread.
    fn array(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let mut depth = 0_usize;
        let mut at = 0;
        loop {
            match bytes.get(at)? {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1)?,
                b'"' => at += quoted(bytes.get(at..)?)? - 1,
                _ if depth == 0 => return None,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return self.split(at);
            }
        }
    }
}

/// How many bytes the string at the beginning has, quotes included.
fn quoted(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A number as JSON writes one: without a sign of plus and without leading zeros.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = text == "0" || !digits.starts_with('0');
    text.parse().ok().filter(|_| is_plain)
}

/// The number that some digits form.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
}

/// `YYYY-MM-DD`.
fn date(text: &[u8]) -> Option<NaiveDate> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let year = i32::try_from(number(&[*y1, *y2, *y3, *y4])?).ok()?;
    NaiveDate::from_ymd_opt(year, number(&[*m1, *m2])?, number(&[*d1, *d2])?)
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
fn timestamp(text: &[u8]) -> Option<DateTime<Utc>> {
    let (day, time) = text.split_at_checked(10)?;
    let [b'T', h1, h2, b':', m1, m2, b':', s1, s2, b'.', milliseconds @ .., b'Z'] = time else { return None };
    let time = NaiveTime::from_hms_milli_opt(
        number(&[*h1, *h2])?,
        number(&[*m1, *m2])?,
        number(&[*s1, *s2])?,
        number(milliseconds)?,
    )?;
    Some(date(day)?.and_time(time).and_utc())
}
