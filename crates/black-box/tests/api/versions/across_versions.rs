//! What one version writes, another reads and changes.

mod extras;

use adapter_kit::shape::group_of;
use domain::{Degree, DegreeField as D, Placement, PlacementField as P, TraineeField as F};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, Shown, record, version};

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
fn record_written_in_one_version_reads_the_same_in_others() {
    for writing in SERVED {
        let register = Register::start();
        let writer = register.api(writing);
        let created = writer.create(full(&writer));
        for reading in SERVED {
            let reader = writer.in_version(reading);
            let read = reads_the_same(&reader, &created);
            read.has(&[
                (F::course_subject_2, json!("100425")),
                (F::training_partner_urn, json!("990004")),
                (F::training_partner_ukprn, json!("10090001")),
                (F::disability4, json!("96")),
                (F::trainee_start_date, json!("2026-09-14")),
            ]);
        }
    }
}

#[test]
fn a_change_through_one_version_is_seen_in_every_other() {
    for writing in SERVED {
        let register = Register::start();
        let writer = register.api(writing);
        let created = writer.create(full(&writer));
        let body = Body::new(writing)
            .with(F::course_subject_2, Value::Null)
            .with(F::course_subject_1, "100417")
            .with(F::course_subject_3, "100403")
            .with(F::training_partner_urn, "990014");
        let updated = writer.update(created.id(), body);
        for reading in SERVED {
            reads_the_same(&writer.in_version(reading), &updated).has(&[
                (F::course_subject_1, json!("100417")),
                (F::course_subject_2, Value::Null),
                (F::training_partner_urn, json!("990014")),
            ]);
        }
        let withdrawn = writer.withdraw(created.id());
        for reading in SERVED {
            reads_the_same(&writer.in_version(reading), &withdrawn).has(&[
                (F::state, json!("withdrawn")),
                (F::withdrawal_date, json!("2026-10-01")),
                (F::withdrawal_reasons, json!(["trainee_workload_issues"])),
            ]);
        }
    }
}

#[test]
fn record_sent_back_through_every_version_stays_unchanged() {
    for writing in SERVED {
        let register = Register::start();
        let writer = register.api(writing);
        let created = writer.create(full(&writer));
        register.clock.set("2026-10-09T09:00:00Z");
        for through in SERVED {
            let api = writer.in_version(through);
            let reply = api
                .send("PUT", &created.path(), api.read(created.id()).body())
                .is(200);
            assert_eq!(reply.warnings(), Vec::<&str>::new());
        }
        assert_eq!(writer.read(created.id()).data, created.data);
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
fn older_versions_read_and_update_records_on_newer_routes() {
    let register = Register::start();
    let newest = register.api(version("v2026.1"));
    for created in newer_records(&newest) {
        for label in ["v2025.0", "v2026.0"] {
            let before = newest.read(created.id());
            let older = register.api(version(label));
            let read = reads_the_same(&older, &before);
            assert!(!read.keys().contains(&"iqts_country"));
            let whole = older.send("PUT", &created.path(), read.body()).is(200);
            assert_eq!((whole.warnings(), whole.data()), (vec![], &read.data));
            assert_eq!(newest.read(created.id()).data, before.data);
            let email = Body::new(older.version).with(F::email, format!("{label}@example.com"));
            let reply = older.send("PATCH", &created.path(), email);
            assert_eq!(reply.is(200).warnings(), Vec::<&str>::new());
            let after = newest.read(created.id());
            assert_eq!(before.differences(&after), [F::email, F::updated_at].into());
        }
    }
}

#[test]
fn older_versions_withdraw_trainees_on_newer_routes() {
    for label in ["v2025.0", "v2026.0"] {
        let register = Register::start();
        let newest = register.api(version("v2026.1"));
        for created in newer_records(&newest) {
            let withdrawn = register.api(version(label)).withdraw(created.id());
            withdrawn.has(&[(F::state, json!("withdrawn"))]);
            reads_the_same(&newest, &withdrawn)
                .has(&[(F::training_route, created.value(F::training_route).clone())]);
        }
    }
}

#[test]
fn record_on_an_older_route_stays_editable_in_newer_versions() {
    let register = Register::start();
    let oldest = register.api(version("v2025.0"));
    let created = oldest.create(oldest.example().with(F::training_route, "02"));
    for label in ["v2026.0", "v2026.1"] {
        let newer = register.api(version(label));
        let reply = newer.send(
            "PUT",
            &created.path(),
            newer.read(created.id()).body().with(F::middle_names, label),
        );
        assert_eq!(reply.is(200).warnings(), Vec::<&str>::new());
        newer
            .send(
                "PATCH",
                &created.path(),
                Body::new(newer.version).with(F::training_route, "02"),
            )
            .is(200);
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
                assert!(message.contains("withdrawn"), "{message}");
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
fn record_only_older_versions_accept_keeps_valid_fields_editable() {
    let register = Register::start();
    let oldest = register.api(version("v2025.0"));
    let body = oldest
        .example()
        .with(F::course_year, "two")
        .with(F::itt_end_date, "2033-07-16");
    let created = oldest.create(body);
    for label in ["v2026.0", "v2026.1"] {
        let newer = register.api(version(label));
        let whole = newer.read(created.id()).body().with(F::middle_names, label);
        assert_eq!(
            newer.send("PUT", &created.path(), whole).is(200).warnings(),
            Vec::<&str>::new()
        );
        let worse = Body::new(newer.version)
            .with(F::course_year, "three")
            .with(F::itt_end_date, "2034-07-16");
        newer
            .send("PATCH", &created.path(), worse)
            .problems(&["course_year", "itt_end_date"]);
        // The end is compared with the start when the start moves, but its bound does not read the
        // start.
        newer.update(
            created.id(),
            Body::new(newer.version).with(F::itt_start_date, "2026-09-02"),
        );
        newer.update(
            created.id(),
            Body::new(newer.version).with(F::itt_start_date, "2026-09-01"),
        );
    }
}
