//! What one version writes, another reads and changes.

use adapter_kit::shape::group_of;
use domain::{Degree, DegreeField as D, Placement, PlacementField as P, TraineeField as F};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, Shown, TextChecks as _, record, version};

/// A trainee with something in every field that every version can set.
fn full(api: &Api<'_>) -> Body {
    let placement = record::<Placement>(api.version, &[(P::urn, "990001")]);
    let abroad = record::<Degree>(
        api.version,
        &[
            (D::non_uk_degree, "083"),
            (D::country, "FR"),
            (D::subject, "100485"),
            (D::graduation_year, "2020"),
        ],
    );
    let home = record::<Degree>(
        api.version,
        &[
            (D::uk_degree, "083"),
            (D::institution, "0117"),
            (D::subject, "100485"),
            (D::grade, "02"),
            (D::graduation_year, "2021"),
        ],
    );
    api.example()
        .with(F::middle_names, "Maria")
        .with_known(&[(F::previous_last_name, json!("Former"))])
        .with(F::ni_number, "QQ123456C")
        .with(F::application_id, "1234567")
        .with(F::disability2, "51")
        .with(F::disability4, "96")
        .with(F::training_route, "12")
        .with(F::fund_code, "7")
        .with(F::funding_method, "B")
        .with(F::course_subject_2, "100425")
        .with(F::course_subject_3, "100417")
        .with(F::trainee_start_date, "2026-09-14")
        .with(F::pg_apprenticeship_start_date, "2026-09-15")
        .with(F::training_initiative, "011")
        .with(F::additional_training_initiative, "026")
        .with(F::training_partner_urn, "990004")
        .with(F::employing_school_urn, "990002")
        .with(F::placements, json!([placement]))
        .with(F::degrees, json!([home, abroad]))
}

/// Checks that a record is shown under the names of a version, with the values that another version
/// shows.
#[track_caller]
fn reads_the_same(api: &Api<'_>, written: &Shown) -> Shown {
    let read = api.read(written.id());
    assert_eq!(written.differences(&read), [].into());
    let shape = &api.version.shapes.trainee;
    let without_value = |name: &str| read.data.get(name).is_none();
    let mut expected: Vec<_> = shape
        .entries
        .iter()
        .filter(|entry| !(entry.when_set && without_value(entry.name)))
        .map(|entry| group_of(entry.name).unwrap_or(entry.name))
        .collect();
    expected.dedup();
    assert_eq!(read.keys(), expected);
    read
}

#[test]
fn record_of_one_version_is_the_same_in_others() {
    for writing in SERVED {
        let register = Register::start();
        let writer = register.api(writing);
        let reads_the_same_everywhere = |written: &Shown, expected: &[(F, Value)]| {
            for reading in SERVED {
                reads_the_same(&register.api(reading), written).has(expected);
            }
        };
        let created = writer.create(full(&writer));
        reads_the_same_everywhere(
            &created,
            &[
                (F::course_subject_2, json!("100425")),
                (F::training_partner_urn, json!("990004")),
                (F::training_partner_ukprn, json!("10090001")),
                (F::disability4, json!("96")),
                (F::trainee_start_date, json!("2026-09-14")),
            ],
        );
        register.clock.set("2026-10-09T09:00:00Z");
        for through in SERVED {
            let api = register.api(through);
            let whole = api.read(created.id()).body();
            let reply = api.send("PUT", &created.path(), whole).is(200);
            assert_eq!(reply.warnings(), Vec::<&str>::new());
        }
        assert_eq!(writer.read(created.id()).data, created.data);
        let body = Body::new(writing)
            .with(F::course_subject_2, Value::Null)
            .with(F::course_subject_1, "100417")
            .with(F::course_subject_3, "100403")
            .with(F::training_partner_urn, "990014");
        reads_the_same_everywhere(
            &writer.update(created.id(), body),
            &[
                (F::course_subject_1, json!("100417")),
                (F::course_subject_2, Value::Null),
                (F::training_partner_urn, json!("990014")),
            ],
        );
        reads_the_same_everywhere(
            &writer.withdraw(created.id()),
            &[
                (F::state, json!("withdrawn")),
                (F::withdrawal_date, json!("2026-10-01")),
                (F::withdrawal_reasons, json!(["trainee_workload_issues"])),
            ],
        );
    }
}

/// Records on routes that the older versions do not accept.
fn newer_records(api: &Api<'_>) -> Vec<Shown> {
    let early_years = |route: &str| {
        api.example()
            .with(F::training_route, route)
            .with(F::course_age_range, "13920")
            .with(F::course_subject_1, "100510")
    };
    let bodies = [
        api.example()
            .with(F::training_route, "15")
            .with(F::iqts_country, "FR"),
        api.example()
            .with(F::training_route, "16")
            .without(F::study_mode),
        early_years("17").without(F::study_mode),
        early_years("18").with(F::course_subject_2, "100510"),
    ];
    bodies.into_iter().map(|body| api.create(body)).collect()
}

#[test]
fn older_versions_change_records_on_newer_routes() {
    for label in ["v2025.0", "v2026.0"] {
        let register = Register::start();
        let (newest, older) = (
            register.api(version("v2026.1")),
            register.api(version(label)),
        );
        for created in newer_records(&newest) {
            let read = reads_the_same(&older, &created);
            assert!(!read.keys().contains(&"iqts_country"));
            let whole = older.send("PUT", &created.path(), read.body()).is(200);
            assert_eq!((whole.warnings(), whole.data()), (vec![], &read.data));
            assert_eq!(newest.read(created.id()).data, created.data);
            let email = Body::new(older.version).with(F::email, "new@example.com");
            let reply = older.send("PATCH", &created.path(), email);
            assert_eq!(reply.is(200).warnings(), Vec::<&str>::new());
            let after = newest.read(created.id());
            let expected = [F::email, F::updated_at].into();
            assert_eq!(created.differences(&after), expected);
            let withdrawn = older.withdraw(created.id());
            withdrawn.has(&[(F::state, json!("withdrawn"))]);
            reads_the_same(&newest, &withdrawn)
                .has(&[(F::training_route, created.value(F::training_route).clone())]);
        }
    }
}

#[test]
fn only_v2026_1_rejects_changes_of_finished_records() {
    for (label, refuses) in [("v2025.0", false), ("v2026.0", false), ("v2026.1", true)] {
        let register = Register::start();
        let api = register.api(version(label));
        let created = api.create(api.example());
        api.withdraw(created.id());
        for method in ["PUT", "PATCH"] {
            let reply = api.send(
                method,
                &created.path(),
                Body::new(api.version).with(F::middle_names, method),
            );
            if refuses {
                let message = reply.transition("state");
                message.shows(&["withdrawn"]);
            } else {
                api.shown(&reply.is(200)).has(&[
                    (F::middle_names, json!(method)),
                    (F::state, json!("withdrawn")),
                ]);
            }
        }
    }
}

#[test]
fn record_only_older_versions_accept_stays_editable() {
    let register = Register::start();
    let oldest = register.api(version("v2025.0"));
    let body = oldest
        .example()
        .with(F::training_route, "02")
        .with(F::course_year, "two")
        .with(F::itt_end_date, "2033-07-16");
    let created = oldest.create(body);
    for label in ["v2026.0", "v2026.1"] {
        let newer = register.api(version(label));
        let change = |field: F, value: &str| Body::new(newer.version).with(field, value);
        let whole = newer.read(created.id()).body().with(F::middle_names, label);
        let reply = newer.send("PUT", &created.path(), whole).is(200);
        assert_eq!(reply.warnings(), Vec::<&str>::new());
        newer.update(created.id(), change(F::training_route, "02"));
        let worse = change(F::course_year, "three").with(F::itt_end_date, "2034-07-16");
        newer
            .send("PATCH", &created.path(), worse)
            .problems(&["course_year", "itt_end_date"]);
        // The end is compared with the start when the start moves, but its bound does not read the
        // start.
        newer.update(created.id(), change(F::itt_start_date, "2026-09-02"));
        newer.update(created.id(), change(F::itt_start_date, "2026-09-01"));
    }
}

/// The fields that only v2025.0 has.
#[test]
fn extra_fields_follow_the_fields_that_they_copy() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    let extras = |shown: &Shown| {
        ["expected_end_date", "bursary_level", "agency_disabilities"]
            .map(|name| shown.data[name].clone())
    };
    let funded = api
        .example()
        .with(F::training_route, "12")
        .with(F::fund_code, "7")
        .with(F::funding_method, "B")
        .with(F::disability3, "51");
    let created = api.create(funded);
    let disabilities = json!({ "disability1": "58", "disability3": "51" });
    assert_eq!(
        extras(&created),
        [json!("2027-07-16"), json!("B"), disabilities]
    );
    let body = Body::new(api.version)
        .with(F::itt_end_date, "2027-08-01")
        .with(F::funding_method, "6")
        .with(F::disability1, Value::Null)
        .with(F::disability3, Value::Null);
    let updated = api.update(created.id(), body);
    assert_eq!(
        extras(&updated),
        [json!("2027-08-01"), json!("6"), Value::Null]
    );
}
