//! Values in the form of a version, and back: words and codes, groups of fields, joined texts.

use adapter_kit::form;
use adapter_kit::shape::{JsonType, Shape};
use adapter_kit::wire_form::{code_of, word_of};
use adapter_kit::{ApiVersion, WireRecord};
use conformance::paths;
use domain::{Kind, Record, RecordField as _};
use serde_json::{Map, Value};

/// A value of a field as a request of the version has it; what no request of any version has stays
/// as it is.
pub(crate) fn written<R: WireRecord>(version: &ApiVersion, field: R::Field, value: Value) -> Value {
    let input = R::inputs(version).find_by_field(field);
    if let Some(form) = input.and_then(|input| input.form) {
        return match from_json(field.info().kind, &value) {
            Some(canonical) => form.write(&canonical, &field.info().into()),
            None => value,
        };
    }
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

/// Puts a value of a field into a request of the version: into each member of a split value.
pub(crate) fn put<R: WireRecord>(
    version: &ApiVersion,
    record: &mut Map<String, Value>,
    field: R::Field,
    value: Value,
) {
    let inputs: Vec<_> = R::inputs(version).all_of_field(field).collect();
    assert!(!inputs.is_empty(), "{} cannot set {field:?}", version.label);
    for input in inputs {
        let canonical = from_json(field.info().kind, &value).filter(|_| input.form.is_some());
        let written = match (input.form, canonical) {
            (Some(form), Some(canonical)) => form.write(&canonical, &field.info().into()),
            _ => written::<R>(version, field, value.clone()),
        };
        paths::put(record, input.name, written);
    }
}

/// A canonical value from its JSON; `None` for values of another type.
fn from_json(kind: Kind, value: &Value) -> Option<domain::Value<'static>> {
    Some(match (kind, value) {
        (_, Value::Null) => domain::Value::Null,
        (Kind::Date, Value::String(text)) => domain::Value::Date(text.parse().ok()?),
        (Kind::Year | Kind::Integer, Value::String(text)) => {
            domain::Value::Integer(text.parse().ok()?)
        }
        (Kind::Text, Value::String(text)) => domain::Value::Text(text.clone().into()),
        (Kind::Text, Value::Number(number)) => domain::Value::Text(number.to_string().into()),
        (Kind::Year | Kind::Integer, Value::Number(number)) => {
            domain::Value::Integer(number.as_i64()?)
        }
        (Kind::Boolean, Value::Bool(flag)) => domain::Value::Boolean(*flag),
        (Kind::TextList, Value::Array(items)) => {
            let texts = items
                .iter()
                .map(|item| Some(item.as_str()?.to_owned().into()));
            domain::Value::TextList(texts.collect::<Option<_>>()?)
        }
        _ => return None,
    })
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
    if let Some(form) = entry.form {
        let form_field = entry.form_field();
        let mut members = shape.entries.iter();
        let written: Vec<Value> = (0..form.form.members())
            .filter_map(|member| {
                let entry = members.find(|entry| {
                    entry.field() == Some(field)
                        && entry.form.is_some_and(|form| form.member == member)
                })?;
                paths::get(record.as_object()?, entry.name).cloned()
            })
            .collect();
        let written = match &written[..] {
            [one] => one.clone(),
            _ => Value::Array(written),
        };
        let canonical = form::read(form.form, &written, &form_field);
        return Some(canonical.map_or(written, |canonical| form::plain(&canonical)));
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
