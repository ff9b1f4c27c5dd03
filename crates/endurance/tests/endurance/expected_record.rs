//! What a record must look like after a write, as far as a client can know it beforehand.

use serde_json::Value;

/// Stands where the service draws an identifier or writes down a moment.
const DRAWN: &str = "<drawn by the service>";

/// The keys whose values the service draws.
const IDENTIFIERS: [&str; 3] = ["trainee_id", "placement_id", "degree_id"];

/// Removes the values that the service generates for each record.
pub(crate) fn drawn_anew(record: &Value) -> Value {
    match record {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let is_drawn = IDENTIFIERS.contains(&key.as_str()) || key.ends_with("_at");
                (
                    key.clone(),
                    if is_drawn && !value.is_null() {
                        DRAWN.into()
                    } else {
                        drawn_anew(value)
                    },
                )
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(drawn_anew).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => record.clone(),
    }
}

/// Says nothing of one value but that the service writes it.
pub(crate) fn leave_open(record: &mut Value, key: &str) {
    record[key] = DRAWN.into();
}

/// Whether a record is the predicted one: the same keys in the same order, the same values where
/// they are known.
pub(crate) fn is_as_predicted(record: &Value, predicted: &Value) -> bool {
    match (record, predicted) {
        (Value::String(_), Value::String(predicted)) if predicted == DRAWN => true,
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((name, value), (known, predicted))| {
                        name == known && is_as_predicted(value, predicted)
                    })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_as_predicted(one, other))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_drawn_values_may_differ_from_predictions() {
        let record = json!({ "trainee_id": "a", "trn": null, "placements": [{ "placement_id": "b", "name": "Elm" }] });
        let predicted = drawn_anew(&record);
        assert!(is_as_predicted(&record, &predicted));
        for (pointer, value) in [
            ("/trainee_id", Value::Null),
            ("/trn", "1".into()),
            ("/placements", json!([])),
            ("/placements/0/name", "Ash".into()),
        ] {
            let mut other = record.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            assert!(!is_as_predicted(&other, &predicted), "{pointer}");
        }
        let other_order =
            json!({ "trn": null, "trainee_id": "a", "placements": record["placements"] });
        assert!(!is_as_predicted(&other_order, &predicted));
    }
}
