//! Two codes as a boolean, and a boolean as three words.

use std::borrow::Cow;

use domain::Value;
use serde_json::{Value as Json, json};

use super::{Form, FormField, Sample, plain};

/// Two codes of a text field as `true` and `false`.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// The code for `true`.
    pub yes: &'static str,
    /// The code for `false`.
    pub no: &'static str,
}

impl Form for Flag {
    fn says(&self) -> String {
        format!("as `true` for `{}` and `false` for `{}`", self.yes, self.no)
    }

    fn expected(&self) -> String {
        "true or false".to_owned()
    }

    fn schema(&self, _: &FormField) -> Json {
        json!({ "type": ["boolean", "string"] })
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        match value.as_text() {
            Some(code) if code == self.yes => Json::Bool(true),
            Some(code) if code == self.no => Json::Bool(false),
            _ => plain(value),
        }
    }

    fn read(&self, written: &Json, _: &FormField) -> Option<Value<'static>> {
        let code = if written.as_bool()? {
            self.yes
        } else {
            self.no
        };
        Some(Value::text(code))
    }

    fn samples(&self, _: &FormField) -> Vec<Sample> {
        vec![
            Sample::new(Value::text(self.yes), true),
            Sample::new(Value::text(self.no), false),
        ]
    }

    fn note(&self, _: &FormField) -> Option<&'static str> {
        Some("Other codes stay codes.")
    }
}

/// `true`, `false` and null as words. The words must differ.
#[derive(Debug, Clone, Copy)]
pub struct ThreeWords {
    /// The word for `true`.
    pub yes: &'static str,
    /// The word for `false`.
    pub no: &'static str,
    /// The word for null.
    pub unknown: &'static str,
}

impl ThreeWords {
    fn values(&self) -> [(Value<'static>, &'static str); 3] {
        [
            (Value::Boolean(true), self.yes),
            (Value::Boolean(false), self.no),
            (Value::Null, self.unknown),
        ]
    }

    fn words(&self) -> [&'static str; 3] {
        [self.yes, self.no, self.unknown]
    }
}

impl Form for ThreeWords {
    fn says(&self) -> String {
        let [yes, no, unknown] = self.words();
        format!("as `{yes}`, `{no}` or `{unknown}`")
    }

    fn expected(&self) -> String {
        let [yes, no, unknown] = self.words();
        format!("{yes}, {no} or {unknown}")
    }

    fn schema(&self, _: &FormField) -> Json {
        json!({ "type": "string", "enum": self.words() })
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        let values = self.values();
        let found = values.iter().find(|(known, _)| known == value);
        found.map_or_else(|| plain(value), |(_, word)| Json::from(*word))
    }

    fn read(&self, written: &Json, _: &FormField) -> Option<Value<'static>> {
        let written = written.as_str()?.trim();
        let mut values = self.values().into_iter();
        values
            .find(|(_, word)| *word == written)
            .map(|(value, _)| value)
    }

    fn samples(&self, _: &FormField) -> Vec<Sample> {
        let values = self.values().into_iter();
        values
            .map(|(value, word)| Sample::new(value, word))
            .collect()
    }
}

/// Returns the text of a text value or of a whole number; `None` for other values.
pub(super) fn text_of(written: &Json) -> Option<Cow<'_, str>> {
    if let Some(text) = written.as_str() {
        return Some(Cow::Borrowed(text.trim()));
    }
    let is_whole = written.is_i64() || written.is_u64();
    is_whole.then(|| Cow::Owned(written.to_string()))
}

#[cfg(test)]
mod tests {
    use domain::Kind;

    use super::*;
    use crate::form::tests::field_of;

    const FULL_TIME: Flag = Flag {
        yes: "01",
        no: "31",
    };
    const WORDS: ThreeWords = ThreeWords {
        yes: "yes",
        no: "no",
        unknown: "unknown",
    };

    #[test]
    fn values_without_a_boolean_or_word_are_refused() {
        for refused in [json!("01"), json!("true"), json!(1)] {
            assert_eq!(FULL_TIME.read(&refused, &field_of(Kind::Text)), None);
        }
        for refused in [json!(true), json!("maybe")] {
            assert_eq!(WORDS.read(&refused, &field_of(Kind::Boolean)), None);
        }
    }

    #[test]
    fn code_without_a_boolean_is_written_unchanged() {
        let field = field_of(Kind::Text);
        assert_eq!(FULL_TIME.write(&Value::text("63"), &field), json!("63"));
        assert_eq!(FULL_TIME.write(&Value::Null, &field), Json::Null);
    }
}
