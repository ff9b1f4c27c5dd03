//! Reads a JSON body in one pass: each value goes to a target, which takes it or skips it. Nothing
//! is kept of what no target takes, and the depth is checked here alone.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::limits::MAX_DEPTH;

/// A JSON value that is no array and no object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar<'de> {
    Null,
    Text(Cow<'de, str>),
    /// A number without fraction or exponent.
    Integer(i128),
    /// A boolean, another number, or an array or an object that the target skips.
    Other,
}

/// What a JSON value is read into.
pub(super) trait Target<'de>: Sized {
    /// What is read.
    type Output;

    /// Takes a scalar.
    fn scalar(self, value: Scalar<'de>) -> Self::Output;

    /// Reads an array, to its end.
    fn array<A: SeqAccess<'de>>(
        self,
        mut elements: Elements<'de, A>,
    ) -> Result<Self::Output, A::Error> {
        elements.skip_rest()?;
        Ok(self.scalar(Scalar::Other))
    }

    /// Reads an object, to its end.
    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<Self::Output, A::Error> {
        while pairs.key()?.is_some() {
            pairs.value(Skip)?;
        }
        Ok(self.scalar(Scalar::Other))
    }
}

/// Reads nothing but the depth.
pub(super) struct Skip;

impl<'de> Target<'de> for Skip {
    type Output = ();

    fn scalar(self, _: Scalar<'de>) {}
}

/// The elements of an array.
pub(super) struct Elements<'de, A> {
    access: A,
    depth: usize,
    text: PhantomData<&'de str>,
}

impl<'de, A: SeqAccess<'de>> Elements<'de, A> {
    /// The next element; `None` at the end.
    pub(super) fn next<T: Target<'de>>(
        &mut self,
        target: T,
    ) -> Result<Option<T::Output>, A::Error> {
        self.access.next_element_seed(At {
            depth: self.depth,
            target,
        })
    }

    /// How many elements are left; they are skipped.
    pub(super) fn skip_rest(&mut self) -> Result<usize, A::Error> {
        let mut skipped = 0;
        while self.next(Skip)?.is_some() {
            skipped += 1;
        }
        Ok(skipped)
    }
}

/// The pairs of an object, in order, repeated keys included. After each key its value is to be
/// read.
#[expect(
    missing_debug_implementations,
    reason = "what is left of a text that is being read"
)]
pub struct Pairs<'de, A> {
    access: A,
    depth: usize,
    text: PhantomData<&'de str>,
}

impl<'de, A: MapAccess<'de>> Pairs<'de, A> {
    /// The next key; `None` at the end.
    pub(super) fn key(&mut self) -> Result<Option<Cow<'de, str>>, A::Error> {
        self.access.next_key_seed(At {
            depth: self.depth,
            target: Key,
        })
    }

    /// The value of the key.
    pub(super) fn value<T: Target<'de>>(&mut self, target: T) -> Result<T::Output, A::Error> {
        self.access.next_value_seed(At {
            depth: self.depth,
            target,
        })
    }
}

/// Reads the key of an object, without a copy where it has no escapes.
struct Key;

impl<'de> Target<'de> for Key {
    type Output = Cow<'de, str>;

    /// A key is always text.
    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if let Scalar::Text(text) = value {
            text
        } else {
            Cow::Borrowed("")
        }
    }
}

/// A value with so many arrays and objects around it.
pub(super) struct At<T> {
    pub(super) depth: usize,
    pub(super) target: T,
}

impl<T> At<T> {
    fn deeper<E: Error>(&self) -> Result<usize, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        }
        Ok(self.depth + 1)
    }
}

impl<'de, T: Target<'de>> DeserializeSeed<'de> for At<T> {
    type Value = T::Output;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Target<'de>> Visitor<'de> for At<T> {
    type Value = T::Output;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Null))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Other))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Integer(number.into())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Integer(number.into())))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Other))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self
            .target
            .scalar(Scalar::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
        let depth = self.deeper()?;
        self.target.array(Elements {
            access,
            depth,
            text: PhantomData,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
        let depth = self.deeper()?;
        self.target.object(Pairs {
            access,
            depth,
            text: PhantomData,
        })
    }
}
