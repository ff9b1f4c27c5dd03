//! Duplicates: a person registered twice.

mod race;

use domain::TraineeField as F;
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Register, every_version, run_cases};

#[test]
fn same_person_is_a_conflict() {
    run_cases(include_str!("duplicates.txt"));
}

#[test]
fn all_matching_records_are_shown_oldest_first() {
    every_version(|api| {
        let by_name = api.create(api.example().with(F::email, "one@example.com"));
        let body = api
            .example()
            .with(F::first_names, "Another Person")
            .with(F::email, "two@example.com");
        let by_address = api.create(body);
        let body = api.example().with(F::email, "two@example.com");
        let reply = api.send("POST", "/trainees", body).is(409);
        assert_eq!(*reply.data(), json!([by_name.data, by_address.data]));
    });
}

#[test]
fn duplicate_is_found_in_every_versions_names() {
    for writing in SERVED {
        let register = Register::start();
        let writer = register.api(writing);
        let created = writer.create(writer.example().with(F::course_subject_2, "100425"));
        for asking in SERVED {
            let api = writer.in_version(asking);
            let reply = api.send("POST", "/trainees", api.example()).is(409);
            let existing = api.read(created.id()).data;
            assert_eq!(*reply.data(), Value::from(vec![existing]));
        }
    }
}
