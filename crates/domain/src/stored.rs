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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soundness::faults;
    use crate::specimen::example;
    use crate::{Degree, Lists, Placement, Trainee, TraineeField};

    /// A record that owns nothing that it gives away, as one whose texts are decoded where they are asked for.
    #[derive(Debug)]
    struct Decoded<'a> {
        record: &'a Trainee,
        placements: Vec<DecodedNested<'a, Placement>>,
        degrees: Vec<DecodedNested<'a, Degree>>,
    }

    #[derive(Debug)]
    struct DecodedNested<'a, R>(&'a R);

    fn decoded(value: Value<'_>) -> Value<'_> {
        if let Value::Text(text) = value { Value::Text(Cow::Owned(text.into_owned())) } else { value }
    }

    impl<R: Record> Stored<R> for DecodedNested<'_, R> {
        fn stored(&self, field: R::Field) -> Value<'_> {
            decoded(self.0.stored(field))
        }
    }

    impl Stored<Trainee> for Decoded<'_> {
        fn stored(&self, field: TraineeField) -> Value<'_> {
            if field == TraineeField::placements {
                Value::placements(&self.placements)
            } else if field == TraineeField::degrees {
                Value::degrees(&self.degrees)
            } else {
                decoded(self.record.stored(field))
            }
        }
    }

    #[test]
    fn record_is_shown_and_judged_alike_wherever_it_is_stored() {
        let lists = Lists::embedded();
        let unsound = Trainee { trn: None, sex: Some("x".to_owned()), ..example::trainee() };
        for record in [example::trainee(), unsound, Trainee::default()] {
            let decoded = Decoded {
                record: &record,
                placements: record.placements.iter().map(DecodedNested).collect(),
                degrees: record.degrees.iter().map(DecodedNested).collect(),
            };
            for field in <Trainee as Record>::Field::ALL {
                assert_eq!(Trainee::shown(&decoded, *field, lists), record.value(*field, lists), "{field:?}");
            }
            for (nested, record) in decoded.degrees.iter().zip(&record.degrees) {
                for field in <Degree as Record>::Field::ALL {
                    assert_eq!(Degree::shown(nested, *field, lists), record.value(*field, lists), "{field:?}");
                }
            }
            for (nested, record) in decoded.placements.iter().zip(&record.placements) {
                for field in <Placement as Record>::Field::ALL {
                    assert_eq!(Placement::shown(nested, *field, lists), record.value(*field, lists), "{field:?}");
                }
            }
            assert_eq!(faults(&decoded, lists), faults(&record, lists));
        }
    }

    #[test]
    fn nested_records_are_equal_by_their_stored_values() {
        let [one, same, other] =
            [Some("1"), Some("1"), None].map(|urn| [Placement { urn: urn.map(str::to_owned), ..Placement::default() }]);
        assert_eq!(Value::placements(&one), Value::placements(&same));
        assert_ne!(Value::placements(&one), Value::placements(&other));
        assert_ne!(Value::placements(&one), Value::placements::<Placement>(&[]));
    }
}
