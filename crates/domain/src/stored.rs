//! Where the stored values of a record's fields come from.
//!
//! The struct of a record is for changing it. Whatever only shows a record, or derives something from it, asks for stored
//! values one by one, so that a record that is borrowed from a stored document is shown without being copied out of it.

use std::borrow::Cow;
use std::fmt;

use crate::dictionary::{Record, RecordField as _};
use crate::value::{Typed, Value};

/// The stored values of a record's fields, wherever they are: in the struct, or in a document that they are borrowed from.
pub trait Stored<R: Record>: fmt::Debug + Sync {
    /// The stored value of the field; null where nothing is stored, and for computed fields.
    fn stored(&self, field: R::Field) -> Value<'_>;

    /// The stored value as JSON, where it is at hand in that form.
    fn json(&self, field: R::Field) -> Json<'_> {
        let _ = field;
        Json::NotAtHand
    }
}

/// A stored value as the JSON that a reply shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Json<'a> {
    /// The value must be asked for.
    NotAtHand,
    /// It is null.
    Null,
    /// It is written so.
    Text(&'a str),
}

impl<R: Record> dyn Stored<R> + '_ {
    /// The stored value of the field as the type that the record's struct has; `None` where nothing of this type is stored.
    pub fn get<T: Typed>(&self, field: R::Field) -> Option<T> {
        T::of_view(self.stored(field))
    }

    /// The stored text of the field; `None` where no text is stored.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<Cow<'_, str>> {
        if let Value::Text(text) = self.stored(field) { Some(text) } else { None }
    }

    /// Whether anything is stored in the field.
    #[must_use]
    pub fn has(&self, field: R::Field) -> bool {
        self.stored(field) != Value::Null
    }
}

/// Two records are equal when the stored values of all their fields are.
impl<R: Record> PartialEq for dyn Stored<R> + '_ {
    fn eq(&self, other: &Self) -> bool {
        R::Field::ALL.iter().all(|field| self.stored(*field) == other.stored(*field))
    }
}
