//! The body of an error reply, in the form of a version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ErrorEntry, Errors, ErrorsByField, Located};
use crate::read::IDEMPOTENCY_KEY;
use crate::wire_form::ProblemForm;

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

/// The body of an error with existing records, in the form [`ProblemForm::Errors`].
#[derive(Serialize)]
struct Conflict<'a> {
    #[serde(flatten)]
    errors: &'a Errors,
    data: &'a RawValue,
}

/// The body of an error without a valid token, in the form [`ProblemForm::Errors`].
#[derive(Serialize)]
struct Unauthorized {
    error: &'static str,
}

/// The name of the error of a request without a valid token.
const UNAUTHORIZED: &str = "Unauthorized";

/// Problem details (RFC 9457). The members `errors` and `data` are extensions.
#[derive(Serialize)]
struct Details<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<DetailsEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

/// One problem.
#[derive(Serialize)]
struct DetailsEntry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    detail: &'a str,
}

impl ErrorBody {
    /// Returns a body with one error without a path.
    #[must_use]
    pub fn one(error: &'static str, message: impl Into<String>) -> Self {
        Self::List(Errors::one(error, message))
    }

    /// Returns the body as JSON.
    #[must_use]
    pub fn to_json(&self, form: ProblemForm, status: u16) -> Vec<u8> {
        let json = match form {
            ProblemForm::Errors => self.to_errors_json(),
            ProblemForm::Details => serde_json::to_vec(&self.details(status)),
        };
        // Structs, lists and maps with strings as keys can always be written as JSON.
        json.unwrap_or_default()
    }

    /// Returns the body as JSON in the form [`ProblemForm::Errors`].
    fn to_errors_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::List(errors) => serde_json::to_vec(errors),
            Self::ByField(errors) => serde_json::to_vec(errors),
            Self::Parameters(errors) => serde_json::to_vec(errors),
            Self::Unauthorized => serde_json::to_vec(&Unauthorized {
                error: UNAUTHORIZED,
            }),
            Self::Conflict(errors, data) => serde_json::to_vec(&Conflict { errors, data }),
        }
    }

    /// Returns the body in the form [`ProblemForm::Details`].
    fn details(&self, status: u16) -> Details<'_> {
        let (name, detail, errors, data) = match self {
            Self::List(errors) => (first_name(errors), summary(errors), entries(errors), None),
            Self::Conflict(errors, data) => (
                first_name(errors),
                summary(errors),
                Vec::new(),
                Some(&**data),
            ),
            Self::Parameters(wrong) => (
                super::UNPROCESSABLE,
                wrong.message.as_str(),
                parameters(wrong),
                None,
            ),
            // Versions with problem details do not offer problems by field.
            Self::ByField(errors) => (
                super::UNPROCESSABLE,
                errors.message.as_str(),
                Vec::new(),
                None,
            ),
            Self::Unauthorized => (UNAUTHORIZED, "there is no valid token", Vec::new(), None),
        };
        Details {
            kind: "about:blank",
            title: title(name),
            status,
            detail,
            errors,
            data,
        }
    }
}

fn first_name(errors: &Errors) -> &'static str {
    errors.errors.first().map_or("", |first| first.error)
}

/// Returns the message of the only error, or a sentence that there are several.
fn summary(errors: &Errors) -> &str {
    match errors.errors.as_slice() {
        [only] => &only.message,
        _ => "the request has several problems",
    }
}

/// Returns an entry for each error that has a path. The member `detail` of the whole body describes
/// an error without a path.
fn entries(errors: &Errors) -> Vec<DetailsEntry<'_>> {
    errors
        .errors
        .iter()
        .filter_map(|error| Some(details_entry(error.located.as_ref()?, error)))
        .collect()
}

/// Returns the entry of a problem at a path of the body.
fn details_entry<'a>(located: &Located, error: &'a ErrorEntry) -> DetailsEntry<'a> {
    DetailsEntry {
        pointer: Some(pointer(&located.field)),
        parameter: None,
        code: Some(located.code),
        detail: &error.message,
    }
}

/// Returns an entry for each problem of a query parameter.
fn parameters(wrong: &ParameterErrors) -> Vec<DetailsEntry<'_>> {
    let mut entries = Vec::new();
    for (name, texts) in &wrong.errors {
        for text in texts {
            entries.push(DetailsEntry {
                pointer: None,
                parameter: Some(name),
                code: None,
                detail: text,
            });
        }
    }
    entries
}

/// Splits the name of an error into words, such as `Unprocessable entity`.
fn title(name: &str) -> String {
    let mut title = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !title.is_empty() {
            title.push(' ');
            title.push(letter.to_ascii_lowercase());
        } else {
            title.push(letter);
        }
    }
    title
}

/// Converts a path such as `placements_attributes[0].name` to a JSON pointer into the body (RFC
/// 6901).
#[must_use]
pub fn pointer(path: &str) -> String {
    // In an item of a batch, the idempotency key is next to `data`.
    if path == IDEMPOTENCY_KEY {
        return format!("/{path}");
    }
    let mut pointer = "/data".to_owned();
    if path == "data" {
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
            ("data", "/data"),
            ("email", "/data/email"),
            ("withdrawal.date", "/data/withdrawal/date"),
            (
                "placements_attributes[10].name",
                "/data/placements_attributes/10/name",
            ),
            ("placements_attributes[0]", "/data/placements_attributes/0"),
            ("a~b/c", "/data/a~0b~1c"),
            ("idempotency_key", "/idempotency_key"),
        ] {
            assert_eq!(pointer(path), expected);
        }
    }

    #[test]
    fn several_problems_have_one_entry_each() {
        let located = |field: &str| {
            Some(Located {
                code: "blank",
                field: field.to_owned(),
            })
        };
        let entry = |field: &str| ErrorEntry {
            error: super::super::UNPROCESSABLE,
            message: format!("{field} cannot be blank"),
            located: located(field),
        };
        let body = ErrorBody::List(Errors {
            errors: vec![entry("sex"), entry("email")],
        });
        let json: serde_json::Value =
            serde_json::from_slice(&body.to_json(ProblemForm::Details, 422)).unwrap();
        let expected = serde_json::json!({
            "type": "about:blank",
            "title": "Unprocessable entity",
            "status": 422,
            "detail": "the request has several problems",
            "errors": [
                { "pointer": "/data/sex", "code": "blank", "detail": "sex cannot be blank" },
                { "pointer": "/data/email", "code": "blank", "detail": "email cannot be blank" },
            ],
        });
        assert_eq!(json, expected);
    }
}
