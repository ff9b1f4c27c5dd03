//! Reads the body of a request: JSON text to the changes that it asks for, in one pass.
//!
//! Everything that is wrong is collected; absent, null, blank and a value are kept apart. Names that
//! this version does not know are told from names that another version has for the same field, and
//! from fields of a response, which are ignored so that a record that was read can be sent back
//! whole. Whether a value may stand where it stands is for the domain to say.

use domain::{Path, Problem, ProblemKind, Sent};
use serde::de::DeserializeSeed as _;

use crate::versions::Served;

mod lists;
mod others;
mod record;
mod token;

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
    pub fn read<R: Nest>(&self, body: &[u8]) -> Result<Sent<R>, Malformed> {
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
pub fn lacks_data<R: domain::Record>(sent: &Sent<R>) -> bool {
    sent.problems.iter().any(|problem| problem.kind == ProblemKind::NoData)
}

fn without_data<R: domain::Record>() -> Sent<R> {
    Sent { problems: vec![Problem::at(Path::Data, ProblemKind::NoData)], ..Sent::default() }
}
