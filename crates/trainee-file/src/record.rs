//! The values of a record as the cells of a file have them.

use serde_json::Value;

/// Returns the text of a value in a cell. Null, a missing value and an empty list are blank; a list
/// or an object is JSON.
#[must_use]
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns a value within an object; null if there is none.
#[must_use]
pub fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// Returns what a request sends for a cell: blank text clears a field.
#[must_use]
pub fn input(cell: &str) -> Value {
    if cell.is_empty() {
        Value::Null
    } else {
        Value::String(cell.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_as_they_are_read() {
        let cells = [
            json!(null),
            json!("01"),
            json!(2021),
            json!(false),
            json!([]),
            json!(["a"]),
        ]
        .map(|value| cell(&value));
        assert_eq!(cells, ["", "01", "2021", "false", "", "[\"a\"]"]);
    }
}
