//! The traits of records: their fields, their changes, and where their values are stored.
//!
//! A record is shown, and fields are derived from it, through [`Stored`], so that a record that is
//! borrowed from a stored document is shown without being copied out of it. The struct of a record
//! is for changing it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use crate::fields::accepted_codes::AcceptedCodes;
use crate::fields::field::{InvalidValue, RecordField};
use crate::fields::field_set::FieldSet;
use crate::fields::value::{FieldType, Input, Value};
use crate::lists::Lists;
use crate::records::organisations::Organisations;

/// The change of one field that a request asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Change<T> {
    /// The request has no key for the field.
    #[default]
    Keep,
    /// The request sends null.
    Clear,
    /// The request sends blank text, which clears like null except where a rule distinguishes them.
    Blank,
    /// The request sends a value.
    Set(T),
}

/// The changes of a record that a request asks for.
pub trait Changes: Default + Clone + PartialEq + fmt::Debug + Send + 'static {
    /// The fields of the record.
    type Field: RecordField;

    /// Sets a field; false when the input is of another type.
    fn set(&mut self, field: Self::Field, input: Input<'_>) -> bool;

    /// Clears a field because null was sent.
    fn clear(&mut self, field: Self::Field);

    /// Clears a field because blank text was sent.
    fn blank(&mut self, field: Self::Field);

    /// The requested value: `None` when the request has no key for the field, null when it clears
    /// it.
    fn requested(&self, field: Self::Field) -> Option<Value<'_>>;
}

/// The result of merging changes into a record.
#[derive(Debug)]
pub struct Merged<F: RecordField> {
    /// Fields whose value the request changes.
    pub changed: FieldSet<F>,
    /// Fields with a key in the request, whatever its value.
    pub present: FieldSet<F>,
    /// Fields sent as blank text.
    pub blank: FieldSet<F>,
    /// Values that the field cannot store; they were not merged.
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

/// The lists of nested records that a record has; `()` for one without.
pub trait NestedLists: Default + Clone + PartialEq + fmt::Debug + Send {
    /// The nested records, wherever they are stored.
    type Stored<'a>: Default;
    /// The nested records as a request sends them.
    type Parsed: Default + Clone + PartialEq + fmt::Debug + Send;
}

impl NestedLists for () {
    type Stored<'a> = ();
    type Parsed = ();
}

/// The fields that say in which school something is.
#[derive(Debug, Clone, Copy)]
pub struct SchoolFields<F> {
    /// The URN, by which the school is looked up.
    pub urn: F,
    /// The name.
    pub name: F,
    /// The postcode.
    pub postcode: F,
}

/// What differs between the kinds of records that are nested in a trainee.
pub trait NestedKind: Record<Owner = ()> {
    /// Whether a trainee can have no two records that are duplicates.
    const REFUSES_DUPLICATES: bool = false;

    /// The fields of the school that a record is in.
    const SCHOOL: Option<SchoolFields<Self::Field>> = None;

    /// The order in which the records of a trainee are shown. Callers sort stably: equal records
    /// stay in the order of the list.
    fn compare(&self, other: &Self) -> Ordering;

    /// Whether the two records are duplicates.
    fn duplicates(&self, other: &Self) -> bool {
        let _ = other;
        false
    }

    /// Fields whose stored values are those of another record, which changes them without an entry
    /// in the history.
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
    /// The record that this one is written for: the trainee of a withdrawal, nothing for a trainee.
    type Owner: Clone + Default + fmt::Debug;
    /// The record without its nested records: what a rule sees that does not declare more.
    type Flat: Stored<Self> + Clone + Default + PartialEq + Send;
    /// The nested records.
    type Nested: NestedLists;

    /// The record's name, such as `trainee`.
    const NAME: &'static str;

    /// The value that a response shows, computed where it is not stored, of a record wherever it is
    /// stored.
    fn shown<'a>(record: &'a dyn Stored<Self>, field: Self::Field, lists: &'a Lists) -> Value<'a>;

    /// The value that a response shows.
    fn value<'a>(&'a self, field: Self::Field, lists: &'a Lists) -> Value<'a> {
        Self::shown(self, field, lists)
    }

    /// Sets a field to a value of [`Stored::stored`]; false when it is of another type.
    fn set_stored(&mut self, field: Self::Field, value: Value<'_>) -> bool;

    /// Separates the nested records.
    fn split(self) -> (Self::Flat, Self::Nested);

    /// The inverse of [`Record::split`].
    #[must_use]
    fn join(record: Self::Flat, nested: Self::Nested) -> Self;

    /// The record with the changes merged into it; `stored` is `None` when it is new. A value equal
    /// to the one that the stored record shows counts as not sent; one that the field cannot store
    /// is reported and left out.
    fn merge(
        stored: Option<&Self::Flat>,
        changes: Self::Changes,
        lists: &Lists,
        accepted_codes: &AcceptedCodes,
    ) -> (Self::Flat, Merged<Self::Field>);

    /// Fields that an update changes although it sends no other value for them, besides those in
    /// `changed`: null for the URN of a training partner that is known by its UKPRN alone removes
    /// the link.
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

    /// Fields whose values come from elsewhere, so that nothing that a request sends for them is
    /// used or can be invalid.
    #[must_use]
    fn ignored_fields(
        record: &Self::Flat,
        organisations: &Organisations,
    ) -> &'static [Self::Field] {
        let _ = (record, organisations);
        &[]
    }
}

/// The stored values of a record's fields, wherever they are: in the struct, or in a document that
/// they are borrowed from.
pub trait Stored<R: Record>: fmt::Debug + Sync {
    /// The stored value of the field; null where nothing is stored, and for computed fields and
    /// nested records.
    fn stored(&self, field: R::Field) -> Value<'_>;

    /// The stored value as JSON, where it is available in that form.
    fn json(&self, field: R::Field) -> StoredJson<'_> {
        let _ = field;
        StoredJson::Unavailable
    }

    /// The nested records.
    fn nested(&self) -> <R::Nested as NestedLists>::Stored<'_> {
        Default::default()
    }
}

/// A stored value as the JSON that a response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredJson<'a> {
    /// Only [`Stored::stored`] has the value.
    Unavailable,
    /// It is null.
    Null,
    /// It is this JSON text.
    Text(&'a str),
}

impl<R: Record> dyn Stored<R> + '_ {
    /// The stored value of the field as a Rust type; `None` where nothing of this type is stored.
    pub fn get<T: FieldType>(&self, field: R::Field) -> Option<T> {
        T::from_value(self.stored(field))
    }

    /// The stored text of the field; `None` where no text is stored.
    #[must_use]
    pub fn text(&self, field: R::Field) -> Option<Cow<'_, str>> {
        if let Value::Text(text) = self.stored(field) {
            Some(text)
        } else {
            None
        }
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
        R::Field::ALL
            .iter()
            .all(|field| self.stored(*field) == other.stored(*field))
    }
}

/// Sets a field of a struct; false, and nothing else, when the value is of another type.
pub(crate) fn set<T: FieldType>(field: &mut Option<T>, value: Value<'_>) -> bool {
    if value == Value::Null {
        *field = None;
        return true;
    }
    let value = T::from_value(value);
    let fits = value.is_some();
    if fits {
        *field = value;
    }
    fits
}
