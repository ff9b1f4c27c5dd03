//! Writes a record as JSON, in the shape of a version, in one pass into a buffer.

use domain::records::record::{NestedLists, StoredJson};
use domain::{
    Degree, FieldSet, Kind, Lists, Placement, Record, RecordField as _, Stored, Trainee, TraineeField, Value,
};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::shape::{Shape, Source};
use crate::version::{ApiVersion, NestedVisibility};

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

impl<'a> View<'a, Placement> {
    /// The placement as an endpoint of its own shows it.
    #[must_use]
    pub fn placement(version: &'a ApiVersion, record: &'a dyn Stored<Placement>, lists: &'a Lists) -> Self {
        Self { version, shape: &version.shapes.placement, record, lists, write_nested: None, only: None }
    }
}

impl<'a> View<'a, Degree> {
    /// The degree.
    #[must_use]
    pub fn degree(version: &'a ApiVersion, record: &'a dyn Stored<Degree>, lists: &'a Lists) -> Self {
        Self { version, shape: &version.shapes.degree, record, lists, write_nested: None, only: None }
    }
}

impl<'a> View<'a, Trainee> {
    /// The trainee with placements and degrees.
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
        let start = out.len();
        let mut nested = None;
        for entry in self.shape.entries {
            let key = |out: &mut Vec<u8>| {
                out.push(if out.len() == start { b'{' } else { b',' });
                out.extend_from_slice(entry.key.as_bytes());
            };
            if let (Kind::Records, Source::Field(field)) = (entry.kind(), &entry.source) {
                let is_shown = self.only.is_none_or(|only| only.contains(*field));
                if let Some(write_nested) = self.write_nested.filter(|_| is_shown) {
                    key(out);
                    write_nested(self, *field, nested.get_or_insert_with(|| self.record.nested()), out)?;
                }
                continue;
            }
            let stored_json = match &entry.source {
                Source::Field(field) if field.is_shown_as_stored() => self.record.json(*field),
                Source::Field(_) | Source::Own(_) => StoredJson::Unavailable,
            };
            let value = match (stored_json, &entry.source) {
                (StoredJson::Text(json), _) => {
                    key(out);
                    out.extend_from_slice(json.as_bytes());
                    continue;
                }
                (StoredJson::Null, _) => {
                    if !entry.when_set {
                        key(out);
                        out.extend_from_slice(b"null");
                    }
                    continue;
                }
                (StoredJson::Unavailable, Source::Field(field)) => R::shown(self.record, *field, self.lists),
                (StoredJson::Unavailable, Source::Own(own)) => (own.value)(self.record, self.lists),
            };
            if entry.when_set && value == Value::Null {
                continue;
            }
            key(out);
            self.write_value(&value, out)?;
        }
        if out.len() == start {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
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
        let Self { version, lists, .. } = *self;
        if list == TraineeField::placements {
            let shape = &version.shapes.placement_nested;
            write_each(nested.placements.iter().copied(), out, |record, out| {
                View { version, shape, record, lists, write_nested: None, only: None }.write(out)
            })
        } else {
            write_each(nested.degrees.iter().copied(), out, |record, out| {
                View::degree(version, record, lists).write(out)
            })
        }
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
        serde_json::from_slice::<&RawValue>(&out).map_err(S::Error::custom)?.serialize(serializer)
    }
}
