//! The content of an error reply, before a version writes it in its form of errors.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// The name of an error caused by invalid input.
pub const UNPROCESSABLE: &str = "UnprocessableEntity";
/// The name of an error caused by the state of the record.
pub const TRANSITION: &str = "StateTransitionError";

/// The name of the error of a request without a valid token.
pub(crate) const UNAUTHORIZED: &str = "Unauthorized";

/// One entry of the list of errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorEntry {
    /// The name of the error.
    pub error: &'static str,
    /// The message.
    pub message: String,
    /// The code and the path of the problem. `None` for errors that do not come from the content of
    /// the request.
    #[serde(flatten)]
    pub located: Option<Located>,
}

/// The code and the path of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Located {
    /// The code, which is equal in all versions.
    pub code: &'static str,
    /// The path in the names of the version.
    pub field: String,
}

/// The body of an error reply: `{errors: [{error, message}]}`. Entries about the content of a
/// request also have a code and a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// The entries.
    pub errors: Vec<ErrorEntry>,
}

impl Errors {
    /// Returns a body with one error without a path.
    #[must_use]
    pub fn one(error: &'static str, message: impl Into<String>) -> Self {
        Self {
            errors: vec![ErrorEntry {
                error,
                message: message.into(),
                located: None,
            }],
        }
    }
}

/// The body of an error reply, by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorsByField {
    /// A sentence with the number of problems.
    pub message: String,
    /// The problems, by path.
    pub errors: BTreeMap<String, FieldErrors>,
}

/// The messages of the problems at a path, without the name of the field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FieldErrors {
    /// Problems at the path itself.
    Messages(Vec<String>),
    /// Problems in the items of a nested array, by field.
    Nested(BTreeMap<String, Vec<String>>),
}

/// An error reply, before it is written in the form of a version.
#[derive(Debug)]
pub enum ErrorBody {
    /// One entry for each problem.
    List(Errors),
    /// Problems grouped by field.
    ByField(ErrorsByField),
    /// Invalid query parameters.
    Parameters(ParameterErrors),
    /// The request has no valid token.
    Unauthorized,
    /// The record already exists. The second value is a JSON array of the existing records.
    Conflict(Errors, Box<RawValue>),
}

/// The body for invalid query parameters: `{message, errors: {parameter: [text]}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterErrors {
    /// A sentence with the number of problems.
    pub message: String,
    /// The messages, by parameter.
    pub errors: BTreeMap<Cow<'static, str>, Vec<String>>,
}

/// The parts of an error reply that every form writes.
#[derive(Debug)]
pub struct ErrorSummary<'a> {
    /// The name of the error.
    pub error: &'static str,
    /// A sentence.
    pub message: &'a str,
    /// A JSON array of the existing records, if the error is about them.
    pub existing: Option<&'a RawValue>,
}

impl ErrorBody {
    /// Returns a body with one error without a path.
    #[must_use]
    pub fn one(error: &'static str, message: impl Into<String>) -> Self {
        Self::List(Errors::one(error, message))
    }

    /// Returns the name of the error, a sentence and the existing records.
    #[must_use]
    pub fn summary(&self) -> ErrorSummary<'_> {
        let (error, message, existing) = match self {
            Self::List(errors) => (errors.first_name(), errors.message(), None),
            Self::Conflict(errors, existing) => {
                (errors.first_name(), errors.message(), Some(&**existing))
            }
            Self::Parameters(wrong) => (UNPROCESSABLE, wrong.message.as_str(), None),
            Self::ByField(errors) => (UNPROCESSABLE, errors.message.as_str(), None),
            Self::Unauthorized => (UNAUTHORIZED, "there is no valid token", None),
        };
        ErrorSummary {
            error,
            message,
            existing,
        }
    }

    /// Returns the problems at a path of the body.
    pub fn located(&self) -> impl Iterator<Item = (&Located, &ErrorEntry)> {
        let errors = match self {
            Self::List(errors) => errors.errors.as_slice(),
            Self::Conflict(..) | Self::Parameters(_) | Self::ByField(_) | Self::Unauthorized => &[],
        };
        errors
            .iter()
            .filter_map(|error| Some((error.located.as_ref()?, error)))
    }

    /// Returns the problems of the query; `None` if the error is not about the query.
    #[must_use]
    pub fn parameters(&self) -> Option<&BTreeMap<Cow<'static, str>, Vec<String>>> {
        match self {
            Self::Parameters(wrong) => Some(&wrong.errors),
            Self::List(_) | Self::Conflict(..) | Self::ByField(_) | Self::Unauthorized => None,
        }
    }
}

impl Errors {
    fn first_name(&self) -> &'static str {
        self.errors.first().map_or("", |first| first.error)
    }

    /// Returns the message of the only error, or a sentence that there are several.
    fn message(&self) -> &str {
        match self.errors.as_slice() {
            [only] => &only.message,
            _ => "the request has several problems",
        }
    }
}
