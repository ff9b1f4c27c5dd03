//! Texts with a prefix.

use std::borrow::Cow;

use domain::Value;
use serde_json::{Value as Json, json};

use super::{Form, FormField, Sample, plain};

/// A text behind a prefix, such as `trn_`. Requests must send the prefix.
#[derive(Debug, Clone, Copy)]
pub struct Prefix(pub &'static str);

impl Form for Prefix {
    fn says(&self) -> String {
        format!("with the prefix `{}`", self.0)
    }

    fn expected(&self) -> String {
        format!("text that begins with {}", self.0)
    }

    fn schema(&self, _: &FormField) -> Json {
        // Letters, digits, `_` and `-` need no escape in a pattern.
        json!({ "type": "string", "pattern": format!("^{}", self.0) })
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        match value.to_plain_text() {
            Some(text) => format!("{}{text}", self.0).into(),
            None => plain(value),
        }
    }

    fn read(&self, written: &Json, _: &FormField) -> Option<Value<'static>> {
        let text = written.as_str()?.trim().strip_prefix(self.0)?;
        Some(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn samples(&self, _: &FormField) -> Vec<Sample> {
        vec![Sample::new(
            Value::text("1234567"),
            format!("{}1234567", self.0),
        )]
    }
}

#[cfg(test)]
mod tests {
    use domain::Kind;

    use super::*;
    use crate::form::tests::field_of;

    #[test]
    fn text_without_the_prefix_is_refused() {
        let field = field_of(Kind::Text);
        for refused in [json!("1234567"), json!("TRN_1234567"), json!(1_234_567)] {
            assert_eq!(Prefix("trn_").read(&refused, &field), None, "{refused}");
        }
    }
}
