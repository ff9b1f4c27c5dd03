//! What changed in a record: the fields that hold something else than before, with both values.
//!
//! Whoever keeps all changes of a record can go back to each of its states. Fields that are computed are left out: they
//! follow from the others. Nested records have changes of their own.
//!
//! Knows nothing of how changes are kept, nor who made them.

use crate::field::RecordField;
use crate::record::Record;
use crate::value::Value;

/// A field that holds something else than before.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange<'a, F> {
    /// The field.
    pub field: F,
    /// What it held.
    pub before: Value<'a>,
    /// What it holds now.
    pub after: Value<'a>,
}

/// The fields that `after` holds otherwise than `before`, in the order of the dictionary.
pub fn changes<'a, R: Record>(before: &'a R, after: &'a R) -> impl Iterator<Item = FieldChange<'a, R::Field>> {
    R::Field::ALL.iter().filter_map(|field| {
        let change = FieldChange { field: *field, before: before.stored(*field), after: after.stored(*field) };
        (change.before != change.after).then_some(change)
    })
}
