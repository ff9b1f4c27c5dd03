//! Problem details (RFC 9457). Each entry of `errors` has a JSON pointer.

use domain::Code;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::{ErrorContext, ProblemForm, pointer};
use crate::error_body::{ErrorBody, ErrorSummary};

impl ProblemForm {
    /// Problem details (RFC 9457).
    pub const DETAILS: Self = Self {
        name: "ProblemDetails",
        media_type: "application/problem+json",
        write,
        schema: Some(schema),
        summary: "All errors are problem details (RFC 9457) with the media type `application/problem+json`. Problems \
                  by field are not available.",
        advice: "Read `detail`. For each problem in a body, `errors` has an entry with `pointer`, `code` and `detail`. For \
                 each problem in a query, it has an entry with `parameter` and `detail`. Other errors, such as `404`, have no `errors`. \
                 A batch item's result has the problem details in `problem`, with pointers relative to the item.",
    };
}

/// The members `errors` and `data` are extensions.
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

fn write(body: &ErrorBody, context: ErrorContext) -> Result<Vec<u8>, serde_json::Error> {
    let ErrorSummary {
        error,
        message,
        existing,
    } = body.summary();
    let mut errors: Vec<DetailsEntry<'_>> = body
        .located()
        .map(|(located, error)| DetailsEntry {
            pointer: Some(pointer(&located.field, context.request_key)),
            parameter: None,
            code: Some(located.code),
            detail: &error.message,
        })
        .collect();
    for (name, texts) in body.parameters().into_iter().flatten() {
        errors.extend(texts.iter().map(|text| DetailsEntry {
            pointer: None,
            parameter: Some(name),
            code: None,
            detail: text,
        }));
    }
    serde_json::to_vec(&Details {
        kind: "about:blank",
        title: title(error),
        status: context.status,
        detail: message,
        errors,
        data: existing,
    })
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

fn schema() -> Json {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    json!({
        "type": "object",
        "description": "What is wrong (RFC 9457).",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": text("Always `about:blank`: the status says what kind of error it is."),
            "title": text("The name of the error."),
            "status": { "type": "integer", "description": "The status of the response." },
            "detail": text("What is wrong, in words."),
            "errors": {
                "type": "array",
                "description": "One entry for each problem.",
                "items": {
                    "type": "object",
                    "required": ["detail"],
                    "properties": {
                        "pointer": text("Where in the body the problem is, as a JSON pointer."),
                        "parameter": text("The parameter of the query that is wrong."),
                        "code": {
                            "type": "string",
                            "description": "The code of the problem, which is the same in every version.",
                            "enum": codes,
                        },
                        "detail": text("What is wrong, in words."),
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::error_body::{ErrorEntry, Errors, Located, UNPROCESSABLE};

    use super::*;

    #[test]
    fn several_problems_have_one_entry_each() {
        let entry = |field: &str| ErrorEntry {
            error: UNPROCESSABLE,
            message: format!("{field} cannot be blank"),
            located: Some(Located {
                code: "blank",
                field: field.to_owned(),
            }),
        };
        let body = ErrorBody::List(Errors {
            errors: vec![entry("sex"), entry("email")],
        });
        let context = ErrorContext {
            status: 422,
            request_key: "data",
        };
        let json: Json = serde_json::from_slice(&write(&body, context).unwrap()).unwrap();
        let expected = json!({
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
