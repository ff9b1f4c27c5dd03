//! Changing a trainee. PUT and PATCH mean the same.

use std::collections::BTreeSet;

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Body, REQUIRED, can_set, every_version, requires};

const METHODS: [&str; 2] = ["PUT", "PATCH"];

#[test]
fn changed_field_changes_only_itself_and_updated_at() {
    every_version(|api| {
        let mut before = api.create(api.example());
        for (method, email, moment) in [
            ("PUT", "put@example.com", "2026-10-06T10:00:00.123Z"),
            ("PATCH", "patch@example.com", "2026-10-07T10:00:00.000Z"),
        ] {
            api.register.clock.set(moment);
            let reply = api
                .send(
                    method,
                    &before.path(),
                    Body::new(api.version).with(F::email, email),
                )
                .is(200);
            let after = api.shown(&reply);
            after.has(&[(F::email, json!(email)), (F::updated_at, json!(moment))]);
            assert_eq!(
                before.differences(&after),
                BTreeSet::from([F::email, F::updated_at])
            );
            assert_eq!(api.read(after.id()).data, after.data);
            before = after;
        }
    });
}

#[test]
fn update_without_changes_leaves_the_record_unchanged() {
    every_version(|api| {
        let created = api.create(api.example());
        api.register.clock.set("2026-10-08T08:00:00Z");
        for method in METHODS {
            let same = Body::new(api.version)
                .with(F::email, "trainee@example.com")
                .with(F::course_year, 1);
            let reply = api.send(method, &created.path(), same).is(200);
            assert_eq!(*reply.data(), created.data);
            let unknown_only = Body::new(api.version).with_key("colour", "red");
            let reply = api.send(method, &created.path(), unknown_only).is(200);
            assert_eq!(reply.warnings().len(), 1);
            assert_eq!(*reply.data(), created.data);
        }
    });
}

#[test]
fn null_and_blank_text_clear_an_optional_field() {
    let optional: [(F, Value); 14] = [
        (F::middle_names, json!("Maria")),
        (F::previous_last_name, json!("Former")),
        (F::nationality, json!("GB")),
        (F::ni_number, json!("QQ 12 34 56 C")),
        (F::provider_trainee_id, json!("P-0001")),
        (F::application_id, json!("1234567")),
        (F::disability1, json!("58")),
        (F::course_subject_2, json!("100425")),
        (F::course_subject_3, json!("100417")),
        (F::pg_apprenticeship_start_date, json!("2026-09-07")),
        (F::training_initiative, json!("011")),
        (F::additional_training_initiative, json!("026")),
        (F::training_partner_urn, json!("990004")),
        (F::employing_school_urn, json!("990001")),
    ];
    every_version(|api| {
        let optional: Vec<_> = optional
            .iter()
            .filter(|(field, _)| can_set(api.version, *field))
            .cloned()
            .collect();
        let invisible = json!("\u{200b} \u{2800}\u{3164}\u{ad}");
        let blanks = [
            ("PUT", Value::Null),
            ("PATCH", json!("")),
            ("PATCH", json!(" \t ")),
            ("PATCH", invisible),
        ];
        for (method, blank) in blanks {
            let filled = api.example().with_known(&optional);
            let created = api.create(
                filled
                    .with(F::agency_id, "0310261553102")
                    .with(F::last_name, blank_name(&blank)),
            );
            created.has(&optional);
            for (field, _) in optional
                .iter()
                .filter(|(field, _)| !requires(api.version, *field))
            {
                let reply = api
                    .send(
                        method,
                        &created.path(),
                        Body::new(api.version).with(*field, blank.clone()),
                    )
                    .is(200);
                api.shown(&reply).has(&[(*field, Value::Null)]);
            }
            api.read(created.id()).has(&[
                (F::training_partner_not_applicable, json!(true)),
                (F::employing_school_not_applicable, json!(true)),
                (F::disability_disclosure, json!("disability_not_provided")),
            ]);
        }
    });
}

/// A name for each sort of blank, so that the trainees are different people.
fn blank_name(blank: &Value) -> String {
    format!("Person {}", blank.to_string().len())
}

#[test]
fn some_cleared_fields_fall_back_to_a_default() {
    every_version(|api| {
        let created = api.create(api.example().with(F::trainee_start_date, "2026-09-14"));
        created.has(&[
            (F::trainee_start_date, json!("2026-09-14")),
            (F::ethnicity, json!("120")),
        ]);
        let body = Body::new(api.version)
            .with(F::trainee_start_date, Value::Null)
            .with(F::ethnicity, Value::Null);
        api.update(created.id(), body).has(&[
            (F::trainee_start_date, json!("2026-09-01")),
            (F::ethnicity, json!("997")),
            (F::ethnic_group, json!("not_provided_ethnic_group")),
            (F::ethnic_background, json!("Not provided")),
        ]);
    });
}

#[test]
fn null_and_blank_text_are_refused_in_a_required_field() {
    every_version(|api| {
        let created = api.create(api.example());
        for field in REQUIRED {
            for (method, blank) in [
                ("PUT", Value::Null),
                ("PATCH", json!("  ")),
                ("PATCH", json!("\u{2060}\u{200f}")),
            ] {
                let reply = api.send(
                    method,
                    &created.path(),
                    Body::new(api.version).with(field, blank),
                );
                let messages =
                    reply.problems(&[api.version.inputs.trainee.name_of(field).unwrap()]);
                assert!(messages[0].contains("blank"), "{messages:?}");
            }
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn all_update_problems_are_reported_and_nothing_is_stored() {
    every_version(|api| {
        let created = api.create(api.example());
        let subject = api
            .version
            .inputs
            .trainee
            .name_of(F::course_subject_2)
            .unwrap();
        let body = Body::new(api.version)
            .with(F::first_names, "x".repeat(61))
            .with(F::course_subject_2, "100403")
            .with(F::itt_end_date, "2026-09-01")
            .with(F::middle_names, "Accepted");
        for method in METHODS {
            let reply = api.send(method, &created.path(), body.clone());
            reply.problems(&["first_names", subject, "itt_end_date"]);
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn update_with_only_read_only_fields_warns_and_changes_nothing() {
    every_version(|api| {
        let created = api.create(api.example());
        for method in METHODS {
            let read_only =
                json!({"data": {"trainee_id": "x", "state": "awarded", "created_at": null}});
            let reply = api.send(method, &created.path(), read_only).is(200);
            assert_eq!(*reply.data(), created.data);
            // One names the update, and two the values that differ.
            assert_eq!(reply.warnings().len(), 3, "{:?}", reply.warnings());
        }
        let whole = api
            .send("PUT", &created.path(), json!({ "data": created.data }))
            .is(200);
        assert!(
            whole
                .warnings()
                .iter()
                .all(|warning| !warning.contains("read-only")),
            "{:?}",
            whole.warnings()
        );
    });
}

#[test]
fn what_follows_from_the_record_follows_its_changes() {
    every_version(|api| {
        let created = api.create(api.example());
        let body = Body::new(api.version)
            .with(F::disability1, "95")
            .with(F::itt_start_date, "2026-09-15");
        let updated = api.update(created.id(), body);
        updated.has(&[
            (F::disability_disclosure, json!("no_disability")),
            (F::diversity_disclosure, json!("diversity_disclosed")),
            (F::course_itt_start_date, json!("2026-09-15")),
            (F::trainee_start_date, json!("2026-09-15")),
        ]);
        let body = Body::new(api.version)
            .with(F::disability1, "98")
            .with(F::ethnicity, "999");
        api.update(created.id(), body).has(&[
            (F::ethnicity, json!("999")),
            (F::disability_disclosure, json!("disability_not_provided")),
            (F::diversity_disclosure, json!("diversity_not_disclosed")),
        ]);
    });
}

#[test]
fn start_sent_as_shown_moves_with_the_plan_and_warns() {
    every_version(|api| {
        let created = api.create(api.example());
        created.has(&[(F::trainee_start_date, json!("2026-09-01"))]);
        let [planned, started] = [F::itt_start_date, F::trainee_start_date]
            .map(|field| api.version.inputs.trainee.name_of(field).unwrap());
        for (method, body, day) in [
            (
                "PATCH",
                Body::new(api.version).with(F::trainee_start_date, "2026-09-01"),
                "2026-09-15",
            ),
            (
                "PUT",
                api.read(created.id())
                    .body()
                    .with(F::trainee_start_date, "2026-09-15"),
                "2026-09-22",
            ),
        ] {
            let reply = api
                .send(method, &created.path(), body.with(F::itt_start_date, day))
                .is(200);
            api.shown(&reply).has(&[
                (F::itt_start_date, json!(day)),
                (F::trainee_start_date, json!(day)),
            ]);
            let warnings = reply.warnings();
            assert!(
                warnings.len() == 1
                    && warnings[0].contains(planned)
                    && warnings[0].contains(started),
                "{warnings:?}"
            );
        }
        // What the warning says to do keeps the day, and a day that is held is not moved.
        let kept = Body::new(api.version).with(F::trainee_start_date, "2026-09-15");
        let reply = api.send("PATCH", &created.path(), kept).is(200);
        assert!(reply.warnings().is_empty(), "{:?}", reply.warnings());
        let whole = api
            .shown(&reply)
            .body()
            .with(F::itt_start_date, "2026-09-08");
        let reply = api.send("PATCH", &created.path(), whole).is(200);
        assert!(reply.warnings().is_empty(), "{:?}", reply.warnings());
        api.shown(&reply).has(&[
            (F::trainee_start_date, json!("2026-09-15")),
            (F::itt_start_date, json!("2026-09-08")),
        ]);
        // A client that moves the planned date must know the dependent dates.
        let plan = Body::new(api.version).with(F::trainee_start_date, Value::Null);
        api.update(created.id(), plan);
        let reply = api.send(
            "PATCH",
            &created.path(),
            Body::new(api.version).with(F::itt_start_date, "2026-09-01"),
        );
        assert!(reply.is(200).warnings().is_empty());
    });
}
