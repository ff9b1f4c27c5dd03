//! Codes as objects with a label.

use std::borrow::Cow;

use domain::fields::field::Codes;
use domain::{Lists, Value};
use serde_json::{Value as Json, json};

use super::flag::text_of;
use super::{Form, FormField, Sample, plain};

/// A code as `{"code": ..., "label": ...}`. Requests can send this object, an object with `code`
/// alone, or the code.
pub const LABELLED: Labelled = Labelled(());

/// See [`LABELLED`].
#[derive(Debug, Clone, Copy)]
pub struct Labelled(());

/// Returns the label of a code. A code that is not in the list of the field is its own label.
fn label_of<'a>(code: &'a str, field: &FormField) -> &'a str {
    match field.codes {
        Some(Codes::Listed(list)) => Lists::embedded()
            .entry(list, code)
            .map_or(code, |entry| entry.name.as_str()),
        Some(Codes::OneOf(_)) | None => code,
    }
}

/// Returns the codes of the field.
fn codes_of(field: &FormField) -> Vec<&'static str> {
    match field.codes {
        Some(Codes::Listed(list)) => Lists::embedded().codes(list).collect(),
        Some(Codes::OneOf(words)) => words.to_vec(),
        None => Vec::new(),
    }
}

impl Form for Labelled {
    fn says(&self) -> String {
        "as an object with `code` and `label`".to_owned()
    }

    fn expected(&self) -> String {
        "a code, or an object with a code".to_owned()
    }

    fn schema(&self, _: &FormField) -> Json {
        json!({
            "type": "object",
            "properties": { "code": { "type": "string" }, "label": { "type": "string" } },
            "required": ["code"],
        })
    }

    fn request_schema(&self, field: &FormField) -> Json {
        json!({ "anyOf": [self.schema(field), { "type": ["string", "integer"] }] })
    }

    fn write(&self, value: &Value<'_>, field: &FormField) -> Json {
        match value.as_text() {
            Some(code) => json!({ "code": code, "label": label_of(code, field) }),
            None => plain(value),
        }
    }

    fn read(&self, written: &Json, _: &FormField) -> Option<Value<'static>> {
        let code = text_of(written.get("code").unwrap_or(written))?;
        Some(Value::Text(Cow::Owned(code.into_owned())))
    }

    fn samples(&self, field: &FormField) -> Vec<Sample> {
        let code = codes_of(field).first().copied().unwrap_or("01");
        let canonical = Value::text(code);
        let written = self.write(&canonical, field);
        vec![Sample { canonical, written }]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use domain::{Kind, List};

    use super::*;

    pub(crate) const STUDY_MODE: FormField = FormField {
        kind: Kind::Text,
        codes: Some(Codes::Listed(List::StudyMode)),
    };

    #[test]
    fn code_is_written_with_the_name_of_its_entry() {
        let label = "Full-time according to funding council definitions";
        assert_eq!(
            LABELLED.write(&Value::text("01"), &STUDY_MODE),
            json!({ "code": "01", "label": label })
        );
    }

    #[test]
    fn object_with_code_and_bare_code_are_read() {
        for written in [json!("01"), json!({ "code": "01" })] {
            let read = LABELLED.read(&written, &STUDY_MODE);
            assert_eq!(read, Some(Value::text("01")), "{written}");
        }
        for refused in [json!({ "label": "Full-time" }), json!(true), json!([])] {
            assert_eq!(LABELLED.read(&refused, &STUDY_MODE), None, "{refused}");
        }
    }
}
