//! The form of errors: how a version writes error replies, and how documents describe them.
//!
//! A form is one value. Everything that follows from it follows from its members: replies, results
//! of batches, the OpenAPI document, the contract and the differences between versions. A version
//! can declare its own form in its crate.

use serde_json::Value as Json;

use crate::body_kind::IDEMPOTENCY_KEY;
use crate::error_body::ErrorBody;

mod by_pointer;
mod common;
mod details;

/// The form of errors of a version.
#[derive(Debug, Clone, Copy)]
pub struct ProblemForm {
    /// The name of the form in contracts, and of its schema in the OpenAPI document. Unique.
    pub name: &'static str,
    /// The media type of error replies.
    pub media_type: &'static str,
    /// Writes the body of an error reply.
    pub write: fn(&ErrorBody, ErrorContext) -> Result<Vec<u8>, serde_json::Error>,
    /// Returns the JSON Schema of all error replies, except for `data` with the existing records of
    /// a conflict. `None` for the common form, which has several schemas.
    pub schema: Option<fn() -> Json>,
    /// Describes the form in sentences for clients.
    pub summary: &'static str,
    /// Tells clients in sentences how to read errors.
    pub advice: &'static str,
}

/// The parts of a reply that its errors depend on.
#[derive(Debug, Clone, Copy)]
pub struct ErrorContext {
    /// The status of the reply.
    pub status: u16,
    /// The key of the record in request bodies of the version.
    pub request_key: &'static str,
}

impl PartialEq for ProblemForm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ProblemForm {}

impl ProblemForm {
    /// Whether this is the common form. Only this form offers problems by field, and only its errors
    /// are merged into the results of a batch. Results have the errors of other forms in `problem`.
    #[must_use]
    pub fn is_common(&self) -> bool {
        self.schema.is_none()
    }
}

/// Converts a path such as `placements_attributes[0].name` to a JSON pointer into the body (RFC
/// 6901). `request_key` is the key of the record in the body, which is also the path of the whole
/// record.
#[must_use]
pub fn pointer(path: &str, request_key: &str) -> String {
    // In an item of a batch, the idempotency key is next to the record.
    if path == IDEMPOTENCY_KEY {
        return format!("/{path}");
    }
    let mut pointer = format!("/{request_key}");
    if path == request_key {
        return pointer;
    }
    for step in path.split(['.', '[']) {
        pointer.push('/');
        pointer.push_str(
            &step
                .trim_end_matches(']')
                .replace('~', "~0")
                .replace('/', "~1"),
        );
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_becomes_a_pointer_into_the_body() {
        for (path, expected) in [
            ("trainee", "/trainee"),
            ("data", "/trainee/data"),
            ("email", "/trainee/email"),
            ("withdrawal.date", "/trainee/withdrawal/date"),
            (
                "placements_attributes[10].name",
                "/trainee/placements_attributes/10/name",
            ),
            (
                "placements_attributes[0]",
                "/trainee/placements_attributes/0",
            ),
            ("a~b/c", "/trainee/a~0b~1c"),
            ("idempotency_key", "/idempotency_key"),
        ] {
            assert_eq!(pointer(path, "trainee"), expected);
        }
    }
}
