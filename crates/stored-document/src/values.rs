//! Values of fields as JSON, in documents and in the history.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, Utc};
use domain::records::record::Record;
use domain::values::iso_8601;
use domain::{Kind, RecordField as _, Value};
use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;

/// A value in its stored form. Nested records are stored separately.
pub struct StoredJson<'a>(pub &'a Value<'a>);

impl Serialize for StoredJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null | Value::Codes(_) => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Boolean(flag) => serializer.serialize_bool(*flag),
            Value::Date(day) => serializer.serialize_str(&iso_8601::date(*day)),
            Value::Timestamp(timestamp) => {
                serializer.serialize_str(&iso_8601::timestamp(*timestamp))
            }
            Value::Uuid(uuid) => serializer.collect_str(uuid),
            Value::TextList(texts) => texts.serialize(serializer),
            Value::Document(text) => serializer.serialize_str(text),
        }
    }
}

/// Returns a value in its stored form as a JSON tree.
pub fn to_json(value: &Value<'_>) -> Json {
    serde_json::to_value(StoredJson(value)).unwrap_or_default()
}

/// Sets the field with a name to a stored value. Returns `None`, without a change, if the record
/// has no such field or the value does not have the type of the field.
pub fn set<R: Record>(record: &mut R, name: &str, json: &Json) -> Option<()> {
    let field = *R::Field::ALL
        .iter()
        .find(|field| field.info().name == name)?;
    let value = match (field.info().kind, json) {
        (_, Json::Null) => Value::Null,
        (Kind::Text, Json::String(text)) => Value::Text(Cow::Borrowed(text)),
        (Kind::Document, Json::String(text)) => Value::Document(Cow::Borrowed(text)),
        (Kind::Integer | Kind::Year, Json::Number(number)) => Value::Integer(number.as_i64()?),
        (Kind::Boolean, Json::Bool(flag)) => Value::Boolean(*flag),
        (Kind::Date, Json::String(text)) => Value::Date(text.parse::<NaiveDate>().ok()?),
        (Kind::Timestamp, Json::String(text)) => {
            Value::Timestamp(text.parse::<DateTime<Utc>>().ok()?)
        }
        (Kind::TextList, Json::Array(items)) => Value::TextList(
            items
                .iter()
                .map(|item| item.as_str().map(Cow::Borrowed))
                .collect::<Option<_>>()?,
        ),
        _ => return None,
    };
    record.set_stored(field, value).then_some(())
}
