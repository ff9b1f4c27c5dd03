//! The traits of records: fields, changes and stored values.
//!
//! Code that only reads a record uses [`Stored`]. Then a record borrowed from a stored document
//! need not be copied. Code that changes a record uses its struct.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use crate::fields::accepted_codes::AcceptedCodes;
use crate::fields::field::{InvalidValue, RecordField};
use crate::fields::field_set::FieldSet;
use crate::fields::value::{FieldType, Input, Value};
use crate::lists::Lists;
use crate::records::organisations::Organisations;

/// The requested change of one field.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Change<T> {
    /// The request has no key for the field.
    #[default]
    Keep,
    /// The request sends null.
    Clear,
    /// The request sends blank text. Blank text has the effect of null unless a rule distinguishes
    /// them.
    Blank,
    /// The request sends a value.
    Set(T),
}

/// The requested changes of a record.
pub trait Changes: Default + Clone + PartialEq + fmt::Debug + Send + 'static {
    /// The fields of the record.
    type Field: RecordField;

    /// Sets a field. Returns false, without a change, if the input has the wrong type.
    fn set(&mut self, field: Self::Field, input: Input<'_>) -> bool;

    /// Clears a field sent as null.
    fn clear(&mut self, field: Self::Field);

    /// Clears a field sent as blank text.
    fn blank(&mut self, field: Self::Field);

    /// Returns the requested value: null if the request clears the field, `None` if the request has
    /// no key for the field.
    fn requested(&self, field: Self::Field) -> Option<Value<'_>>;
}

/// The result of merging changes into a record.
#[derive(Debug)]
pub struct Merged<F: RecordField> {
    /// Fields with a changed value.
    pub changed: FieldSet<F>,
    /// Fields with a key in the request.
    pub present: FieldSet<F>,
    /// Fields sent as blank text.
    pub blank: FieldSet<F>,
    /// Fields with an invalid value. Invalid values are not merged.
    pub invalid: Vec<(F, InvalidValue)>,
}

impl<F: RecordField> Merged<F> {
    pub(crate) fn new() -> Self {
        Self {
            changed: FieldSet::new(),
            present: FieldSet::new(),
            blank: FieldSet::new(),
            invalid: Vec::new(),
        }
    }
}

/// The lists of nested records of a record; `()` for a record without nested records.
pub trait NestedLists: Default + Clone + PartialEq + fmt::Debug + Send {
    /// The nested records, read from their storage.
    type Stored<'a>: Default;
    /// The nested records as sent in a request.
    type Parsed: Default + Clone + PartialEq + fmt::Debug + Send;
}

impl NestedLists for () {
    type Stored<'a> = ();
    type Parsed = ();
}

/// The fields of a record that describe its school.
#[derive(Debug, Clone, Copy)]
pub struct SchoolFields<F> {
    /// The URN, which is the key of the school.
    pub urn: F,
    /// The name.
    pub name: F,
    /// The postcode.
    pub postcode: F,
}

/// The differences between the kinds of nested records.
pub trait NestedKind: Record<Owner = ()> {
    /// Records of a trainee with equal values in all these fields are duplicates and are refused.
    /// Empty if the kind has no duplicates. Null equals null.
    const DUPLICATE_FIELDS: &'static [Self::Field] = &[];

    /// The fields of the record's school; `None` for a kind without a school.
    const SCHOOL: Option<SchoolFields<Self::Field>> = None;

    /// Compares two records of a trainee for display. Callers must use a stable sort.
    fn compare(&self, other: &Self) -> Ordering;

    /// Whether the records are duplicates.
    fn duplicates(&self, other: &Self) -> bool {
        let mut fields = Self::DUPLICATE_FIELDS.iter();
        !Self::DUPLICATE_FIELDS.is_empty()
            && fields.all(|field| self.stored(*field) == other.stored(*field))
    }

    /// Returns the fields with copied values of a school. Changes of the school change these fields
    /// without an entry in the history.
    fn mirrored_fields(&self) -> &'static [Self::Field] {
        &[]
    }
}

/// A record of the dictionary.
pub trait Record: Stored<Self> + Clone + Default + PartialEq + Send + 'static {
    /// The fields of the record.
    type Field: RecordField;
    /// The changes that a request can ask for.
    type Changes: Changes<Field = Self::Field>;
    /// The record that owns this one: the trainee of a withdrawal; `()` for a trainee.
    type Owner: Clone + Default + fmt::Debug;
    /// The record without its nested records. Rules read this form.
    type Flat: Stored<Self> + Clone + Default + PartialEq + Send;
    /// The nested records.
    type Nested: NestedLists;

    /// The name of the record, such as `trainee`.
    const NAME: &'static str;

    /// Returns the canonical value of a field for responses. Computes values that are not stored.
    fn shown<'a>(record: &'a dyn Stored<Self>, field: Self::Field, lists: &'a Lists) -> Value<'a>;

    /// Like [`Record::shown`], but for the struct of the record.
    fn value<'a>(&'a self, field: Self::Field, lists: &'a Lists) -> Value<'a> {
        Self::shown(self, field, lists)
    }

    /// Sets a field to a value of [`Stored::stored`]. Returns false if the value has the wrong
    /// type.
    fn set_stored(&mut self, field: Self::Field, value: Value<'_>) -> bool;

    /// Separates the nested records.
    fn split(self) -> (Self::Flat, Self::Nested);

    /// The inverse of [`Record::split`].
    #[must_use]
    fn join(record: Self::Flat, nested: Self::Nested) -> Self;

    /// Merges changes into a stored record, or into a new record if `stored` is `None`. Values
    /// equal to the shown value of the stored record count as not sent. Invalid values are not
    /// merged.
    fn merge(
        stored: Option<&Self::Flat>,
        changes: Self::Changes,
        lists: &Lists,
        accepted_codes: &AcceptedCodes,
    ) -> (Self::Flat, Merged<Self::Field>);

    /// Returns fields that an update changes in addition to those in `changed`. Example: if the
    /// training partner has only a UKPRN, null for its URN removes the link and changes the UKPRN.
    #[must_use]
    fn implied_changes(
        stored: &Self::Flat,
        changes: &Self::Changes,
        changed: &FieldSet<Self::Field>,
        lists: &Lists,
    ) -> &'static [Self::Field] {
        let _ = (stored, changes, changed, lists);
        &[]
    }

    /// Returns fields with values from another source. Sent values of these fields are neither used
    /// nor validated.
    #[must_use]
    fn ignored_fields(
        record: &Self::Flat,
        organisations: &Organisations,
    ) -> &'static [Self::Field] {
        let _ = (record, organisations);
        &[]
    }
}

/// Read access to the stored values of a record: a struct, or a record borrowed from a document.
pub trait Stored<R: Record>: fmt::Debug + Sync {
    /// Returns the stored value of a field. Returns null if no value is stored, and for computed
    /// fields and nested records.
    fn stored(&self, field: R::Field) -> Value<'_>;

    /// Returns the stored value as JSON if that form is available.
    fn json(&self, field: R::Field) -> StoredJson<'_> {
        let _ = field;
        StoredJson::Unavailable
    }

    /// Returns the nested records.
    fn nested(&self) -> <R::Nested as NestedLists>::Stored<'_> {
        Default::default()
    }
}

/// A stored value as the JSON that a response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredJson<'a> {
    /// The value is not available as JSON. Use [`Stored::stored`].
    Unavailable,
    /// The value is null.
    Null,
    /// The value is this JSON text.
    Text(&'a str),
}

impl<R: Record> dyn Stored<R> + '_ {
    /// Returns the stored value of a field as a Rust type, or `None` if no value of this type is
    /// stored.
    pub fn get<T: FieldType>(&self, field: R::Field) -> Option<T> {
        T::from_value(self.stored(field))
    }

    /// Returns the stored text of a field, or `None` if no text is stored.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<Cow<'_, str>> {
        if let Value::Text(text) = self.stored(field) {
            Some(text)
        } else {
            None
        }
    }

    /// Whether the field has a stored value.
    #[must_use]
    pub fn has(&self, field: R::Field) -> bool {
        self.stored(field) != Value::Null
    }
}

/// Compares the stored values of all fields.
impl<R: Record> PartialEq for dyn Stored<R> + '_ {
    fn eq(&self, other: &Self) -> bool {
        R::Field::ALL
            .iter()
            .all(|field| self.stored(*field) == other.stored(*field))
    }
}

/// Sets a field of a struct. Returns false, without a change, if the value has the wrong type.
pub(crate) fn set<T: FieldType>(field: &mut Option<T>, value: Value<'_>) -> bool {
    if value == Value::Null {
        *field = None;
        return true;
    }
    match T::from_value(value) {
        Some(value) => {
            *field = Some(value);
            true
        }
        None => false,
    }
}
