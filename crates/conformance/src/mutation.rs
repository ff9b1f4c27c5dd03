//! Mutations of a request: invalid values, missing keys and unknown keys.

use adapter_kit::versions::Served;
use adapter_kit::wire::WireRecord;
use serde_json::{Map, Value, json};

use crate::paths;

/// Returns values that are invalid in most fields.
fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(""),
        json!(" \t "),
        json!(0),
        json!(-7),
        json!(u64::MAX),
        json!(1.5),
        json!(true),
        json!([]),
        json!(["?"]),
        json!([1, null]),
        json!({}),
        json!({"inner": {"deeper": []}}),
        json!("?"),
        json!("x".repeat(600)),
        json!("ring the \u{7} bell"),
        json!("2026-02-30"),
        json!("1850-01-01"),
        json!("2399-12-31"),
        json!("999999"),
        json!("99999999"),
    ]
}

/// Returns the number of mutations of a request for a record.
pub(super) fn count<R: WireRecord>(served: &Served) -> usize {
    R::inputs(served.version).entries.len() * (values().len() + 1)
        + unrecognised_keys::<R>(served).len()
}

/// Applies the mutation with the number `way` to the request. The first numbers add unrecognised
/// keys. The next numbers set one input to one of the invalid values. The last numbers remove one
/// input.
pub(super) fn mutate<R: WireRecord>(served: &Served, object: &mut Map<String, Value>, way: usize) {
    let unrecognised_keys = unrecognised_keys::<R>(served);
    if let Some((key, value)) = unrecognised_keys.get(way) {
        paths::put(object, key, value.clone());
        return;
    }
    let inputs = R::inputs(served.version).entries;
    let way = way - unrecognised_keys.len();
    let Some(input) = inputs.get(way % inputs.len().max(1)) else {
        return;
    };
    match values().into_iter().nth(way / inputs.len().max(1)) {
        Some(value) => paths::put(object, input.name, value),
        None => drop(paths::remove(object, input.name)),
    }
}

/// Returns keys that the version does not have, each with a value.
fn unrecognised_keys<R: WireRecord>(served: &Served) -> Vec<(String, Value)> {
    let foreign = R::other_names(&served.other_names)
        .refused
        .iter()
        .map(|(name, _)| (*name).to_owned());
    let misspelt = R::inputs(served.version)
        .entries
        .iter()
        .map(|input| format!("{}s", input.name));
    let odd = ["", "no such name", "line\nbreak"].map(str::to_owned);
    let long = "k".repeat(300);
    foreign
        .chain(misspelt)
        .chain(odd)
        .chain([long])
        .map(|key| (key, json!("?")))
        .collect()
}
