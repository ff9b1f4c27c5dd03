//! What changed in a record: the fields that hold something else than before, with both values.
//!
//! Whoever keeps all changes of a record can go back to each of its states. Fields that are computed are left out: they
//! follow from the others. Nested records have changes of their own.
//!
//! Knows nothing of how changes are kept, nor who made them.

use crate::dictionary::{Record, RecordField};
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
        let is_nested = matches!(change.after, Value::Placements(_) | Value::Degrees(_));
        (!is_nested && change.before != change.after).then_some(change)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::example;
    use crate::{Degree, Placement, Trainee};

    fn go_there<R: Record>(from: &R, to: &R) {
        let mut record = from.clone();
        for change in changes(from, to) {
            assert_ne!(change.before, change.after);
            assert!(record.hold(change.field, change.after), "{:?}", change.field);
        }
        assert_eq!(changes(&record, to).count(), 0);
    }

    #[test]
    fn the_changes_between_two_records_lead_from_one_to_the_other() {
        let full = example::trainee();
        for (one, other) in [(Trainee::default(), full.clone()), (full.clone(), Trainee::default())] {
            assert!(changes(&one, &other).count() > 20);
            go_there(&one, &other);
        }
        for placement in &full.placements {
            go_there(&Placement::default(), placement);
        }
        for degree in &full.degrees {
            go_there(&Degree::default(), degree);
        }
        assert_eq!(changes(&full, &full).count(), 0);
    }

    #[test]
    fn a_field_refuses_what_it_cannot_hold() {
        let mut trainee = Trainee::default();
        for field in <Trainee as Record>::Field::ALL {
            assert!(!trainee.hold(*field, Value::Codes(Vec::new())), "{field:?}");
        }
        assert_eq!(trainee, Trainee::default());
    }
}
