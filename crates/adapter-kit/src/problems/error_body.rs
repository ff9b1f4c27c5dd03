//! The body of an error reply, in the form of a version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{ErrorEntry, Errors, ErrorsByField, Located};
use crate::read::IDEMPOTENCY_KEY;
use crate::wire_form::ProblemForm;

/// What is wrong, before it is written.
#[derive(Debug)]
pub enum ErrorBody {
    /// One entry for each problem.
    List(Errors),
    /// Problems by field, for a client that asks for them.
    ByField(ErrorsByField),
    /// The parameters of a query that are wrong.
    Parameters(ParameterErrors),
    /// There is no valid token.
    Unauthorized,
    /// Something is there already: the existing records, as a JSON array.
    Conflict(Errors, Box<RawValue>),
}

/// The parameters that are wrong: `{message, errors: {parameter: [text]}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterErrors {
    /// How many there are.
    pub message: String,
    /// What is wrong with each.
    pub errors: BTreeMap<Cow<'static, str>, Vec<String>>,
}

/// The common form of an error with existing records.
#[derive(Serialize)]
struct Conflict<'a> {
    #[serde(flatten)]
    errors: &'a Errors,
    data: &'a RawValue,
}

/// The common form of an error without a valid token.
#[derive(Serialize)]
struct Unauthorized {
    error: &'static str,
}

/// The name of the error of a request without a valid token.
const UNAUTHORIZED: &str = "Unauthorized";

/// Problem details (RFC 9457). The members of `errors` and `data` are extensions.
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
    /// A single error.
    #[must_use]
    pub fn one(error: &'static str, message: impl Into<String>) -> Self {
        Self::List(Errors::one(error, message))
    }

    /// The body as JSON. It consists of structs, lists and maps with strings as keys: writing it
    /// cannot fail.
    #[must_use]
    pub fn to_json(&self, form: ProblemForm, status: u16) -> Vec<u8> {
        match form {
            ProblemForm::Errors => self.common(),
            ProblemForm::Details => serde_json::to_vec(&self.details(status)),
        }
        .unwrap_or_default()
    }

    fn common(&self) -> Result<Vec<u8>, serde_json::Error> {
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
            // No version with problem details has the form by field.
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

fn summary(errors: &Errors) -> &str {
    match errors.errors.as_slice() {
        [only] => &only.message,
        _ => "the request has several problems",
    }
}

/// The problems that have a place; an error without one is described by `detail`.
fn entries<'a>(errors: &'a Errors) -> Vec<DetailsEntry<'a>> {
    let located = errors
        .errors
        .iter()
        .filter_map(|error| Some((error.located.as_ref()?, error)));
    let entry = |(located, error): (&Located, &'a ErrorEntry)| DetailsEntry {
        pointer: Some(pointer(&located.field)),
        parameter: None,
        code: Some(located.code),
        detail: &error.message,
    };
    located.map(entry).collect()
}

fn parameters(wrong: &ParameterErrors) -> Vec<DetailsEntry<'_>> {
    let texts = wrong
        .errors
        .iter()
        .flat_map(|(name, texts)| texts.iter().map(move |text| (name.as_ref(), text)));
    texts
        .map(|(name, text)| DetailsEntry {
            pointer: None,
            parameter: Some(name),
            code: None,
            detail: text,
        })
        .collect()
}

/// The name of an error as words, such as `Unprocessable entity`.
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

/// A path such as `placements_attributes[0].name` as a JSON pointer into the body (RFC 6901).
#[must_use]
pub fn pointer(path: &str) -> String {
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
