//! Writes what changed as the JSON of an entry: `{field: [before, after]}`.
//!
//! A field of a placement or a degree stands behind its list and its identifier, as in `placements.<placement_id>.urn`.

use std::borrow::Cow;

use chrono::SecondsFormat;
use domain::{Degree, Placement, Record, RecordField as _, Trainee, Value, history};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// What one request changes in a trainee and its nested records.
#[derive(Debug, Default)]
pub(crate) struct Changed<'a> {
    fields: Vec<(Cow<'static, str>, Value<'a>, Value<'a>)>,
}

impl<'a> Changed<'a> {
    /// The same, with the changes of the trainee itself.
    pub(crate) fn trainee(mut self, before: &'a Trainee, after: &'a Trainee) -> Self {
        let changes = history::changes(before, after);
        self.fields.extend(changes.map(|change| (change.field.info().name.into(), change.before, change.after)));
        self
    }

    /// The same, with the changes of a placement; one that is not there, before or after, is an empty one.
    pub(crate) fn placement(self, before: &'a Placement, after: &'a Placement) -> Self {
        let id = after.placement_id.as_deref().or(before.placement_id.as_deref());
        self.nested(super::PLACEMENTS, id, before, after)
    }

    /// The same, with the changes of a degree; one that is not there, before or after, is an empty one.
    pub(crate) fn degree(self, before: &'a Degree, after: &'a Degree) -> Self {
        let id = after.degree_id.as_deref().or(before.degree_id.as_deref());
        self.nested(super::DEGREES, id, before, after)
    }

    fn nested<R: Record>(mut self, list: &str, id: Option<&str>, before: &'a R, after: &'a R) -> Self {
        let id = id.unwrap_or_default();
        self.fields.extend(history::changes(before, after).map(|change| {
            let path = format!("{list}.{id}.{}", change.field.info().name);
            (path.into(), change.before, change.after)
        }));
        self
    }

    /// The JSON of the entry; nothing when nothing changed.
    pub(super) fn to_json(&self) -> Option<String> {
        // It consists of texts, numbers and flags, which are always JSON.
        if self.fields.is_empty() { None } else { serde_json::to_string(self).ok() }
    }
}

impl Serialize for Changed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (path, before, after) in &self.fields {
            map.serialize_entry(path, &[Json(before), Json(after)])?;
        }
        map.end()
    }
}

/// A value as it stands in an entry.
struct Json<'a>(&'a Value<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            // Nested records have entries of their own, and no field that is held has codes.
            Value::Null | Value::Codes(_) | Value::Placements(_) | Value::Degrees(_) => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Date(day) => serializer.collect_str(day),
            Value::Moment(moment) => serializer.serialize_str(&moment.to_rfc3339_opts(SecondsFormat::Millis, true)),
            Value::Uuid(uuid) => serializer.collect_str(uuid),
            Value::Texts(texts) => texts.serialize(serializer),
            Value::Document(text) => serializer.serialize_str(text),
        }
    }
}
