//! Reads request bodies: converts JSON to requested changes in one pass.
//!
//! - All problems of a body are collected.
//! - Absent, null, blank and set fields are distinguished.
//! - A field name of another version is refused, and the problem has the right name.
//! - Fields of responses are ignored. Therefore clients can send back a whole record.
//!
//! The domain checks the values.

use std::borrow::Cow;

use domain::{ParsedRecord, ProblemKind};
use serde::de::DeserializeSeed as _;

mod batch;
pub mod client_text;
mod json;
mod keys;
mod limits;
mod long_integers;
mod members;
mod record;
mod tree;
mod values;

pub use crate::body_kind::IDEMPOTENCY_KEY;
pub use batch::{BatchError, BatchForm, BatchItem, is_idempotency_key, read_batch};
use json::At;
pub use keys::{UnknownNames, nearest};
pub use limits::{MAX_BATCH_ITEMS, MAX_DEPTH, MAX_KEY_CHARS, MAX_RECORDS, MAX_UNKNOWN};
pub use record::{NestedLists, ReadableRecord, Reader};
pub use tree::{JsonTree, parse_json};

/// A body that is not JSON or is nested too deeply. The message has the position, but no content of
/// the body.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Malformed(serde_json::Error);

/// The byte order mark in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Strips a leading byte order mark.
fn without_byte_order_mark(json: &[u8]) -> &[u8] {
    json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json)
}

impl Reader<'_> {
    /// Reads `{"data": {...}}`, with the key of the version. An empty body counts as a body without
    /// `data`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the body is not JSON or is nested too deeply. All other problems are in the
    /// result.
    pub fn read<R: ReadableRecord>(&self, body: &[u8]) -> Result<ParsedRecord<R>, Malformed> {
        let body = without_byte_order_mark(body);
        if body.is_empty() {
            return Ok(record::without_data());
        }
        let sent = self.read_json(body)?;
        // The body is read before long integers are rewritten, so that positions in errors refer to
        // the body as sent.
        if let Cow::Owned(body) = long_integers::as_text(body) {
            self.read_json(&body)
        } else {
            Ok(sent)
        }
    }

    /// Reads a body without a byte order mark.
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

/// Whether the body had no `data`. Callers report this problem before all others.
#[must_use]
pub fn lacks_data<R: domain::Record>(sent: &ParsedRecord<R>) -> bool {
    sent.problems
        .iter()
        .any(|problem| problem.kind == ProblemKind::NoData)
}
