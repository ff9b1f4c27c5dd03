//! Records that are stored elsewhere than in the struct.

use std::borrow::Cow;

use domain::soundness::faults;
use domain::{Degree, Lists, Placement, Trainee, TraineeField};
use domain::{Record, RecordField as _, Stored, Value};
use fixtures::example;

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
