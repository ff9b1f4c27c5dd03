//! Records that are stored elsewhere than in the struct.

use std::borrow::Cow;

use domain::invariants::violations;
use domain::records::trainee::{Borrowed, NestedRecords};
use domain::{
    Degree, Lists, Placement, Record, RecordField as _, Stored, Trainee, TraineeField, Value,
};
use fixtures::example;

/// A record that returns owned values, as one whose texts are decoded when they are read.
#[derive(Debug)]
struct Decoded<'a> {
    record: &'a Trainee,
    placements: Vec<DecodedNested<'a, Placement>>,
    degrees: Vec<DecodedNested<'a, Degree>>,
}

#[derive(Debug)]
struct DecodedNested<'a, R>(&'a R);

fn decoded(value: Value<'_>) -> Value<'_> {
    if let Value::Text(text) = value {
        Value::Text(Cow::Owned(text.into_owned()))
    } else {
        value
    }
}

impl<R: Record> Stored<R> for DecodedNested<'_, R> {
    fn stored(&self, field: R::Field) -> Value<'_> {
        decoded(self.0.stored(field))
    }
}

impl Stored<Trainee> for Decoded<'_> {
    fn stored(&self, field: TraineeField) -> Value<'_> {
        decoded(self.record.stored(field))
    }

    fn nested(&self) -> NestedRecords<Borrowed<'_>> {
        NestedRecords {
            placements: self.placements.iter().map(|record| record as _).collect(),
            degrees: self.degrees.iter().map(|record| record as _).collect(),
            ..NestedRecords::default()
        }
    }
}

#[test]
fn record_forms_are_shown_and_checked_alike() {
    let lists = Lists::embedded();
    let invalid = Trainee {
        trn: None,
        sex: Some("x".to_owned()),
        ..example::trainee()
    };
    for record in [example::trainee(), invalid, Trainee::default()] {
        let decoded = Decoded {
            record: &record,
            placements: record.placements.iter().map(DecodedNested).collect(),
            degrees: record.degrees.iter().map(DecodedNested).collect(),
        };
        for field in <Trainee as Record>::Field::ALL {
            assert_eq!(
                Trainee::shown(&decoded, *field, lists),
                record.value(*field, lists),
                "{field:?}"
            );
        }
        for (nested, record) in decoded.degrees.iter().zip(&record.degrees) {
            for field in <Degree as Record>::Field::ALL {
                assert_eq!(
                    Degree::shown(nested, *field, lists),
                    record.value(*field, lists),
                    "{field:?}"
                );
            }
        }
        for (nested, record) in decoded.placements.iter().zip(&record.placements) {
            for field in <Placement as Record>::Field::ALL {
                assert_eq!(
                    Placement::shown(nested, *field, lists),
                    record.value(*field, lists),
                    "{field:?}"
                );
            }
        }
        assert_eq!(violations(&decoded, lists), violations(&record, lists));
    }
}

#[test]
fn records_are_equal_by_their_stored_values() {
    let placements = [Some("1"), Some("1"), None].map(|urn| Placement {
        urn: urn.map(str::to_owned),
        ..Placement::default()
    });
    let [one, same, other] = placements
        .each_ref()
        .map(|placement| placement as &dyn Stored<Placement>);
    assert!(one == same);
    assert!(one != other);
}
