//! Converts values of a record to the cells of a file, and back.

use serde_json::Value;

/// Returns the text of a value in a cell. Null and an empty list are blank. Other lists and objects
/// are written as JSON.
#[must_use]
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns the value of a key in an object; null if there is none.
#[must_use]
pub fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// Returns the value that a request sends for a cell. Null for a blank cell, which clears the
/// field.
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
