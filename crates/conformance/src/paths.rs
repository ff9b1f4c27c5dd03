//! Access to the values of a record by path, such as `withdrawal.date`.

use serde_json::{Map, Value};

/// Returns the value at a path. If a group is null, each of its fields is null.
#[must_use]
pub fn get<'a>(record: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => record.get(path),
        Some((group, name)) => {
            let group = record.get(group)?;
            if group.is_null() {
                Some(group)
            } else {
                group.get(name)
            }
        }
    }
}

/// Returns a mutable reference to the value at a path.
pub fn get_mut<'a>(record: &'a mut Map<String, Value>, path: &str) -> Option<&'a mut Value> {
    match path.split_once('.') {
        None => record.get_mut(path),
        Some((group, name)) => record.get_mut(group)?.get_mut(name),
    }
}

/// Sets the value at a path. Creates the group if it is missing.
pub fn put(record: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((group, name)) = path.split_once('.') else {
        record.insert(path.to_owned(), value);
        return;
    };
    let group = record
        .entry(group)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(members) = group {
        members.insert(name.to_owned(), value);
    } else {
        *group = Value::Object(Map::from_iter([(name.to_owned(), value)]));
    }
}

/// Removes and returns the value at a path.
pub fn remove(record: &mut Map<String, Value>, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => record.shift_remove(path),
        Some((group, name)) => record.get_mut(group)?.as_object_mut()?.shift_remove(name),
    }
}

/// Returns the values of a record, keyed by path.
#[must_use]
pub fn flattened(record: &Map<String, Value>) -> Map<String, Value> {
    let mut flat = Map::new();
    for (key, value) in record {
        match value {
            Value::Object(members) => {
                flat.extend(
                    members
                        .iter()
                        .map(|(name, value)| (format!("{key}.{name}"), value.clone())),
                );
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                flat.insert(key.clone(), value.clone());
            }
        }
    }
    flat
}
