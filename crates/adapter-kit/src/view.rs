//! Writes a record as JSON in the shape of a version. Writes to a buffer in one pass.

use std::borrow::Cow;

use domain::records::record::{NestedLists, StoredJson};
use domain::{
    FieldSet, Lists, Record, RecordField as _, Stored, Trainee, TraineeField, Value,
    for_nested_list,
};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::form::{self, MemberForm};
use crate::shape::{Entry, Part, Shape, Source, joined};
use crate::version::{ApiVersion, NestedVisibility};
use crate::wire::{WireNested, WireRecord};
use crate::wire_form::{Words, word_for};

mod json;

/// The length of a UUID with hyphens, in characters.
const UUID_LENGTH: usize = 36;

/// A record in the shape of a version.
#[derive(Debug)]
pub struct View<'a, R: Record> {
    version: &'a ApiVersion,
    shape: &'a Shape<R>,
    record: &'a dyn Stored<R>,
    lists: &'a Lists,
    /// Writes a nested list; `None` to omit all nested lists.
    write_nested: Option<WriteNested<'a, R>>,
    /// The nested lists to show; `None` to show all lists.
    only: Option<FieldSet<R::Field>>,
}

/// The nested records of a record, read from its storage.
type StoredNested<'a, R> = <<R as Record>::Nested as NestedLists>::Stored<'a>;

/// A function that writes a nested list of a record.
type WriteNested<'a, R> = fn(
    &View<'a, R>,
    <R as Record>::Field,
    &StoredNested<'_, R>,
    &mut Vec<u8>,
) -> Result<(), serde_json::Error>;

impl<'a, R: WireNested> View<'a, R> {
    /// Returns a nested record as shown by its endpoints.
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
    /// Returns a trainee with all nested records.
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

    /// Returns a trainee in a list. If the version hides nested records in lists, shows only the
    /// lists in `included`.
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
    /// Appends the record as JSON to a buffer.
    ///
    /// # Errors
    ///
    /// Fails if an imported document is not JSON. The buffer then ends within the record.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let start = out.len();
        let mut nested = None;
        if self.shape.has_groups {
            self.write_groups(start, &mut nested, out)?;
        } else {
            self.write_fields(self.shape.entries, start, &mut nested, out)?;
        }
        // The first key writes the opening brace; a record without keys lacks it.
        if out.len() == start {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }

    /// Writes all fields. Writes each group as an object, or as null if no field of the group has a
    /// value.
    fn write_groups<'a>(
        &'a self,
        start: usize,
        nested: &mut Option<StoredNested<'a, R>>,
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
        nested: &mut Option<StoredNested<'a, R>>,
        out: &mut Vec<u8>,
    ) -> Result<bool, serde_json::Error> {
        let mut has_value = false;
        for entry in fields {
            match self.stored_json(entry) {
                StoredJson::Text(json) => {
                    push_key(out, start, entry.key);
                    out.extend_from_slice(json.as_bytes());
                    // An empty list is not a value.
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
                        has_value |= self.write_shown(entry, start, out)?;
                    }
                    None => {}
                },
            }
        }
        Ok(has_value)
    }

    /// Returns the stored JSON of a field if the version writes exactly that JSON.
    #[inline]
    fn stored_json(&self, entry: &Entry<R>) -> StoredJson<'_> {
        match &entry.source {
            Source::Field(field)
                if field.is_shown_as_stored() && entry.is_plain && self.words(entry).is_none() =>
            {
                self.record.json(*field)
            }
            Source::Field(_) | Source::Own(_) => StoredJson::Unavailable,
        }
    }

    /// Writes a list of nested records if this view shows the list.
    fn write_records<'a>(
        &'a self,
        key: &str,
        list: R::Field,
        start: usize,
        nested: &mut Option<StoredNested<'a, R>>,
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

    /// Writes a field with a computed value, and returns whether it has a value.
    fn write_shown(
        &self,
        entry: &Entry<R>,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, serde_json::Error> {
        if let Some(form) = entry.form {
            return self.write_formed(entry, form, start, out);
        }
        let value = self.value(entry);
        if value != Value::Null || !entry.when_set {
            push_key(out, start, entry.key);
            self.write_value(&value, out)?;
        }
        Ok(!value.is_absent())
    }

    /// Like `write_shown`, for a field in another form.
    fn write_formed(
        &self,
        entry: &Entry<R>,
        form: MemberForm,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, serde_json::Error> {
        let value = entry.value(self.record, self.lists);
        if value != Value::Null || !entry.when_set {
            push_key(out, start, entry.key);
            serde_json::to_writer(&mut *out, &form.write(&value, &entry.form_field()))?;
        }
        Ok(!value.is_absent())
    }

    /// Returns the words for the codes of a field, or `None` if the version writes the codes.
    fn words(&self, entry: &Entry<R>) -> Option<Words> {
        let wire = &self.version.wire;
        if wire.words.is_empty() {
            None
        } else {
            wire.words_of(entry.field()?.info().codes)
        }
    }

    /// Returns the value of a field as the version writes it.
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

    /// Returns the joined text of several fields, or null if no field has a value.
    fn joined<'b>(&'b self, first: &Entry<R>, part: Part) -> Value<'b> {
        let values: Vec<_> = self
            .shape
            .entries
            .iter()
            .filter(|entry| entry.name == first.name)
            .map(|entry| entry.value(self.record, self.lists))
            .collect();
        joined(&values, part.separator).map_or(Value::Null, |text| Value::Text(Cow::Owned(text)))
    }

    /// Appends one value as JSON to a buffer.
    ///
    /// # Errors
    ///
    /// Fails if an imported document is not JSON.
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
                json::string(out, uuid.hyphenated().encode_lower(&mut [0; UUID_LENGTH]));
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
    /// Writes a nested list of the trainee as a JSON array.
    fn nested(
        &self,
        list: TraineeField,
        nested: &StoredNested<'_, Trainee>,
        out: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        for_nested_list!(list, write_nested_list(self, nested, out)).unwrap_or(Ok(()))
    }
}

/// Writes the nested records of one kind as a JSON array.
fn write_nested_list<R: WireNested>(
    trainee: &View<'_, Trainee>,
    nested: &StoredNested<'_, Trainee>,
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

/// Returns a canonical value as a reply of the version shows it in a field. For a part of a joined
/// text, returns the part.
#[must_use]
pub fn written<R: Record>(
    version: &ApiVersion,
    entry: &Entry<R>,
    value: &Value<'_>,
) -> serde_json::Value {
    if let Some(form) = entry.form {
        return form.write(value, &entry.form_field());
    }
    let codes = entry.field().and_then(|field| field.info().codes);
    match value.as_text() {
        Some(code) => version.wire.written_in(codes, code).into(),
        None => form::plain(value),
    }
}

/// Appends a record to a buffer as the endpoints of its kind show it. Appends null for a record that
/// only requests have.
///
/// # Errors
///
/// Like [`View::write`].
pub fn write_record<R: WireRecord>(
    version: &ApiVersion,
    record: &dyn Stored<R>,
    lists: &Lists,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    if let Some(trainee) = R::as_trainee(record) {
        return View::trainee(version, trainee, lists).write(out);
    }
    let Some(shape) = R::shape(version) else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    View {
        version,
        shape,
        record,
        lists,
        write_nested: None,
        only: None,
    }
    .write(out)
}

/// Appends a key with a leading comma to the object that begins at `start`. Replaces the comma of
/// the first key by the opening brace of the object.
#[inline]
fn push_key(out: &mut Vec<u8>, start: usize, key: &str) {
    out.extend_from_slice(key.as_bytes());
    if let Some(first) = out.get_mut(start) {
        *first = b'{';
    }
}

/// Appends records as a JSON array to a buffer.
///
/// # Errors
///
/// Fails if an imported document is not JSON.
pub fn write_list<'a, R: Record>(
    views: impl IntoIterator<Item = View<'a, R>>,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    write_each(views, out, |view, out| view.write(out))
}

/// Writes a JSON array. `write` writes one value.
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

/// Serializes a record as a part of another document. Slower than [`View::write`]: checks the JSON
/// again.
impl<R: Record> Serialize for View<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = Vec::new();
        self.write(&mut out).map_err(S::Error::custom)?;
        serde_json::from_slice::<&RawValue>(&out)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}
