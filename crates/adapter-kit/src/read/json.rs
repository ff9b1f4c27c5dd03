//! A JSON body as a tree with ordered pairs, as deep as a record can use it.
//!
//! Objects keep repeated keys. What is nested deeper than the values of a nested record is parsed and not kept, so depth
//! costs no memory. A body of nothing but short keys takes some ten times the memory of its bytes while it is read, which
//! happens in the jobs of the store, a few at a time.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::limits::{MAX_DEPTH, MAX_RECORDS};

/// How deep arrays and objects are kept: the body, `data`, a nested list and its records.
const KEPT_DEPTH: usize = 4;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'de> {
    Null,
    Text(Cow<'de, str>),
    /// A number without fraction or exponent.
    Integer(i128),
    Array(Vec<Self>),
    Object(Vec<(Cow<'de, str>, Self)>),
    /// A boolean, another number, or something that is nested too deep for a record.
    Other,
}

/// Reads one value with so many arrays and objects around it.
#[derive(Clone, Copy)]
pub(super) struct JsonAt {
    pub(super) depth: usize,
}

impl JsonAt {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for JsonAt {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonAt {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Json::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Json::Integer(number.into()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Json::Other)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    /// Keeps all strings, and of other elements one more than a nested list can have.
    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let inner = self.deeper()?;
        let mut kept = Vec::new();
        let mut others = 0;
        while let Some(element) = array.next_element_seed(inner)? {
            others += usize::from(!matches!(element, Json::Text(_)));
            if self.depth < KEPT_DEPTH && (others <= MAX_RECORDS + 1 || matches!(element, Json::Text(_))) {
                kept.push(element);
            }
        }
        Ok(if self.depth < KEPT_DEPTH { Json::Array(kept) } else { Json::Other })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let inner = self.deeper()?;
        let mut kept = Vec::new();
        while let Some(key) = object.next_key_seed(Key)? {
            let value = object.next_value_seed(inner)?;
            if self.depth < KEPT_DEPTH {
                kept.push((key, value));
            }
        }
        Ok(if self.depth < KEPT_DEPTH { Json::Object(kept) } else { Json::Other })
    }
}

/// Reads the key of an object, without a copy where it has no escapes.
struct Key;

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
