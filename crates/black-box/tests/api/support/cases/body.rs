//! Bodies of requests, from the changes of a line.

use adapter_kit::{ApiVersion, WireRecord};
use conformance::paths;
use domain::{Degree, Placement};
use serde_json::{Map, Value};

use super::line::{assignment, find_field, input_name, repeat};
use crate::api::support::wire_values;

/// Changes a body as a word of a case says.
pub(super) fn change<R: WireRecord>(
    version: &ApiVersion,
    data: &mut Map<String, Value>,
    word: &str,
) {
    if let Some(name) = word.strip_prefix('-') {
        let field = find_field::<R>(name).unwrap();
        for input in R::inputs(version).all_of_field(field) {
            paths::remove(data, input.name);
        }
        return;
    }
    if word.starts_with('{') {
        let record: Map<String, Value> = serde_json::from_str(&repeat(word)).unwrap();
        for (name, value) in record {
            set::<R>(version, data, &name, value);
        }
        return;
    }
    let (name, value) = assignment(word).unwrap_or_else(|| panic!("no change: {word}"));
    set::<R>(version, data, name, value);
}

/// Sets a field by its canonical name, or a key with a dot before it.
fn set<R: WireRecord>(
    version: &ApiVersion,
    data: &mut Map<String, Value>,
    name: &str,
    value: Value,
) {
    if let Some(key) = name.strip_prefix('.') {
        paths::put(data, key, value);
        return;
    }
    let Some(field) = find_field::<R>(name) else {
        panic!("no field {name}");
    };
    // What a version does not have is no part of its rules.
    if R::inputs(version).name_of(field).is_some() {
        let value = match (name, value) {
            ("placements", Value::Array(records)) => nested::<Placement>(version, records),
            ("degrees", Value::Array(records)) => nested::<Degree>(version, records),
            (_, value) => value,
        };
        wire_values::put::<R>(version, data, field, value);
    }
}

fn nested<R: WireRecord>(version: &ApiVersion, records: Vec<Value>) -> Value {
    let write = |record: Value| {
        let Value::Object(record) = record else {
            return record;
        };
        let mut data = Map::new();
        for (name, value) in record {
            if input_name::<R>(version, &name).is_some() {
                set::<R>(version, &mut data, &name, value);
            } else {
                data.insert(name, value);
            }
        }
        Value::Object(data)
    };
    records.into_iter().map(write).collect()
}
