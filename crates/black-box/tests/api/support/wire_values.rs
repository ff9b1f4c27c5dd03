//! Values in the form of a version, and back: words and codes, groups of fields, joined texts.

use adapter_kit::shape::{JsonType, Shape};
use adapter_kit::wire_form::{code_of, word_of};
use adapter_kit::{ApiVersion, WireRecord};
use conformance::paths;
use domain::{Kind, Record, RecordField as _};
use serde_json::Value;

/// A value of a field as a request of the version has it; what no request of any version has stays
/// as it is.
pub(crate) fn written<R: WireRecord>(version: &ApiVersion, field: R::Field, value: Value) -> Value {
    let accepts = R::inputs(version)
        .find_by_field(field)
        .and_then(|input| input.accepts);
    match (&value, version.wire.words_of(field.info().codes), accepts) {
        (Value::String(code), Some(words), _) => Value::from(word_of(words, code)),
        (Value::String(text), None, Some(JsonType::Integer)) => {
            text.parse::<i64>().map_or(value, Value::from)
        }
        (Value::Number(number), None, Some(JsonType::Text)) => Value::from(number.to_string()),
        _ => value,
    }
}

/// The canonical value of a field in a record that the version shows; `None` where the record does
/// not have it.
pub(crate) fn canonical<R: Record>(
    version: &ApiVersion,
    shape: &Shape<R>,
    field: R::Field,
    record: &Value,
) -> Option<Value> {
    let entry = shape
        .entries
        .iter()
        .find(|entry| entry.field() == Some(field))?;
    let value = paths::get(record.as_object()?, entry.name)?;
    if let (Some(part), Value::String(text)) = (entry.part, value) {
        let text = text.split(part.separator).nth(part.index).unwrap();
        return Some(
            text.parse::<i64>()
                .map_or_else(|_| Value::from(text), Value::from),
        );
    }
    // A list in a group that is null is empty.
    if entry.group.is_some() && entry.kind() == Kind::TextList && value.is_null() {
        return Some(Value::Array(Vec::new()));
    }
    match (value, version.wire.words_of(field.info().codes)) {
        (Value::String(word), Some(words)) => {
            Some(Value::from(code_of(words, word).unwrap_or(word)))
        }
        _ => Some(value.clone()),
    }
}
