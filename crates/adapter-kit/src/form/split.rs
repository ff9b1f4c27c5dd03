//! A text as several members.

use std::borrow::Cow;

use domain::Value;
use serde_json::{Value as Json, json};

use super::{Form, FormField, Reads, Sample};

/// A text as two members: the first word, and the other words. Reading joins them with a space. The
/// other words need a first word.
#[derive(Debug, Clone, Copy)]
pub struct FirstWord;

impl Form for FirstWord {
    fn says(&self) -> String {
        "as two members: the first word, and the other words".to_owned()
    }

    fn expected(&self) -> String {
        "text; the first member is one word, and the other member needs it".to_owned()
    }

    fn schema(&self, _: &FormField) -> Json {
        json!({ "type": "string" })
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        match value.as_text() {
            Some(text) => match text.trim().split_once(char::is_whitespace) {
                Some((first, others)) => json!([first, others.trim_start()]),
                None => json!([text.trim(), null]),
            },
            None => json!([null, null]),
        }
    }

    fn read(&self, written: &Json, _: &FormField) -> Option<Value<'static>> {
        let members: Option<Vec<&str>> = written
            .as_array()?
            .iter()
            .map(|member| {
                if member.is_null() {
                    return Some("");
                }
                member.as_str().map(str::trim)
            })
            .collect();
        match members?[..] {
            ["", ""] => Some(Value::Null),
            [first, _] if first.is_empty() || first.contains(char::is_whitespace) => None,
            [first, ""] => Some(Value::Text(Cow::Owned(first.to_owned()))),
            [first, others] => Some(Value::Text(Cow::Owned(format!("{first} {others}")))),
            _ => None,
        }
    }

    fn samples(&self, _: &FormField) -> Vec<Sample> {
        vec![
            Sample::new(Value::text("Jane Mary Ann"), json!(["Jane", "Mary Ann"])),
            Sample::new(Value::text("Jane"), json!(["Jane", null])),
        ]
    }

    fn reads(&self, _: &FormField) -> Reads {
        Reads::WithLoss("White space between words becomes one space.")
    }

    fn members(&self) -> usize {
        2
    }
}

#[cfg(test)]
mod tests {
    use domain::Kind;

    use super::*;
    use crate::form::tests::field_of;

    #[test]
    fn no_members_are_no_value() {
        let field = field_of(Kind::Text);
        assert_eq!(FirstWord.write(&Value::Null, &field), json!([null, null]));
        assert_eq!(
            FirstWord.read(&json!([null, " "]), &field),
            Some(Value::Null)
        );
        for refused in [
            json!(["Jane", 3]),
            json!([null, "Mary"]),
            json!(["Jane Mary", "Ann"]),
        ] {
            assert_eq!(FirstWord.read(&refused, &field), None, "{refused}");
        }
    }
}
