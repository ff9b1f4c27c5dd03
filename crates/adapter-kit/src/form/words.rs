//! Codes as words.

use domain::Value;
use serde_json::{Value as Json, json};

use super::{Form, FormField, Sample, plain};
use crate::wire_form::{Words, code_of, word_for};

/// Codes of a text field as words. The words must differ. A code without a word stays a code.
#[derive(Debug, Clone, Copy)]
pub struct CodeWords(pub Words);

impl Form for CodeWords {
    fn says(&self) -> String {
        let pairs: Vec<String> = self
            .0
            .iter()
            .map(|(code, word)| format!("`{word}` for `{code}`"))
            .collect();
        format!("in words: {}", pairs.join(", "))
    }

    fn expected(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|(_, word)| *word).collect();
        format!("one of {}", words.join(", "))
    }

    fn schema(&self, _: &FormField) -> Json {
        let words: Vec<&str> = self.0.iter().map(|(_, word)| *word).collect();
        json!({ "type": "string", "enum": words })
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        let word = value.as_text().and_then(|code| word_for(self.0, code));
        word.map_or_else(|| plain(value), Json::from)
    }

    fn read(&self, written: &Json, _: &FormField) -> Option<Value<'static>> {
        code_of(self.0, written.as_str()?.trim()).map(Value::text)
    }

    fn samples(&self, _: &FormField) -> Vec<Sample> {
        self.0
            .iter()
            .map(|(code, word)| Sample::new(Value::text(code), *word))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use domain::Kind;

    use super::*;
    use crate::form::tests::field_of;

    const ORDER: CodeWords = CodeWords(&[("asc", "oldest_first"), ("desc", "newest_first")]);

    #[test]
    fn code_with_a_word_is_refused() {
        let field = field_of(Kind::Text);
        for refused in [json!("asc"), json!(1)] {
            assert_eq!(crate::form::read(&ORDER, &refused, &field), None);
        }
    }
}
