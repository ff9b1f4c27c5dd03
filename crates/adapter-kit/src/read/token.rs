//! One JSON value where a single value is expected.

use std::borrow::Cow;
use std::fmt;

use domain::record::Changes as _;
use domain::value::impossible_date;
use domain::{Input, Kind, ParsedRecord, Problem, ProblemKind, Record, RecordField as _};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::MAX_DEPTH;

/// A JSON value. What stands inside an array or an object is passed over.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'de> {
    /// `null`.
    Null,
    /// Text.
    Text(Cow<'de, str>),
    /// A number without fraction or exponent.
    Integer(i128),
    /// Anything that no single field can hold: a flag, another number, an array or an object.
    Other,
}

/// Reads one JSON value at a depth.
#[derive(Clone, Copy)]
pub(super) struct TokenAt {
    /// How many arrays and objects stand around the value.
    pub(super) depth: usize,
}

impl TokenAt {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for TokenAt {
    type Value = Token<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TokenAt {
    type Value = Token<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Token::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Token::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Token::Integer(i128::from(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Token::Integer(i128::from(number)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Token::Other)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Token::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Token::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let inner = self.deeper()?;
        while array.next_element_seed(inner)?.is_some() {}
        Ok(Token::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let inner = self.deeper()?;
        while object.next_key_seed(Key)?.is_some() {
            object.next_value_seed(inner)?;
        }
        Ok(Token::Other)
    }
}

/// Reads the key of an object, without a copy where the text has no escapes.
pub(super) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Whether the text has characters that no name, address or reason has.
pub(super) fn has_control_character(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

/// Asks for the value in a field, or says why it cannot be read.
pub(super) fn ask<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, token: Token<'_>) {
    let expected = field.info().kind;
    let impossible_date = match &token {
        Token::Text(text) if matches!(expected, Kind::Date | Kind::Year) => impossible_date(text).map(str::to_owned),
        Token::Null | Token::Text(_) | Token::Integer(_) | Token::Other => None,
    };
    let input = match token {
        Token::Null => return sent.changes.clear(field),
        Token::Text(text) if has_control_character(&text) => {
            return refuse(sent, field, ProblemKind::ControlCharacter);
        }
        Token::Text(text) if text.trim().is_empty() => return sent.changes.blank(field),
        Token::Text(text) => Some(Input::Text(text)),
        Token::Integer(number) => Some(Input::Integer(number)),
        Token::Other => None,
    };
    if !input.is_some_and(|input| sent.changes.set(field, input)) {
        refuse(sent, field, ProblemKind::WrongType { expected, impossible_date });
    }
}

/// Says why a field cannot be read.
pub(super) fn refuse<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, kind: ProblemKind) {
    sent.unread.insert(field);
    sent.problems.push(Problem::at(field, kind));
}

/// Makes a visitor answer single values: null, text and the others.
macro_rules! single_values_are {
    ($value:expr) => {
        single_values_are!(null: $value, text: |_| $value, other: $value);
    };
    (null: $null:expr, text: |$text:tt| $of_text:expr, other: $other:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($null)
        }
        fn visit_str<E>(self, $text: &str) -> Result<Self::Value, E> {
            Ok($of_text)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($other)
        }
    };
}
pub(super) use single_values_are;
