//! Reads the body of a request: JSON text to the changes that it asks for, in one pass.
//!
//! Everything that is wrong is collected; absent, null, blank and a value are kept apart. Names that
//! this version does not know are told from names that another version has for the same field, and
//! from fields of a response, which are ignored so that a record that was read can be sent back
//! whole. Whether a value may stand where it stands is for the domain to say.

use domain::{ParsedRecord, Path, Problem, ProblemKind};
use serde::de::DeserializeSeed as _;
use serde_json::Value;

use crate::versions::Served;

mod lists;
mod others;
mod record;
mod token;

pub use others::nearest;
use record::Data;
pub use record::Nest;

/// The deepest nesting of a body, in levels.
pub const MAX_DEPTH: usize = 32;
/// The most records in one nested list.
pub const MAX_RECORDS: usize = 100;
/// The most unknown names that are remembered of one body.
pub const MAX_UNKNOWN: usize = 100;

/// What becomes of names that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownNames {
    /// The client is told, and the rest is accepted.
    #[default]
    Tell,
    /// The request is refused.
    Refuse,
}

/// What becomes of nested lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NestedLists {
    /// They are read: their records are made together with the one that holds them.
    #[default]
    Read,
    /// They are names that mean nothing here: their records have endpoints of their own.
    PassOver,
}

/// A body that is not JSON, or nested too deeply. Its text says where, and nothing of the content.
#[derive(Debug)]
pub struct Malformed(serde_json::Error);

impl std::fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for Malformed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Reads a body as a tree, whatever stands in it. It can be nested as deeply as any body.
///
/// # Errors
///
/// [`Malformed`] when the body is not JSON, or nested too deeply.
pub fn tree(body: &[u8]) -> Result<Value, Malformed> {
    let value: Value = serde_json::from_slice(body).map_err(Malformed)?;
    if depth(&value) > MAX_DEPTH {
        let error = format_args!("nested deeper than {MAX_DEPTH} levels");
        return Err(Malformed(serde::de::Error::custom(error)));
    }
    Ok(value)
}

/// How many arrays and objects stand in one another; the parser has bounded it already.
fn depth(value: &Value) -> usize {
    let below = |inner: Option<usize>| 1 + inner.unwrap_or_default();
    match value {
        Value::Array(values) => below(values.iter().map(depth).max()),
        Value::Object(object) => below(object.values().map(depth).max()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// How bodies of one version are read.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The version among the others.
    pub served: &'a Served,
    /// What becomes of names that nobody knows.
    pub unknown: UnknownNames,
    /// What becomes of nested lists.
    pub nested: NestedLists,
}

impl Reader<'_> {
    /// Reads `{"data": {...}}`. A body without any byte counts as one without `data`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the body is not JSON. Everything else that is wrong is in the result.
    pub fn read<R: Nest>(&self, body: &[u8]) -> Result<ParsedRecord<R>, Malformed> {
        if body.is_empty() {
            return Ok(without_data());
        }
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        let sent = Data::new(*self).deserialize(&mut deserializer).map_err(Malformed)?;
        deserializer.end().map_err(Malformed)?;
        Ok(sent)
    }
}

/// Whether there was no `data` to read; it is answered before anything else about the content.
#[must_use]
pub fn lacks_data<R: domain::Record>(sent: &ParsedRecord<R>) -> bool {
    sent.problems.iter().any(|problem| problem.kind == ProblemKind::NoData)
}

fn without_data<R: domain::Record>() -> ParsedRecord<R> {
    ParsedRecord { problems: vec![Problem::at(Path::Data, ProblemKind::NoData)], ..ParsedRecord::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_can_be_nested_32_levels_deep_and_no_deeper() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(tree(nested(MAX_DEPTH).as_bytes()).is_ok());
        for levels in [MAX_DEPTH + 1, 127, 128, 100_000] {
            assert!(tree(nested(levels).as_bytes()).is_err(), "{levels}");
        }
        assert!(tree(b"{\"data\":").is_err());
    }
}
