//! The changes between two records.

use domain::records::history::changes;
use domain::{Degree, Placement, Record, RecordField as _, Trainee, Value};
use fixtures::example;

fn go_there<R: Record>(from: &R, to: &R) {
    let mut record = from.clone();
    for change in changes(from, to) {
        assert_ne!(change.before, change.after);
        assert!(
            record.set_stored(change.field, change.after),
            "{:?}",
            change.field
        );
    }
    assert_eq!(changes(&record, to).count(), 0);
}

#[test]
fn changes_turn_record_into_other() {
    let full = example::trainee();
    for (one, other) in [
        (Trainee::default(), full.clone()),
        (full.clone(), Trainee::default()),
    ] {
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
        assert!(
            !trainee.set_stored(*field, Value::Codes(Vec::new())),
            "{field:?}"
        );
    }
    assert_eq!(trainee, Trainee::default());
}
