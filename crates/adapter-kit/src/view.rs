//! Writes a record as JSON, in the shape of a version, in one pass into a buffer.

use std::borrow::Cow;

use domain::records::record::{NestedLists, StoredJson};
use domain::{FieldSet, Kind, Lists, Record, RecordField as _, Stored, Trainee, TraineeField, Value, for_nested_list};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::shape::{Entry, Group, Part, Shape, Source};
use crate::version::{ApiVersion, NestedVisibility};
use crate::wire::WireNested;
use crate::wire_form::{Words, word_of};

mod json;

/// Characters of a UUID with hyphens.
const UUID_LENGTH: usize = 36;

/// A record as a version shows it.
#[derive(Debug)]
pub struct View<'a, R: Record> {
    version: &'a ApiVersion,
    shape: &'a Shape<R>,
    record: &'a dyn Stored<R>,
    lists: &'a Lists,
    write_nested: Option<WriteNested<'a, R>>,
    /// The nested lists to show; all of them without.
    only: Option<FieldSet<R::Field>>,
}

/// The nested records of a record, wherever they are stored.
type NestedOf<'a, R> = <<R as Record>::Nested as NestedLists>::Stored<'a>;

/// Writes a nested list of a record.
type WriteNested<'a, R> =
    fn(&View<'a, R>, <R as Record>::Field, &NestedOf<'_, R>, &mut Vec<u8>) -> Result<(), serde_json::Error>;

impl<'a, R: WireNested> View<'a, R> {
    /// The nested record as its endpoints show it.
    #[must_use]
    pub fn new(version: &'a ApiVersion, record: &'a dyn Stored<R>, lists: &'a Lists) -> Self {
        Self { version, shape: &R::shapes(version).alone, record, lists, write_nested: None, only: None }
    }
}

impl<'a> View<'a, Trainee> {
    /// The trainee with all nested records.
    #[must_use]
    pub fn trainee(version: &'a ApiVersion, record: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Self {
        Self { version, shape: &version.shapes.trainee, record, lists, write_nested: Some(Self::nested), only: None }
    }

    /// The trainee in a list: with all nested records where the version's shape says so, otherwise with those that the client
    /// wants included.
    #[must_use]
    pub fn in_list(
        version: &'a ApiVersion,
        record: &'a dyn Stored<Trainee>,
        lists: &'a Lists,
        included: FieldSet<TraineeField>,
    ) -> Self {
        let trainee = Self::trainee(version, record, lists);
        match version.shapes.nested_in_lists {
            NestedVisibility::Shown => trainee,
            NestedVisibility::Hidden if included.is_empty() => Self { write_nested: None, ..trainee },
            NestedVisibility::Hidden => Self { only: Some(included), ..trainee },
        }
    }
}

impl<R: Record> View<'_, R> {
    /// Writes the record as JSON to the end of a buffer.
    ///
    /// # Errors
    ///
    /// When an imported document is not JSON; the buffer then ends somewhere in the record.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let record_start = out.len();
        let mut start = record_start;
        let mut group: Option<OpenGroup> = None;
        let mut nested = None;
        for entry in self.shape.entries {
            if entry.group != group.map(|open| open.group) {
                group.take().into_iter().for_each(|open| open.close(out));
                start = record_start;
                if let Some(next) = entry.group {
                    push_key(out, record_start, next.key);
                    start = out.len();
                    group = Some(OpenGroup { group: next, start, has_value: false });
                }
            }
            if let (Kind::Records, Source::Field(field)) = (entry.kind(), &entry.source) {
                let is_shown = self.only.is_none_or(|only| only.contains(*field));
                if let Some(write_nested) = self.write_nested.filter(|_| is_shown) {
                    push_key(out, start, entry.key);
                    write_nested(self, *field, nested.get_or_insert_with(|| self.record.nested()), out)?;
                }
                continue;
            }
            if !entry.is_first_part() {
                continue;
            }
            let has_value = self.write_entry(entry, start, out)?;
            if let Some(open) = &mut group {
                open.has_value |= has_value;
            }
        }
        group.take().into_iter().for_each(|open| open.close(out));
        if out.len() == record_start {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes a field of the object that begins at `start`, and returns whether it has a value.
    fn write_entry(&self, entry: &Entry<R>, start: usize, out: &mut Vec<u8>) -> Result<bool, serde_json::Error> {
        let words = self.words(entry);
        let stored_json = match &entry.source {
            Source::Field(field) if words.is_none() && entry.part.is_none() && field.is_shown_as_stored() => {
                self.record.json(*field)
            }
            Source::Field(_) | Source::Own(_) => StoredJson::Unavailable,
        };
        let value = match stored_json {
            StoredJson::Text(json) => {
                push_key(out, start, entry.key);
                out.extend_from_slice(json.as_bytes());
                return Ok(true);
            }
            StoredJson::Null => Value::Null,
            StoredJson::Unavailable => self.value(entry, words),
        };
        if entry.when_set && value == Value::Null {
            return Ok(false);
        }
        push_key(out, start, entry.key);
        self.write_value(&value, out)?;
        Ok(value != Value::Null)
    }

    /// The words for the codes of a field.
    fn words(&self, entry: &Entry<R>) -> Option<Words> {
        let wire = &self.version.wire;
        if wire.words.is_empty() { None } else { wire.words_of(entry.field()?.info().codes) }
    }

    /// The value of a field as the version writes it.
    fn value<'b>(&'b self, entry: &Entry<R>, words: Option<Words>) -> Value<'b> {
        if let Some(part) = entry.part {
            return self.joined(entry, part);
        }
        match (entry.value(self.record, self.lists), words) {
            (Value::Text(code), Some(words)) => Value::Text(Cow::Owned(word_of(words, &code).to_owned())),
            (value, _) => value,
        }
    }

    /// The text that joins fields; null where none of them has a value.
    fn joined<'b>(&'b self, first: &Entry<R>, part: Part) -> Value<'b> {
        let entries = self.shape.entries.iter().filter(|entry| entry.name == first.name);
        let values: Vec<_> = entries.map(|entry| entry.value(self.record, self.lists)).collect();
        if values.iter().all(|value| *value == Value::Null) {
            return Value::Null;
        }
        let texts: Vec<_> = values.iter().map(|value| value.to_plain_text().unwrap_or_default()).collect();
        Value::Text(Cow::Owned(texts.join(part.separator)))
    }

    /// Writes one value as JSON, nested records in the shapes of the version.
    ///
    /// # Errors
    ///
    /// When an imported document is not JSON.
    pub fn write_value(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        match value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Text(text) => json::string(out, text),
            Value::Integer(number) => json::integer(out, *number),
            Value::Boolean(flag) => json::boolean(out, *flag),
            Value::Date(date) => json::date(out, *date),
            Value::Timestamp(timestamp) => json::timestamp(out, *timestamp),
            Value::Uuid(uuid) => json::string(out, uuid.hyphenated().encode_lower(&mut [0; UUID_LENGTH])),
            Value::TextList(texts) => write_each(texts, out, |text, out| {
                json::string(out, text);
                Ok(())
            })?,
            Value::Codes(codes) => {
                out.push(b'{');
                for (at, (name, code)) in codes.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    json::string(out, name);
                    out.push(b':');
                    json::string(out, code);
                }
                out.push(b'}');
            }
            Value::Document(text) => {
                let document: &RawValue = serde_json::from_str(text)?;
                out.extend_from_slice(document.get().as_bytes());
            }
        }
        Ok(())
    }
}

impl View<'_, Trainee> {
    fn nested(
        &self,
        list: TraineeField,
        nested: &NestedOf<'_, Trainee>,
        out: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        for_nested_list!(list, write_nested_list(self, nested, out)).unwrap_or(Ok(()))
    }
}

fn write_nested_list<R: WireNested>(
    trainee: &View<'_, Trainee>,
    nested: &NestedOf<'_, Trainee>,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let View { version, lists, .. } = *trainee;
    let shape = &R::shapes(version).in_trainee;
    write_each(R::in_nested(nested).iter().copied(), out, |record, out| {
        View { version, shape, record, lists, write_nested: None, only: None }.write(out)
    })
}

/// A group of fields that is being written.
#[derive(Clone, Copy)]
struct OpenGroup {
    group: Group,
    /// Where its object begins.
    start: usize,
    has_value: bool,
}

impl OpenGroup {
    /// Ends the object; it is null where none of its fields has a value.
    fn close(self, out: &mut Vec<u8>) {
        if self.has_value {
            out.push(b'}');
        } else {
            out.truncate(self.start);
            out.extend_from_slice(b"null");
        }
    }
}

/// Writes a key of the object that begins at `start`.
fn push_key(out: &mut Vec<u8>, start: usize, key: &str) {
    out.push(if out.len() == start { b'{' } else { b',' });
    out.extend_from_slice(key.as_bytes());
}

/// Writes records as a JSON array to the end of a buffer.
///
/// # Errors
///
/// As [`View::write`].
pub fn write_list<'a, R: Record>(
    views: impl IntoIterator<Item = View<'a, R>>,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    write_each(views, out, |view, out| view.write(out))
}

fn write_each<T>(
    values: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    write: impl Fn(T, &mut Vec<u8>) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    out.push(b'[');
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(value, out)?;
    }
    out.push(b']');
    Ok(())
}

/// For records that are part of another document; it is the same JSON, parsed again.
impl<R: Record> Serialize for View<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = Vec::new();
        self.write(&mut out).map_err(S::Error::custom)?;
        serde_json::from_slice::<&RawValue>(&out).map_err(S::Error::custom)?.serialize(serializer)
    }
}
