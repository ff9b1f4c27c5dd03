//! Reads a document that this program wrote, in one pass: it finds where each value stands, and
//! that it is one of its kind. What a field holds is read from there when somebody asks for it; a
//! reply takes most values as they stand.
//!
//! It takes keys in the order of the dictionary, no white space, and nothing unknown. Whatever else
//! it meets ends the scan, and the document is read in the other way.

use std::marker::PhantomData;

use domain::fields::field_set::FieldSet;
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

/// Bytes of a date with its quotes.
const DATE_LENGTH: usize = 12;
/// Bytes of a timestamp with its quotes.
const TIMESTAMP_LENGTH: usize = 26;

/// The stored values of one record.
#[derive(Debug)]
pub(crate) struct Scanned<'a, R: Record> {
    document: &'a str,
    /// Where the values stand, by the index of the field.
    places: Vec<Place>,
    /// The fields whose values are written as replies show them.
    as_shown: FieldSet<R::Field>,
}

/// Where a value stands in the document, in bytes; an empty place is that of a field in which
/// nothing is stored.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
}

/// The stored values of a trainee and its nested records.
#[derive(Debug)]
pub(crate) struct ScannedTrainee<'a> {
    fields: Scanned<'a, Trainee>,
    nested: NestedRecords<InDocument<'a>>,
    /// The list of withdrawals, as JSON.
    withdrawals: Option<&'a str>,
}

/// Nested records as they stand in the document.
#[derive(Debug)]
struct InDocument<'a>(PhantomData<&'a str>);

impl<'a> NestedForm for InDocument<'a> {
    type Of<R: Record> = Scanned<'a, R>;
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As replies show it.
    AsShown,
    /// Perhaps otherwise: with escapes, of which JSON has several for the same character, or with
    /// white space.
    Other,
}

impl<'a, R: Record> Scanned<'a, R> {
    fn empty(document: &'a str) -> Self {
        Self {
            document,
            places: vec![Place { start: 0, end: 0 }; R::Field::ALL.len()],
            as_shown: FieldSet::new(),
        }
    }

    /// What stands in the document for the field; `None` where nothing is stored.
    fn written(&self, field: R::Field) -> Option<&'a str> {
        let Place { start, end } = *self.places.get(field.index())?;
        self.document
            .get(start as usize..end as usize)
            .filter(|value| !value.is_empty())
    }
}

impl<R: Record> Stored<R> for Scanned<'_, R> {
    fn stored(&self, field: R::Field) -> Value<'_> {
        self.written(field)
            .and_then(|value| read(field.info().kind, value))
            .unwrap_or(Value::Null)
    }

    fn json(&self, field: R::Field) -> StoredJson<'_> {
        match self.written(field) {
            Some(value) if self.as_shown.contains(field) => StoredJson::Text(value),
            // These show that there is nothing by something else than null.
            None if !matches!(
                field.info().kind,
                Kind::Boolean | Kind::TextList | Kind::Records
            ) =>
            {
                StoredJson::Null
            }
            Some(_) | None => StoredJson::Unavailable,
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
    /// The trainee as a struct; `None` when the withdrawals are not of the form in which they are
    /// written.
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

/// Copies the records of a kind into the trainee; `None` when a field holds what it cannot hold.
fn copy<R: NestedRecord>(from: &NestedRecords<InDocument<'_>>, to: &mut Trainee) -> Option<()> {
    *R::records_mut(to) = R::in_nested(from)
        .iter()
        .map(Scanned::to_record)
        .collect::<Option<_>>()?;
    Some(())
}

/// Reads the records of a kind, if their key is the one that was read last; then it becomes the key
/// behind them.
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

/// Reads a document; `None` when it is not one that this program wrote.
pub(crate) fn scan(text: &str, nested: Nested) -> Option<ScannedTrainee<'_>> {
    let mut input = Input {
        document: text,
        rest: text,
    };
    let fields = Scanned::empty(text);
    let mut trainee = ScannedTrainee {
        fields,
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
    // A key behind the lists, where some editors put new ones, is one that was not read.
    (key.is_none() && input.rest.is_empty()).then_some(trainee)
}

/// A document, and what is left of it.
struct Input<'a> {
    document: &'a str,
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

    /// Whether an object that begins here has an entry.
    fn has_first_entry(&mut self) -> Option<bool> {
        self.take("{")?;
        Some(self.take("}").is_none())
    }

    /// Whether another entry follows a value.
    fn has_next_entry(&mut self) -> Option<bool> {
        if self.take("}").is_some() {
            return Some(false);
        }
        self.take(",").map(|()| true)
    }

    /// The key behind a value; `None` inside when the object ends there.
    fn next_key(&mut self) -> Option<Option<&'a str>> {
        if self.has_next_entry()? {
            self.key().map(Some)
        } else {
            Some(None)
        }
    }

    /// Whether the entry that begins here has this key.
    fn begins_with_key(&self, name: &str) -> bool {
        let Some((b'"', rest)) = self.rest.as_bytes().split_first() else {
            return false;
        };
        // Most other keys end elsewhere.
        rest.get(name.len()) == Some(&b'"') && rest.starts_with(name.as_bytes())
    }

    fn key(&mut self) -> Option<&'a str> {
        self.take("\"")?;
        let key = self.split(plain_length(self.rest.as_bytes()))?;
        self.take("\":")?;
        Some(key)
    }

    /// How many bytes were read.
    fn place(&self) -> Option<u32> {
        u32::try_from(self.document.len() - self.rest.len()).ok()
    }

    /// Finds the fields of an object, up to its end or to a key that is no field or holds other
    /// records: that is returned.
    fn fields<R: Record>(&mut self, record: &mut Scanned<'a, R>) -> Option<Option<&'a str>> {
        let mut fields = R::Field::ALL.iter();
        let mut has_entry = self.has_first_entry()?;
        while has_entry {
            let field = fields.find(|field| self.begins_with_key(field.info().name));
            let Some(field) =
                field.filter(|field| field.is_stored() && field.info().kind != Kind::Records)
            else {
                return self.key().map(Some);
            };
            // With its quotes.
            self.split(field.info().name.len() + 2)?;
            self.take(":")?;
            let start = self.place()?;
            if self.value(field.info().kind)? == Form::AsShown {
                record.as_shown.insert(*field);
            }
            *record.places.get_mut(field.index())? = Place {
                start,
                end: self.place()?,
            };
            has_entry = self.has_next_entry()?;
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
            let mut record = Scanned::empty(self.document);
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

    /// Passes over a value of the kind.
    fn value(&mut self, kind: Kind) -> Option<Form> {
        match kind {
            Kind::Text => return self.string(),
            Kind::Document => {
                self.string()?;
                return Some(Form::Other);
            }
            Kind::Integer | Kind::Year => {
                let length = self
                    .rest
                    .bytes()
                    .position(|byte| !byte.is_ascii_digit() && byte != b'-')?;
                integer(self.split(length)?)?;
            }
            Kind::Boolean => self.take("true").or_else(|| self.take("false"))?,
            Kind::Date => drop(date(self.split(DATE_LENGTH)?)?),
            Kind::Timestamp => drop(timestamp(self.split(TIMESTAMP_LENGTH)?)?),
            Kind::TextList => {
                texts(self.array()?)?;
                return Some(Form::Other);
            }
            Kind::Uuid | Kind::Records => return None,
        }
        Some(Form::AsShown)
    }

    fn string(&mut self) -> Option<Form> {
        let text = self.rest.strip_prefix('"')?;
        let end = plain_length(text.as_bytes());
        if text.as_bytes().get(end) == Some(&b'"') {
            self.rest = text.get(end + 1..)?;
            return Some(Form::AsShown);
        }
        let length = quoted(self.rest.as_bytes())?;
        serde_json::from_str::<String>(self.split(length)?).ok()?;
        Some(Form::Other)
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
        at += plain_length(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// How many bytes there are before the first quote, backslash or control character. Eight are
/// looked at together: texts are most of a document.
fn plain_length(bytes: &[u8]) -> usize {
    /// A byte eight times over.
    const fn eight(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    /// Sets the highest bit of each byte that is below the bound, and perhaps of some behind the
    /// first of them.
    const fn below(word: u64, bound: u8) -> u64 {
        word.wrapping_sub(eight(bound)) & !word & eight(0x80)
    }
    let mut rest = bytes;
    while let Some((chunk, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        // A byte that is equal to another becomes zero.
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
        fn plain_length_is_that_before_the_first_byte_that_is_not_plain(
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
