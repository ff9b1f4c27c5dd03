//! The common form: `{"errors": [{"error", "message", "code", "field"}]}`. Missing tokens and invalid
//! parameters have separate forms.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ErrorContext, ProblemForm};
use crate::error_body::{ErrorBody, Errors, UNAUTHORIZED};

impl ProblemForm {
    /// A list of errors, each with `error`, `message`, `code` and `field`.
    pub const ERRORS: Self = Self {
        name: "Errors",
        media_type: "application/json",
        write,
        schema: None,
        summary: "Errors are JSON with a list of `errors`.",
        advice: "For each problem, read `error`, `message`, `code` and `field` from its entry in `errors`.",
    };
}

/// The body of an error with existing records.
#[derive(Serialize)]
struct Conflict<'a> {
    #[serde(flatten)]
    errors: &'a Errors,
    data: &'a RawValue,
}

/// The body of an error without a valid token.
#[derive(Serialize)]
struct Unauthorized {
    error: &'static str,
}

fn write(body: &ErrorBody, _: ErrorContext) -> Result<Vec<u8>, serde_json::Error> {
    match body {
        ErrorBody::List(errors) => serde_json::to_vec(errors),
        ErrorBody::ByField(errors) => serde_json::to_vec(errors),
        ErrorBody::Parameters(errors) => serde_json::to_vec(errors),
        ErrorBody::Unauthorized => serde_json::to_vec(&Unauthorized {
            error: UNAUTHORIZED,
        }),
        ErrorBody::Conflict(errors, data) => serde_json::to_vec(&Conflict { errors, data }),
    }
}
