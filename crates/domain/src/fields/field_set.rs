//! A set of fields of one record, stored as the bits of one number.

use std::marker::PhantomData;

use crate::fields::field::RecordField;

/// A set of fields. A record has at most 128 fields.
pub struct FieldSet<F> {
    bits: u128,
    fields: PhantomData<F>,
}

impl<F: RecordField> FieldSet<F> {
    /// Returns an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bits: 0,
            fields: PhantomData,
        }
    }

    /// Adds a field. Returns whether the set did not have the field.
    pub fn insert(&mut self, field: F) -> bool {
        let is_new = !self.contains(field);
        self.bits |= Self::bit(field);
        is_new
    }

    /// Whether the field is in the set.
    #[must_use]
    pub fn contains(&self, field: F) -> bool {
        self.bits & Self::bit(field) != 0
    }

    /// Whether any of the fields is in the set.
    #[must_use]
    pub fn contains_any(&self, fields: &[F]) -> bool {
        fields.iter().any(|field| self.contains(*field))
    }

    /// Whether the set has no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// Returns the fields of the set, in the order of the dictionary.
    pub fn iter(&self) -> impl Iterator<Item = F> + '_ {
        F::ALL.iter().copied().filter(|field| self.contains(*field))
    }

    fn bit(field: F) -> u128 {
        1 << field.index()
    }
}

// Not derived: `derive` would require `F: Clone`.
impl<F> Clone for FieldSet<F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<F> Copy for FieldSet<F> {}
impl<F> Eq for FieldSet<F> {}
impl<F: RecordField> Default for FieldSet<F> {
    fn default() -> Self {
        Self::new()
    }
}
impl<F> PartialEq for FieldSet<F> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<F: RecordField> std::fmt::Debug for FieldSet<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}
impl<F: RecordField> FromIterator<F> for FieldSet<F> {
    fn from_iter<I: IntoIterator<Item = F>>(fields: I) -> Self {
        let mut set = Self::new();
        for field in fields {
            set.insert(field);
        }
        set
    }
}
