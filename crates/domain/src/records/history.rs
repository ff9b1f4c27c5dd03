//! Compares two states of a record: lists the changed fields with both stored values.
//!
//! The history of a record consists of these changes, so every earlier state can be restored.
//! Computed fields are not compared. Nested records have separate changes.

use crate::fields::field::RecordField;
use crate::fields::value::Value;
use crate::records::record::Record;

/// A changed field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange<'a, F> {
    /// The field.
    pub field: F,
    /// The stored value before the change.
    pub before: Value<'a>,
    /// The stored value after the change.
    pub after: Value<'a>,
}

/// Returns the fields with different stored values, in the order of the dictionary.
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
