//! Writes a record as JSON, in the shape of a version, in one pass into a buffer.

use std::borrow::Cow;

use domain::records::record::{NestedLists, StoredJson};
use domain::{
    FieldSet, Lists, Record, RecordField as _, Stored, Trainee, TraineeField, Value,
    for_nested_list,
};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::shape::{Entry, Part, Shape, Source, joined};
use crate::version::{ApiVersion, NestedVisibility};
use crate::wire::WireNested;
use crate::wire_form::{Words, word_for};

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
type WriteNested<'a, R> = fn(
    &View<'a, R>,
    <R as Record>::Field,
    &NestedOf<'_, R>,
    &mut Vec<u8>,
) -> Result<(), serde_json::Error>;

impl<'a, R: WireNested> View<'a, R> {
    /// The nested record as its endpoints show it.
    #[must_use]
    pub fn new(version: &'a ApiVersion, record: &'a dyn Stored<R>, lists: &'a Lists) -> Self {
        Self {
            version,
            shape: &R::shapes(version).alone,
            record,
            lists,
            write_nested: None,
            only: None,
        }
    }
}

impl<'a> View<'a, Trainee> {
    /// The trainee with all nested records.
    #[must_use]
    pub fn trainee(
        version: &'a ApiVersion,
        record: &'a dyn Stored<Trainee>,
        lists: &'a Lists,
    ) -> Self {
        Self {
            version,
            shape: &version.shapes.trainee,
            record,
            lists,
            write_nested: Some(Self::nested),
            only: None,
        }
    }

    /// The trainee in a list: with all nested records where the version's shape says so, otherwise
    /// with those that the client wants included.
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
            NestedVisibility::Hidden if included.is_empty() => Self {
                write_nested: None,
                ..trainee
            },
            NestedVisibility::Hidden => Self {
                only: Some(included),
                ..trainee
            },
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
        let start = out.len();
        let mut nested = None;
        if self.shape.has_groups {
            self.write_groups(start, &mut nested, out)?;
        } else {
            self.write_fields(self.shape.entries, start, &mut nested, out)?;
        }
        if out.len() == start {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes all fields, those of a group in an object, which is null where none of them has a
    /// value.
    fn write_groups<'a>(
        &'a self,
        start: usize,
        nested: &mut Option<NestedOf<'a, R>>,
        out: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        for fields in self
            .shape
            .entries
            .chunk_by(|one, next| one.group == next.group)
        {
            let Some(group) = fields.first().and_then(|entry| entry.group) else {
                self.write_fields(fields, start, nested, out)?;
                continue;
            };
            push_key(out, start, group.key);
            let group_start = out.len();
            if self.write_fields(fields, group_start, nested, out)? {
                out.push(b'}');
            } else {
                out.truncate(group_start);
                out.extend_from_slice(b"null");
            }
        }
        Ok(())
    }

    /// Writes fields of the object that begins at `start`, and returns whether any of them has a
    /// value.
    fn write_fields<'a>(
        &'a self,
        fields: &[Entry<R>],
        start: usize,
        nested: &mut Option<NestedOf<'a, R>>,
        out: &mut Vec<u8>,
    ) -> Result<bool, serde_json::Error> {
        let mut has_value = false;
        for entry in fields {
            match self.stored_json(entry) {
                StoredJson::Text(json) => {
                    push_key(out, start, entry.key);
                    out.extend_from_slice(json.as_bytes());
                    has_value |= json != "[]";
                }
                StoredJson::Null if entry.when_set => {}
                StoredJson::Null => {
                    push_key(out, start, entry.key);
                    out.extend_from_slice(b"null");
                }
                StoredJson::Unavailable => match entry.nested_list() {
                    Some(list) => self.write_records(entry.key, list, start, nested, out)?,
                    None if entry.is_first_part() => {
                        has_value |= self.write_shown(entry, start, out)?
                    }
                    None => {}
                },
            }
        }
        Ok(has_value)
    }

    /// The JSON of a field, where it is stored as the version writes it.
    #[inline]
    fn stored_json(&self, entry: &Entry<R>) -> StoredJson<'_> {
        match &entry.source {
            Source::Field(field)
                if field.is_shown_as_stored()
                    && entry.part.is_none()
                    && self.words(entry).is_none() =>
            {
                self.record.json(*field)
            }
            Source::Field(_) | Source::Own(_) => StoredJson::Unavailable,
        }
    }

    /// Writes a list of nested records, if this view shows it.
    fn write_records<'a>(
        &'a self,
        key: &str,
        list: R::Field,
        start: usize,
        nested: &mut Option<NestedOf<'a, R>>,
        out: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        let Some(write_nested) = self.write_nested else {
            return Ok(());
        };
        if self.only.is_some_and(|only| !only.contains(list)) {
            return Ok(());
        }
        push_key(out, start, key);
        write_nested(
            self,
            list,
            nested.get_or_insert_with(|| self.record.nested()),
            out,
        )
    }

    /// Writes a field whose value is computed, and returns whether it has one.
    fn write_shown(
        &self,
        entry: &Entry<R>,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, serde_json::Error> {
        let value = self.value(entry);
        if value != Value::Null || !entry.when_set {
            push_key(out, start, entry.key);
            self.write_value(&value, out)?;
        }
        Ok(!value.is_absent())
    }

    /// The words for the codes of a field.
    fn words(&self, entry: &Entry<R>) -> Option<Words> {
        let wire = &self.version.wire;
        if wire.words.is_empty() {
            None
        } else {
            wire.words_of(entry.field()?.info().codes)
        }
    }

    /// The value of a field as the version writes it.
    fn value<'b>(&'b self, entry: &Entry<R>) -> Value<'b> {
        if let Some(part) = entry.part {
            return self.joined(entry, part);
        }
        match (entry.value(self.record, self.lists), self.words(entry)) {
            (Value::Text(code), Some(words)) => {
                Value::Text(word_for(words, &code).map_or(code, Cow::Borrowed))
            }
            (value, _) => value,
        }
    }

    /// The text that joins fields; null where none of them has a value.
    fn joined<'b>(&'b self, first: &Entry<R>, part: Part) -> Value<'b> {
        let entries = self
            .shape
            .entries
            .iter()
            .filter(|entry| entry.name == first.name);
        let values: Vec<_> = entries
            .map(|entry| entry.value(self.record, self.lists))
            .collect();
        joined(&values, part.separator).map_or(Value::Null, |text| Value::Text(Cow::Owned(text)))
    }

    /// Writes one value as JSON, nested records in the shapes of the version.
    ///
    /// # Errors
    ///
    /// When an imported document is not JSON.
    pub fn write_value(
        &self,
        value: &Value<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        match value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Text(text) => json::string(out, text),
            Value::Integer(number) => json::integer(out, *number),
            Value::Boolean(flag) => json::boolean(out, *flag),
            Value::Date(date) => json::date(out, *date),
            Value::Timestamp(timestamp) => json::timestamp(out, *timestamp),
            Value::Uuid(uuid) => {
                json::string(out, uuid.hyphenated().encode_lower(&mut [0; UUID_LENGTH]))
            }
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
        View {
            version,
            shape,
            record,
            lists,
            write_nested: None,
            only: None,
        }
        .write(out)
    })
}

/// Writes a key with its comma into the object that begins at `start`. Before the first key, the
/// brace of the object takes the place of the comma.
#[inline]
fn push_key(out: &mut Vec<u8>, start: usize, key: &str) {
    out.extend_from_slice(key.as_bytes());
    if let Some(first) = out.get_mut(start) {
        *first = b'{';
    }
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
        serde_json::from_slice::<&RawValue>(&out)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}
