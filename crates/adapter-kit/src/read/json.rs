//! Reads a JSON body in one pass. A [`Target`] reads or skips each value. Skipped values are not
//! stored. All targets share one check of the nesting depth.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::limits::MAX_DEPTH;

/// A JSON value other than an array or an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar<'de> {
    Null,
    Text(Cow<'de, str>),
    /// A number without fraction or exponent.
    Integer(i128),
    Boolean(bool),
    /// Any other number, or a skipped array or object.
    Other,
}

/// Reads one JSON value.
pub(super) trait Target<'de>: Sized {
    /// The result of reading.
    type Output;

    /// Converts a scalar.
    fn scalar(self, value: Scalar<'de>) -> Self::Output;

    /// Converts a boolean.
    fn boolean(self, flag: bool) -> Self::Output {
        self.scalar(Scalar::Boolean(flag))
    }

    /// Converts a number with a fraction or an exponent.
    fn fraction(self, _: f64) -> Self::Output {
        self.scalar(Scalar::Other)
    }

    /// Reads an array to its end. The default skips its elements.
    fn array<A: SeqAccess<'de>>(
        self,
        mut elements: Elements<'de, A>,
    ) -> Result<Self::Output, A::Error> {
        elements.skip_rest()?;
        Ok(self.scalar(Scalar::Other))
    }

    /// Reads an object to its end. The default skips its pairs.
    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<Self::Output, A::Error> {
        while pairs.key()?.is_some() {
            pairs.value(Skip)?;
        }
        Ok(self.scalar(Scalar::Other))
    }
}

/// Skips a value, but checks its depth.
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
    /// Reads the next element. Returns `None` at the end.
    pub(super) fn next<T: Target<'de>>(
        &mut self,
        target: T,
    ) -> Result<Option<T::Output>, A::Error> {
        self.access.next_element_seed(At {
            depth: self.depth,
            target,
        })
    }

    /// Skips the remaining elements, and returns their number.
    pub(super) fn skip_rest(&mut self) -> Result<usize, A::Error> {
        let mut skipped = 0;
        while self.next(Skip)?.is_some() {
            skipped += 1;
        }
        Ok(skipped)
    }
}

/// The pairs of an object, in order, including repeated keys. The caller must read the value after
/// each key.
#[expect(
    missing_debug_implementations,
    reason = "a position in a text that is being read"
)]
pub struct Pairs<'de, A> {
    access: A,
    depth: usize,
    text: PhantomData<&'de str>,
}

impl<'de, A: MapAccess<'de>> Pairs<'de, A> {
    /// Reads the next key. Returns `None` at the end.
    pub(super) fn key(&mut self) -> Result<Option<Cow<'de, str>>, A::Error> {
        self.access.next_key_seed(At {
            depth: self.depth,
            target: Key,
        })
    }

    /// Reads the value of the last key.
    pub(super) fn value<T: Target<'de>>(&mut self, target: T) -> Result<T::Output, A::Error> {
        self.access.next_value_seed(At {
            depth: self.depth,
            target,
        })
    }
}

/// Reads the key of an object. Copies only keys with escapes.
struct Key;

impl<'de> Target<'de> for Key {
    type Output = Cow<'de, str>;

    // A key is always text.
    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if let Scalar::Text(text) = value {
            text
        } else {
            Cow::Borrowed("")
        }
    }
}

/// A target for a value at a depth.
pub(super) struct At<T> {
    /// The number of arrays and objects around the value.
    pub(super) depth: usize,
    pub(super) target: T,
}

impl<T> At<T> {
    /// Returns the depth of values in this value. Fails beyond [`MAX_DEPTH`].
    fn inner_depth<E: Error>(&self) -> Result<usize, E> {
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

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(self.target.boolean(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Integer(number.into())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.target.scalar(Scalar::Integer(number.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(self.target.fraction(value))
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
        let depth = self.inner_depth()?;
        self.target.array(Elements {
            access,
            depth,
            text: PhantomData,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
        let depth = self.inner_depth()?;
        self.target.object(Pairs {
            access,
            depth,
            text: PhantomData,
        })
    }
}
