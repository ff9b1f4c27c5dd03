//! Reads a JSON text as a tree of values, with the paths of repeated keys.

use serde::de::{DeserializeSeed as _, MapAccess, SeqAccess};
use serde_json::{Map, Number, Value};

use super::json::{At, Elements, Pairs, Scalar, Skip, Target};
use super::keys::Keys;
use super::{Malformed, long_integers, without_byte_order_mark};

/// A JSON text as a tree. If an object repeats a key, the tree has its first value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonTree {
    /// The tree.
    pub value: Value,
    /// The paths of repeated keys, such as `data.degrees_attributes[1].subject`. Each path occurs
    /// once.
    pub repeated_keys: Vec<String>,
}

/// A tree without repeated keys.
impl From<Value> for JsonTree {
    fn from(value: Value) -> Self {
        Self {
            value,
            repeated_keys: Vec::new(),
        }
    }
}

/// Parses a body as a JSON tree of up to [`MAX_DEPTH`](super::MAX_DEPTH) levels. In values of
/// objects, a whole number that does not fit into 64 bits becomes a string of its digits.
///
/// # Errors
///
/// [`Malformed`] if the body is not JSON or is nested too deeply.
pub fn parse_json(body: &[u8]) -> Result<JsonTree, Malformed> {
    let body = without_byte_order_mark(body);
    let tree = parse(body)?;
    // The body is parsed before long integers are rewritten, so that positions in errors refer to
    // the body as sent.
    match long_integers::as_text(body) {
        std::borrow::Cow::Owned(body) => parse(&body),
        std::borrow::Cow::Borrowed(_) => Ok(tree),
    }
}

fn parse(body: &[u8]) -> Result<JsonTree, Malformed> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let mut repeated_keys = Vec::new();
    let root = At {
        depth: 0,
        target: Node {
            path: &mut String::new(),
            repeated_keys: &mut repeated_keys,
        },
    };
    let value = root.deserialize(&mut deserializer).map_err(Malformed)?;
    deserializer.end().map_err(Malformed)?;
    Ok(JsonTree {
        value,
        repeated_keys,
    })
}

/// A value of the tree.
pub(super) struct Node<'a> {
    /// The path of the value. Each value restores the path when it is read.
    pub(super) path: &'a mut String,
    pub(super) repeated_keys: &'a mut Vec<String>,
}

impl Node<'_> {
    /// Returns a value within this value.
    fn inner(&mut self) -> Node<'_> {
        Node {
            path: self.path,
            repeated_keys: self.repeated_keys,
        }
    }

    /// Appends a key to the path.
    fn push_key(&mut self, key: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
    }
}

impl<'de> Target<'de> for Node<'_> {
    type Output = Value;

    fn scalar(self, value: Scalar<'de>) -> Value {
        match value {
            Scalar::Null | Scalar::Other => Value::Null,
            Scalar::Text(text) => Value::String(text.into_owned()),
            Scalar::Boolean(flag) => Value::Bool(flag),
            Scalar::Integer(number) => Number::from_i128(number).map_or(Value::Null, Value::Number),
        }
    }

    fn fraction(self, value: f64) -> Value {
        Value::from(value)
    }

    fn array<A: SeqAccess<'de>>(
        mut self,
        mut elements: Elements<'de, A>,
    ) -> Result<Value, A::Error> {
        let length = self.path.len();
        let mut values = Vec::new();
        loop {
            self.path.push_str(&format!("[{}]", values.len()));
            let next = elements.next(self.inner())?;
            self.path.truncate(length);
            match next {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn object<A: MapAccess<'de>>(mut self, mut pairs: Pairs<'de, A>) -> Result<Value, A::Error> {
        let length = self.path.len();
        let mut keys = Keys::default();
        let mut object = Map::new();
        while let Some(key) = pairs.key()? {
            if !keys.add_known(&key) {
                pairs.value(Skip)?;
                continue;
            }
            self.push_key(&key);
            let value = pairs.value(self.inner())?;
            self.path.truncate(length);
            object.insert(key.into_owned(), value);
        }
        for key in keys.into_repeated() {
            self.push_key(&key);
            self.repeated_keys.push(self.path.clone());
            self.path.truncate(length);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repeated_keys_have_paths_and_first_values() {
        for (body, value, repeated) in [
            (r#"{"a":1,"a":2,"a":3}"#, json!({"a": 1}), vec!["a"]),
            (r#"{"a":null,"a":2}"#, json!({"a": null}), vec!["a"]),
            (r#"{"a":1,"\u0061":2}"#, json!({"a": 1}), vec!["a"]),
            (
                r#"{"data":{"a":[1,{"b":1,"c":true,"b":2}]},"data":{}}"#,
                json!({"data": {"a": [1, {"b": 1, "c": true}]}}),
                vec!["data.a[1].b", "data"],
            ),
            (
                r#"[{"a":1.5,"a":2},{"a":{"b":1,"b":{"c":1,"c":2}}}]"#,
                json!([{"a": 1.5}, {"a": {"b": 1}}]),
                vec!["[0].a", "[1].a.b"],
            ),
            (
                r#"{"a":11111111111111111111111,"a":2}"#,
                json!({"a": "11111111111111111111111"}),
                vec!["a"],
            ),
            (
                "\u{feff}{\"a\":-1,\"b\":18446744073709551615}",
                json!({"a": -1, "b": u64::MAX}),
                vec![],
            ),
        ] {
            let tree = parse_json(body.as_bytes()).unwrap();
            assert_eq!(tree.value, value, "{body}");
            assert_eq!(tree.repeated_keys, repeated, "{body}");
        }
    }
}
