//! Reads the body of a request: JSON to the changes that it asks for, in one pass.
//!
//! Everything that is wrong is collected; absent, null, blank and a value are distinguished. A name
//! of another version for an input is refused with the right name; fields of a response are
//! ignored, so that a record that was read can be sent back whole. Whether a value is allowed in a
//! field is the domain's decision.

use std::borrow::Cow;

use domain::{ParsedRecord, ProblemKind};
use serde::de::{DeserializeSeed as _, Error as _};
use serde_json::Value;

mod batch;
pub mod client_text;
mod json;
mod keys;
mod limits;
mod long_integers;
mod record;
mod values;

pub use batch::{
    BatchError, BatchForm, BatchItem, IDEMPOTENCY_KEY, is_idempotency_key, read_batch,
};
use json::At;
pub use keys::{UnknownNames, nearest};
pub use limits::{MAX_BATCH_ITEMS, MAX_DEPTH, MAX_KEY_CHARS, MAX_RECORDS, MAX_UNKNOWN};
pub use record::{NestedLists, ReadableRecord, Reader};

/// A body that is not JSON, or nested too deeply. The message says where, and nothing of the
/// content.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Malformed(serde_json::Error);

/// Byte order mark in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A JSON text without a byte order mark before it.
fn without_byte_order_mark(json: &[u8]) -> &[u8] {
    json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json)
}

/// Parses a body as a JSON tree. It can be nested as deeply as any body. A whole number that does
/// not fit into 64 bits becomes the text that a text field reads.
///
/// # Errors
///
/// [`Malformed`] when the body is not JSON, or nested too deeply.
pub fn parse_json(body: &[u8]) -> Result<Value, Malformed> {
    let body = without_byte_order_mark(body);
    let mut value: Value = serde_json::from_slice(body).map_err(Malformed)?;
    if let Cow::Owned(body) = long_integers::as_text(body) {
        value = serde_json::from_slice(&body).map_err(Malformed)?;
    }
    if depth(&value) > MAX_DEPTH {
        let error = format_args!("nested deeper than {MAX_DEPTH} levels");
        return Err(Malformed(serde_json::Error::custom(error)));
    }
    Ok(value)
}

/// The levels of arrays and objects; the parser has bounded them already.
fn depth(value: &Value) -> usize {
    let below = |inner: Option<usize>| 1 + inner.unwrap_or_default();
    match value {
        Value::Array(values) => below(values.iter().map(depth).max()),
        Value::Object(object) => below(object.values().map(depth).max()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

impl Reader<'_> {
    /// Reads `{"data": {...}}`. An empty body counts as one without `data`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the body is not JSON. Everything else that is wrong is in the result.
    pub fn read<R: ReadableRecord>(&self, body: &[u8]) -> Result<ParsedRecord<R>, Malformed> {
        let body = without_byte_order_mark(body);
        if body.is_empty() {
            return Ok(record::without_data());
        }
        let sent = self.read_json(body)?;
        // Only valid JSON is rewritten, so that the position in an error is that in the text as it
        // was sent.
        if let Cow::Owned(body) = long_integers::as_text(body) {
            self.read_json(&body)
        } else {
            Ok(sent)
        }
    }

    fn read_json<R: ReadableRecord>(&self, body: &[u8]) -> Result<ParsedRecord<R>, Malformed> {
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        let body = At {
            depth: 0,
            target: record::Body::new(*self),
        };
        let sent = body.deserialize(&mut deserializer).map_err(Malformed)?;
        deserializer.end().map_err(Malformed)?;
        Ok(sent)
    }
}

/// Whether there was no `data`; it is answered before anything else about the content.
#[must_use]
pub fn lacks_data<R: domain::Record>(sent: &ParsedRecord<R>) -> bool {
    sent.problems
        .iter()
        .any(|problem| problem.kind == ProblemKind::NoData)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_nested_deeper_than_32_levels_is_rejected() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_json(nested(MAX_DEPTH).as_bytes()).is_ok());
        for levels in [MAX_DEPTH + 1, 127, 128, 100_000] {
            assert!(parse_json(nested(levels).as_bytes()).is_err(), "{levels}");
        }
        assert!(parse_json(b"{\"data\":").is_err());
    }
}
