//! Problems by JSON pointer (RFC 6901): `{"error", "message", "errors": {"/data/sex": [...]}}`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Code;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::{ErrorContext, ProblemForm, pointer};
use crate::error_body::{ErrorBody, ErrorSummary};

impl ProblemForm {
    /// An object with the problems at each JSON pointer into the request body.
    pub const BY_POINTER: Self = Self {
        name: "ErrorsByPointer",
        media_type: "application/json",
        write,
        schema: Some(schema),
        summary: "All errors are objects with `error` and `message`. The problems of a body are in `errors`, by JSON pointer \
                  (RFC 6901). Problems by field are not available.",
        advice: "For each JSON pointer into the body, `errors` has a list of problems with `code` and `message`. For each \
                 parameter of a query, `parameters` has a list of messages. Other errors, such as `404`, have neither. A batch \
                 item's result has its error in `problem`, with pointers relative to the item.",
    };
}

#[derive(Serialize)]
struct ErrorsByPointer<'a> {
    error: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, Vec<Problem<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a BTreeMap<Cow<'static, str>, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

/// One problem.
#[derive(Serialize)]
struct Problem<'a> {
    code: &'static str,
    message: &'a str,
}

fn write(body: &ErrorBody, context: ErrorContext) -> Result<Vec<u8>, serde_json::Error> {
    let ErrorSummary {
        error,
        message,
        existing,
    } = body.summary();
    let mut errors = BTreeMap::<String, Vec<Problem<'_>>>::new();
    for (located, error) in body.located() {
        let problems = errors.entry(pointer(&located.field, context.request_key));
        problems.or_default().push(Problem {
            code: located.code,
            message: &error.message,
        });
    }
    serde_json::to_vec(&ErrorsByPointer {
        error,
        message,
        errors,
        parameters: body.parameters(),
        data: existing,
    })
}

fn schema() -> Json {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    let problem = json!({
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            "code": {
                "type": "string",
                "description": "The code of the problem, which is the same in every version.",
                "enum": codes,
            },
            "message": text("What is wrong, in words; the name of the field comes first."),
        },
    });
    json!({
        "type": "object",
        "description": "What is wrong.",
        "required": ["error", "message"],
        "properties": {
            "error": text("The name of the error."),
            "message": text("What is wrong, in words."),
            "errors": {
                "type": "object",
                "description": "The problems of the body, by JSON pointer (RFC 6901).",
                "additionalProperties": { "type": "array", "items": problem },
            },
            "parameters": {
                "type": "object",
                "description": "The problems of the query, by parameter.",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::error_body::{
        ErrorEntry, Errors, Located, ParameterErrors, TRANSITION, UNPROCESSABLE,
    };

    use super::*;

    fn written(body: &ErrorBody, status: u16) -> Json {
        let context = ErrorContext {
            status,
            request_key: "trainee",
        };
        serde_json::from_slice(&write(body, context).unwrap()).unwrap()
    }

    fn entry(code: &'static str, field: &str, message: &str) -> ErrorEntry {
        ErrorEntry {
            error: UNPROCESSABLE,
            message: message.to_owned(),
            located: Some(Located {
                code,
                field: field.to_owned(),
            }),
        }
    }

    #[test]
    fn problems_are_grouped_by_pointer() {
        let body = ErrorBody::List(Errors {
            errors: vec![
                entry("blank", "sex", "sex cannot be blank"),
                entry("unknown_code", "degrees[0].grade", "first"),
                entry("too_long", "degrees[0].grade", "second"),
                entry("unknown_field", "a/b", "third"),
            ],
        });
        assert_eq!(
            written(&body, 422),
            json!({
                "error": "UnprocessableEntity",
                "message": "the request has several problems",
                "errors": {
                    "/trainee/a~1b": [{ "code": "unknown_field", "message": "third" }],
                    "/trainee/degrees/0/grade": [
                        { "code": "unknown_code", "message": "first" },
                        { "code": "too_long", "message": "second" },
                    ],
                    "/trainee/sex": [{ "code": "blank", "message": "sex cannot be blank" }],
                },
            })
        );
    }

    #[test]
    fn error_without_pointer_has_name_and_message() {
        let existing = RawValue::from_string("[1]".to_owned()).unwrap();
        let cases = [
            (
                ErrorBody::one("NotFound", "trainee not found"),
                json!({ "error": "NotFound", "message": "trainee not found" }),
            ),
            (
                ErrorBody::Conflict(Errors::one("Conflict", "is there"), existing),
                json!({ "error": "Conflict", "message": "is there", "data": [1] }),
            ),
            (
                ErrorBody::Parameters(ParameterErrors {
                    message: "one problem".to_owned(),
                    errors: BTreeMap::from([("page".into(), vec!["is wrong".to_owned()])]),
                }),
                json!({
                    "error": "UnprocessableEntity", "message": "one problem", "parameters": { "page": ["is wrong"] },
                }),
            ),
            (
                ErrorBody::Unauthorized,
                json!({ "error": "Unauthorized", "message": "there is no valid token" }),
            ),
            (
                ErrorBody::List(Errors {
                    errors: vec![ErrorEntry {
                        error: TRANSITION,
                        ..entry("transition", "state", "state is draft")
                    }],
                }),
                json!({
                    "error": "StateTransitionError",
                    "message": "state is draft",
                    "errors": { "/trainee/state": [{ "code": "transition", "message": "state is draft" }] },
                }),
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(written(&body, 400), expected);
        }
    }
}
