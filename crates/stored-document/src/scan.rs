//! Scans a document in the exact form written by this program, in one pass. The scan validates all
//! values and stores their JSON. [`Stored::stored`] parses a value on access. Replies copy
//! most values unparsed ([`Stored::json`]).
//!
//! The scan fails for unknown keys, for keys in another order than the dictionary and for white
//! space. `read.rs` reads such documents.

use std::marker::PhantomData;

use domain::records::record::{Record, StoredJson};
use domain::records::trainee::{Borrowed, NestedForm};
use domain::{
    Kind, NestedRecord, NestedRecords, RecordField as _, Stored, Trainee, TraineeField, Value,
    for_each_nested,
};

pub use self::values::calendar_day;
use self::values::{date, integer, read, texts, timestamp};
use super::read::Parsed;
use super::{Extra, Nested, WITHDRAWALS};

mod values;

/// The length of a date with quotes, in bytes.
const DATE_LENGTH: usize = 12;
/// The length of a timestamp with quotes, in bytes.
const TIMESTAMP_LENGTH: usize = 26;

/// The stored values of one record, by the index of the field. `None` for a field without a stored
/// value.
#[derive(Debug)]
pub(crate) struct Scanned<'a, R: Record>(Vec<Option<StoredText<'a>>>, PhantomData<R>);

/// The stored JSON of a value.
#[derive(Debug, Clone, Copy)]
enum StoredText<'a> {
    /// Equal to the JSON in replies.
    AsShown(&'a str),
    /// Possibly different from the JSON in replies, such as other escapes or white space.
    Other(&'a str),
}

/// The stored values of a trainee and its nested records.
#[derive(Debug)]
pub(crate) struct ScannedTrainee<'a> {
    fields: Scanned<'a, Trainee>,
    nested: NestedRecords<InDocument<'a>>,
    /// The list of withdrawals as JSON; `None` if there is none.
    withdrawals: Option<&'a str>,
}

/// Nested records as scanned records.
#[derive(Debug)]
struct InDocument<'a>(PhantomData<&'a str>);

impl<'a> NestedForm for InDocument<'a> {
    type Of<R: Record> = Scanned<'a, R>;
}

impl<'a> StoredText<'a> {
    /// The stored JSON.
    const fn json(self) -> &'a str {
        let (Self::AsShown(json) | Self::Other(json)) = self;
        json
    }
}

impl<'a, R: Record> Scanned<'a, R> {
    /// A record without values.
    fn empty() -> Self {
        Self(vec![None; R::Field::ALL.len()], PhantomData)
    }

    /// The stored JSON of a field.
    fn text(&self, field: R::Field) -> Option<StoredText<'a>> {
        self.0.get(field.index()).copied().flatten()
    }
}

impl<R: Record> Stored<R> for Scanned<'_, R> {
    fn stored(&self, field: R::Field) -> Value<'_> {
        self.text(field)
            .and_then(|text| read(field.info().kind, text.json()))
            .unwrap_or(Value::Null)
    }

    fn json(&self, field: R::Field) -> StoredJson<'_> {
        match self.text(field) {
            Some(StoredText::AsShown(text)) => StoredJson::Text(text),
            // Empty fields of the other kinds are not shown as null.
            None if !matches!(
                field.info().kind,
                Kind::Boolean | Kind::TextList | Kind::Records
            ) =>
            {
                StoredJson::Null
            }
            Some(StoredText::Other(_)) | None => StoredJson::Unavailable,
        }
    }
}

impl Stored<Trainee> for ScannedTrainee<'_> {
    fn stored(&self, field: TraineeField) -> Value<'_> {
        self.fields.stored(field)
    }

    fn nested(&self) -> NestedRecords<Borrowed<'_>> {
        let mut nested = NestedRecords::default();
        for_each_nested!(borrow(&self.nested, &mut nested));
        nested
    }

    fn json(&self, field: TraineeField) -> StoredJson<'_> {
        self.fields.json(field)
    }
}

impl<R: Record> Scanned<'_, R> {
    /// Copies the values to a struct. Returns `None` if a value does not have the type of its
    /// field.
    fn to_record(&self) -> Option<R> {
        let mut record = R::default();
        for field in R::Field::ALL {
            let value = self.stored(*field);
            if value != Value::Null && !record.set_stored(*field, value) {
                return None;
            }
        }
        Some(record)
    }
}

impl ScannedTrainee<'_> {
    /// Copies the values to structs. Returns `None` if the list of withdrawals is malformed or a
    /// value does not have the type of its field.
    pub(crate) fn to_parsed(&self) -> Option<Parsed> {
        let mut extra = Extra::default();
        if let Some(withdrawals) = self.withdrawals {
            extra.withdrawals = serde_json::from_str(withdrawals).ok()?;
        }
        let mut trainee = self.fields.to_record()?;
        for list in for_each_nested!(copy(&self.nested, &mut trainee)) {
            list?;
        }
        Some(Parsed { trainee, extra })
    }
}

/// Borrows the records of a kind.
fn borrow<'a, R: NestedRecord>(
    from: &'a NestedRecords<InDocument<'_>>,
    to: &mut NestedRecords<Borrowed<'a>>,
) {
    *R::in_nested_mut(to) = R::in_nested(from)
        .iter()
        .map(|record| record as _)
        .collect();
}

/// Copies the records of a kind to the trainee. Returns `None` if a value does not have the type of
/// its field.
fn copy<R: NestedRecord>(from: &NestedRecords<InDocument<'_>>, to: &mut Trainee) -> Option<()> {
    *R::records_mut(to) = R::in_nested(from)
        .iter()
        .map(Scanned::to_record)
        .collect::<Option<_>>()?;
    Some(())
}

/// Reads the records of a kind if `key` is the key of their list. Then replaces `key` by the next
/// key.
fn read_kind<'a, R: NestedRecord>(
    input: &mut Input<'a>,
    key: &mut Option<&'a str>,
    nested: Nested,
    records: &mut NestedRecords<InDocument<'a>>,
) -> Option<()> {
    if *key == Some(R::LIST.info().name) {
        *R::in_nested_mut(records) = input.nested(nested)?;
        *key = input.next_key()?;
    }
    Some(())
}

/// Scans a document. Returns `None` if it is not in the exact form written by this program.
pub(crate) fn scan(text: &str, nested: Nested) -> Option<ScannedTrainee<'_>> {
    let mut input = Input { rest: text };
    let mut trainee = ScannedTrainee {
        fields: Scanned::empty(),
        nested: NestedRecords::default(),
        withdrawals: None,
    };
    let mut key = input.fields(&mut trainee.fields)?;
    if key == Some(WITHDRAWALS) {
        trainee.withdrawals = Some(input.array()?);
        key = input.next_key()?;
    }
    for list in for_each_nested!(read_kind(&mut input, &mut key, nested, &mut trainee.nested)) {
        list?;
    }
    // A remaining key is unknown. Some editors append new keys.
    (key.is_none() && input.rest.is_empty()).then_some(trainee)
}

/// The unread rest of a document.
struct Input<'a> {
    rest: &'a str,
}

impl<'a> Input<'a> {
    /// Reads an expected text. Returns `None` if the rest begins with another text.
    fn take(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// Reads a number of bytes.
    fn split(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads the beginning of an object. Returns whether the object has an entry.
    fn has_first_entry(&mut self) -> Option<bool> {
        self.take("{")?;
        Some(self.take("}").is_none())
    }

    /// Reads the separator after a value. Returns whether the object has another entry.
    fn has_next_entry(&mut self) -> Option<bool> {
        if self.take("}").is_some() {
            return Some(false);
        }
        self.take(",").map(|()| true)
    }

    /// Reads the next key after a value. The inner value is `None` at the end of the object.
    fn next_key(&mut self) -> Option<Option<&'a str>> {
        if self.has_next_entry()? {
            self.key().map(Some)
        } else {
            Some(None)
        }
    }

    /// Whether the rest begins with the key.
    fn begins_with_key(&self, name: &str) -> bool {
        let Some((b'"', rest)) = self.rest.as_bytes().split_first() else {
            return false;
        };
        // Compares the closing quote first: most other keys have another length.
        rest.get(name.len()) == Some(&b'"') && rest.starts_with(name.as_bytes())
    }

    /// Reads a key without escapes and the colon after it.
    fn key(&mut self) -> Option<&'a str> {
        self.take("\"")?;
        let key = self.split(plain_length(self.rest.as_bytes()))?;
        self.take("\":")?;
        Some(key)
    }

    /// Reads the fields of an object. Returns the first key that is not a stored field or is a list
    /// of records. The inner value is `None` at the end of the object.
    fn fields<R: Record>(&mut self, record: &mut Scanned<'a, R>) -> Option<Option<&'a str>> {
        // The search for each key continues after the last found field, because the keys must have
        // the order of the dictionary.
        let mut fields = R::Field::ALL.iter();
        let mut has_entry = self.has_first_entry()?;
        while has_entry {
            let field = fields
                .find(|field| self.begins_with_key(field.info().name))
                .filter(|field| field.is_stored() && field.info().kind != Kind::Records);
            let Some(field) = field else {
                return self.key().map(Some);
            };
            // The name and its quotes.
            self.split(field.info().name.len() + 2)?;
            self.take(":")?;
            let text = self.value(field.info().kind)?;
            *record.0.get_mut(field.index())? = Some(text);
            has_entry = self.has_next_entry()?;
        }
        Some(None)
    }

    /// Reads or skips a list of nested records.
    fn nested<R: Record>(&mut self, nested: Nested) -> Option<Vec<Scanned<'a, R>>> {
        match nested {
            Nested::With => self.records(),
            Nested::Without => self.array().map(|_| Vec::new()),
        }
    }

    /// Reads an array of objects. Returns `None` if an object has an unknown key.
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

    /// Reads a value of a kind. Returns `None` for a value that this program would not write.
    fn value(&mut self, kind: Kind) -> Option<StoredText<'a>> {
        let text = match kind {
            Kind::Text => return self.string(),
            Kind::Document => return Some(StoredText::Other(self.string()?.json())),
            Kind::Integer | Kind::Year => {
                let length = self
                    .rest
                    .bytes()
                    .position(|byte| !byte.is_ascii_digit() && byte != b'-')?;
                self.split(length).filter(|text| integer(text).is_some())?
            }
            Kind::Boolean if self.rest.starts_with("true") => self.split(4)?,
            Kind::Boolean => self.split(5).filter(|text| *text == "false")?,
            Kind::Date => self
                .split(DATE_LENGTH)
                .filter(|text| date(text).is_some())?,
            Kind::Timestamp => self
                .split(TIMESTAMP_LENGTH)
                .filter(|text| timestamp(text).is_some())?,
            Kind::TextList => {
                let text = self.array()?;
                texts(text)?;
                return Some(StoredText::Other(text));
            }
            Kind::Uuid | Kind::Records => return None,
        };
        Some(StoredText::AsShown(text))
    }

    /// Reads a string. Strings with escapes may differ from the replies.
    fn string(&mut self) -> Option<StoredText<'a>> {
        let text = self.rest.strip_prefix('"')?;
        let end = plain_length(text.as_bytes());
        if text.as_bytes().get(end) == Some(&b'"') {
            return self.split(end + 2).map(StoredText::AsShown);
        }
        let text = self.split(string_length(self.rest.as_bytes())?)?;
        serde_json::from_str::<String>(text).ok()?;
        Some(StoredText::Other(text))
    }

    /// Reads an array, and returns its JSON. Checks only that brackets and quotes are balanced.
    fn array(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let mut depth = 0_usize;
        let mut at = 0;
        loop {
            match bytes.get(at)? {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1)?,
                b'"' => at += string_length(bytes.get(at..)?)? - 1,
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

/// Returns the length in bytes of the string at the beginning, including its quotes. Returns `None`
/// if the string does not end.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += plain_length(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the number of bytes before the first quote, backslash or control character. Checks eight
/// bytes at a time, because documents consist mostly of text.
fn plain_length(bytes: &[u8]) -> usize {
    /// Repeats a byte eight times.
    const fn eight(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    /// Sets the highest bit of the first byte below the bound. May also set the highest bit of
    /// later bytes.
    const fn below(word: u64, bound: u8) -> u64 {
        word.wrapping_sub(eight(bound)) & !word & eight(0x80)
    }
    let mut rest = bytes;
    while let Some((chunk, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        // XOR with a repeated byte turns equal bytes into zero.
        let found =
            below(word, 0x20) | below(word ^ eight(b'"'), 1) | below(word ^ eight(b'\\'), 1);
        if found != 0 {
            return bytes.len() - rest.len() + (found.trailing_zeros() / u8::BITS) as usize;
        }
        rest = behind;
    }
    let is_plain = |byte: &u8| !matches!(byte, 0..0x20 | b'"' | b'\\');
    bytes.len() - rest.len() + rest.iter().take_while(|byte| is_plain(byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_length_ends_before_first_special_byte(
            plain in "[ -!#-\\[\\]-\u{7f}\u{80}-\u{10ffff}]{0,40}",
            special in prop::option::of("[\u{0}-\u{1f}\"\\\\]"),
            rest in ".{0,20}",
        ) {
            let is_ended = special.is_some();
            let text = format!("{plain}{}{}", special.unwrap_or_default(), if is_ended { rest } else { String::new() });
            prop_assert_eq!(plain_length(text.as_bytes()), plain.len());
        }
    }
}
