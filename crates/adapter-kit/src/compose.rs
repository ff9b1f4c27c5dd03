//! Writes a record as a request body in the field names of a version (the inverse of reading).

use std::borrow::Cow;

use domain::records::trainee::Borrowed;
use domain::{
    Kind, Lists, NestedRecords, Record, RecordField as _, Stored, Trainee, Value, for_nested_list,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::shape::{InputName, JsonType, group_of, joined};
use crate::version::ApiVersion;
use crate::wire::{WireNested, WireRecord};
use crate::wire_form::word_of;

/// A request that would create the record. Leaves out fields without a value and fields that
/// requests of this version cannot set.
#[derive(Debug)]
pub struct Request<'a, R: Record> {
    /// The version.
    pub version: &'a ApiVersion,
    /// The record.
    pub record: &'a dyn Stored<R>,
    /// The code lists.
    pub lists: &'a Lists,
}

/// The object `{"data": ...}`.
#[derive(Debug, serde::Serialize)]
pub struct Data<T> {
    /// The value of `data`.
    pub data: T,
}

/// An object with a value under one key, such as [`Envelope::request`](crate::Envelope::request).
#[derive(Debug)]
pub struct Keyed<T>(pub &'static str, pub T);

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}

impl<R: WireRecord> Request<'_, R> {
    /// Returns the body of the request as JSON.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be written as JSON. Records of the dictionary have only values that
    /// can.
    pub fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Keyed(self.version.wire.envelope.request, self))
    }
}

impl<R: WireRecord> Serialize for Request<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inputs = R::inputs(self.version);
        let mut object = serializer.serialize_map(None)?;
        let nested = R::as_trainee(self.record).map(domain::Stored::nested);
        let mut groups: Vec<&str> = Vec::new();
        for input in inputs.entries.iter().filter(|input| input.is_first_part()) {
            if let (Some(nested), Some(list)) = (&nested, Trainee::field_of(input.field.into()))
                && input.field.info().kind == Kind::Records
            {
                for_nested_list!(list, nested_entry<_>(self.version, self.lists, input.name, nested, &mut object))
                    .transpose()?;
                continue;
            }
            let Some(group) = group_of(input.name) else {
                if let Some(value) = self.value(input) {
                    object.serialize_entry(input.name, &value)?;
                }
                continue;
            };
            // The first input of a group writes the whole group.
            if groups.contains(&group) {
                continue;
            }
            groups.push(group);
            // Within the group, names lack the prefix with the name of the group and a dot.
            let members: Vec<(&str, JsonValue<'_>)> = inputs
                .in_group(group)
                .filter(|input| input.is_first_part())
                .filter_map(|input| Some((input.name.get(group.len() + 1..)?, self.value(input)?)))
                .collect();
            if !members.is_empty() {
                object.serialize_entry(group, &Members(members))?;
            }
        }
        object.end()
    }
}

/// A JSON value in a request.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum JsonValue<'a> {
    /// Sent where the record has no value, so that the version does not set its default.
    Null,
    Text(Cow<'a, str>),
    Integer(i64),
    Boolean(bool),
    Texts(Vec<Cow<'a, str>>),
    /// A value in the form of the version.
    Formed(serde_json::Value),
}

/// The fields of a group, by name within the group.
struct Members<'a>(Vec<(&'a str, JsonValue<'a>)>);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<R: WireRecord> Request<'_, R> {
    /// Returns the value of an input, or `None` if the record has none.
    fn value(&self, input: &InputName<R::Field>) -> Option<JsonValue<'_>> {
        if let Some(part) = input.part {
            let parts = R::inputs(self.version).parts(input).iter();
            let values: Vec<_> = parts
                .map(|part| R::shown(self.record, part.field, self.lists))
                .collect();
            return joined(&values, part.separator).map(|text| JsonValue::Text(Cow::Owned(text)));
        }
        let value = R::shown(self.record, input.field, self.lists);
        json_value::<R>(self.version, input, value)
    }
}

/// Returns a canonical value as a request of the version has it. Returns `None` if a request leaves
/// the field out. For a part of a joined text, returns the part.
#[must_use]
pub fn written<R: WireRecord>(
    version: &ApiVersion,
    input: &InputName<R::Field>,
    value: Value<'_>,
) -> Option<serde_json::Value> {
    serde_json::to_value(json_value::<R>(version, input, value)?).ok()
}

fn json_value<'a, R: WireRecord>(
    version: &ApiVersion,
    input: &InputName<R::Field>,
    value: Value<'a>,
) -> Option<JsonValue<'a>> {
    let info = input.field.info();
    if let Some(form) = input.form {
        let written = form.write(&value, &info.into());
        let is_sent = !value.is_absent() && !written.is_null() || input.default.is_some();
        return is_sent.then_some(JsonValue::Formed(written));
    }
    if let (Value::Text(code), Some(words)) = (&value, version.wire.words_of(info.codes)) {
        return Some(JsonValue::Text(Cow::Owned(word_of(words, code).to_owned())));
    }
    // Years are sent as text (contract, section 4.8) unless the version accepts only whole numbers.
    let is_integer = input.accepts.map_or(info.kind != Kind::Year, |accepted| {
        accepted == JsonType::Integer
    });
    Some(match value {
        Value::Integer(number) if is_integer => JsonValue::Integer(number),
        Value::Integer(number) => JsonValue::Text(Cow::Owned(number.to_string())),
        Value::Text(text) if input.accepts == Some(JsonType::Integer) => match text.parse() {
            Ok(number) => JsonValue::Integer(number),
            Err(_) => JsonValue::Text(text),
        },
        Value::Text(text) => JsonValue::Text(text),
        Value::Boolean(flag) => JsonValue::Boolean(flag),
        Value::TextList(texts) => JsonValue::Texts(texts),
        Value::Date(_) | Value::Timestamp(_) | Value::Uuid(_) => {
            JsonValue::Text(Cow::Owned(value.to_plain_text()?.into_owned()))
        }
        Value::Null if input.default.is_some() => JsonValue::Null,
        Value::Null | Value::Codes(_) | Value::Document(_) => return None,
    })
}

/// Writes a list of nested records as requests that would create them.
fn nested_entry<N: WireNested, M: SerializeMap>(
    version: &ApiVersion,
    lists: &Lists,
    name: &'static str,
    nested: &NestedRecords<Borrowed<'_>>,
    object: &mut M,
) -> Result<(), M::Error> {
    let records = N::in_nested(nested).iter();
    let requests: Vec<_> = records
        .map(|record| Request {
            version,
            record: *record,
            lists,
        })
        .collect();
    object.serialize_entry(name, &requests)
}
