//! What changed in a record: the fields whose stored value differs, with both values.
//!
//! Whoever keeps all changes of a record can go back to each of its states. Fields that are
//! computed are left out: they follow from the others. Nested records have changes of their own.
//!
//! Knows nothing of how changes are kept, nor who made them.

use crate::fields::field::RecordField;
use crate::fields::value::Value;
use crate::records::record::Record;

/// A field whose stored value differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange<'a, F> {
    /// The field.
    pub field: F,
    /// The stored value before.
    pub before: Value<'a>,
    /// The stored value now.
    pub after: Value<'a>,
}

/// The fields in which two records differ, in the order of the dictionary.
pub fn changes<'a, R: Record>(
    before: &'a R,
    after: &'a R,
) -> impl Iterator<Item = FieldChange<'a, R::Field>> {
    R::Field::ALL.iter().filter_map(|field| {
        let change = FieldChange {
            field: *field,
            before: before.stored(*field),
            after: after.stored(*field),
        };
        (change.before != change.after).then_some(change)
    })
}
