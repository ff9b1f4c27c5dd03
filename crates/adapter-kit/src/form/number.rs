//! Whole numbers as JSON numbers, optionally in another unit.

use std::borrow::Cow;

use domain::{Kind, Value};
use serde_json::{Value as Json, json};

use super::{Form, FormField, Sample, plain};

/// A number, or a text of digits, as a JSON number.
pub const NUMBER: Scaled = Scaled {
    factor: 1,
    unit: None,
};

/// A number, or a text of digits, as a JSON number in another unit: the canonical number times a
/// factor.
#[derive(Debug, Clone, Copy)]
pub struct Scaled {
    factor: i64,
    unit: Option<&'static str>,
}

impl Scaled {
    /// Returns a form that multiplies canonical numbers by `factor`, which is at least 1. `unit` is
    /// the name of the unit in the plural, such as `months`.
    #[must_use]
    pub const fn new(factor: i64, unit: &'static str) -> Self {
        assert!(factor > 0, "the factor must be positive");
        Self {
            factor,
            unit: Some(unit),
        }
    }

    /// Returns the number of a canonical value. A text with leading zeros is not a number, because
    /// reading it back would lose them.
    fn number(value: &Value<'_>) -> Option<i64> {
        if let Value::Integer(number) = value {
            return Some(*number);
        }
        let text = value.as_text()?;
        let number: i64 = text.parse().ok()?;
        (number.to_string() == text).then_some(number)
    }
}

/// Returns a number as a canonical value of the field.
fn canonical(number: i64, field: &FormField) -> Value<'static> {
    if field.kind == Kind::Text {
        Value::Text(Cow::Owned(number.to_string()))
    } else {
        Value::Integer(number)
    }
}

impl Form for Scaled {
    fn says(&self) -> String {
        self.unit
            .map_or("as a number".to_owned(), |unit| format!("in {unit}"))
    }

    fn expected(&self) -> String {
        match self.unit {
            Some(unit) => format!("a whole number of {unit}, a multiple of {}", self.factor),
            None => "a whole number".to_owned(),
        }
    }

    fn schema(&self, _: &FormField) -> Json {
        if self.factor == 1 {
            json!({ "type": "integer" })
        } else {
            json!({ "type": "integer", "multipleOf": self.factor })
        }
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        Self::number(value)
            .and_then(|number| number.checked_mul(self.factor))
            .map_or_else(|| plain(value), Json::from)
    }

    fn read(&self, written: &Json, field: &FormField) -> Option<Value<'static>> {
        let written = written.as_i64()?;
        if written % self.factor != 0 {
            return None;
        }
        let number = written / self.factor;
        Some(canonical(number, field))
    }

    fn samples(&self, field: &FormField) -> Vec<Sample> {
        let number = if field.kind == Kind::Year { 2021 } else { 3 };
        vec![Sample::new(canonical(number, field), number * self.factor)]
    }

    fn note(&self, field: &FormField) -> Option<&'static str> {
        (field.kind == Kind::Text)
            .then_some("Texts that are not whole numbers, or begin with a zero, stay texts.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::tests::field_of;

    const MONTHS: Scaled = Scaled::new(12, "months");

    #[test]
    fn only_multiples_of_the_factor_are_read() {
        let field = field_of(Kind::Integer);
        assert_eq!(MONTHS.write(&Value::Integer(11), &field), json!(132));
        assert_eq!(MONTHS.read(&json!(132), &field), Some(Value::Integer(11)));
        for refused in [json!(133), json!(132.5), json!("132"), json!(true)] {
            assert_eq!(MONTHS.read(&refused, &field), None, "{refused}");
        }
    }

    #[test]
    fn text_that_is_no_number_is_written_unchanged() {
        let field = field_of(Kind::Text);
        for text in ["01", "first", ""] {
            assert_eq!(NUMBER.write(&Value::text(text), &field), json!(text));
        }
    }
}
