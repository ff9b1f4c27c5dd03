//! The heartbeat, registering a trainee, and reading the record back.

use domain::{
    Degree, DegreeField as D, Placement, PlacementField as P, RecordField as _, TraineeField as F,
};
use serde_json::{Value, json};

use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{
    Body, REQUIRED, can_set, every_version, has_default, record, requires, takes_numbers_alone,
};

#[test]
fn the_heartbeat_says_ok_and_nothing_else() {
    every_version(|api| assert_eq!(api.get("/info").is(200).body, json!({ "status": "ok" })));
}

#[test]
fn created_trainee_is_submitted_for_a_trn_immediately() {
    every_version(|api| {
        api.register.clock.set("2026-10-05T09:30:00.007Z");
        let moment = json!("2026-10-05T09:30:00.007Z");
        let created = api.create(api.example());
        created.has(&[
            (F::state, json!("submitted_for_trn")),
            (F::trn, Value::Null),
            (F::created_at, moment.clone()),
            (F::updated_at, moment.clone()),
            (F::submitted_for_trn_at, moment.clone()),
            (F::ukprn, json!(UKPRN)),
            (F::record_source, json!("api")),
            (F::submission_ready, json!(true)),
        ]);
        for nested in [F::placements, F::degrees] {
            let records = created.value(nested).as_array().unwrap();
            assert!(!records.is_empty());
            for record in records {
                assert_eq!(
                    (&record["created_at"], &record["updated_at"]),
                    (&moment, &moment)
                );
            }
        }
    });
}

#[test]
fn required_text_of_invisible_characters_is_missing() {
    every_version(|api| {
        for field in REQUIRED {
            let name = api.version.inputs.trainee.name_of(field).unwrap();
            for text in [
                "\u{200b}",
                "\u{3164}\u{115f}",
                "\u{2800} \u{2800}",
                "\u{202e}\u{fe0f}",
                "\u{600}",
            ] {
                let messages = api.send("POST", "/trainees", api.example().with(field, text));
                assert!(
                    messages.problems(&[name])[0].contains("blank"),
                    "{text:?}: {:#}",
                    messages.body
                );
            }
        }
        // A name that is visible keeps what is invisible in it.
        api.create(api.example().with(F::last_name, "a\u{200d}b"))
            .has(&[(F::last_name, json!("a\u{200d}b"))]);
    });
}

#[test]
fn nested_records_are_created_with_the_trainee() {
    every_version(|api| {
        let placements = json!([
            record::<Placement>(api.version, &[(P::urn, "990001")]),
            record::<Placement>(
                api.version,
                &[(P::name, "A school abroad"), (P::postcode, "SW1A 1AA")]
            ),
        ]);
        let earlier = if takes_numbers_alone(api.version, D::graduation_year) {
            "2019"
        } else {
            "2019-07-01"
        };
        let degree = |year| {
            record::<Degree>(
                api.version,
                &[
                    (D::uk_degree, "083"),
                    (D::subject, "100485"),
                    (D::grade, "02"),
                    (D::graduation_year, year),
                ],
            )
        };
        let body = api
            .example()
            .with(F::placements, placements)
            .with(F::degrees, json!([degree("2021"), degree(earlier)]));
        let created = api.create(body);

        let placements = created.value(F::placements);
        assert_eq!(placements[0]["name"], "Barley Mow Junior School");
        assert_eq!(placements[0]["address"], "URN 990001, ZZ1 1AA");
        assert_eq!(placements[1]["address"], "SW1A 1AA");
        assert_eq!(placements[1]["urn"], Value::Null);
        let degrees = created.value(F::degrees);
        assert_eq!(
            degrees[0]["graduation_year"], 2019,
            "degrees stand in the order of graduation"
        );
        assert_eq!(degrees[1]["graduation_year"], 2021);
        assert_eq!(degrees[0]["institution"], Value::Null);
        assert!(degrees[0]["institution_uuid"].is_string());
    });
}

#[test]
fn identifiers_have_24_characters_and_are_never_the_same() {
    every_version(|api| {
        let first = api.create(api.example());
        let second = api.create(api.example().with(F::date_of_birth, "1998-04-12"));
        let mut identifiers = Vec::new();
        for shown in [&first, &second] {
            identifiers.push(shown.id().to_owned());
            identifiers.push(
                shown.value(F::placements)[0]["placement_id"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
            identifiers.push(
                shown.value(F::degrees)[0]["degree_id"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
        let base_58 = |c: char| c.is_ascii_alphanumeric() && !matches!(c, '0' | 'O' | 'I' | 'l');
        assert!(
            identifiers
                .iter()
                .all(|id| id.len() == 24 && id.chars().all(base_58)),
            "{identifiers:?}"
        );
        identifiers.sort();
        identifiers.dedup();
        assert_eq!(identifiers.len(), 6);
    });
}

#[test]
fn text_is_normalised_only_where_the_contract_says_so() {
    every_version(|api| {
        let body = api
            .example()
            .with(F::first_names, "  Zoë \t  Ann ")
            .with(F::email, " Trainee@Example.COM ")
            .with(F::agency_id, " 0310261553101 ")
            .with_known(&[(F::previous_last_name, json!(" Two  spaces "))])
            .with(F::application_id, 1_234_567)
            .with(F::course_year, 2);
        let created = api.create(body);
        if can_set(api.version, F::previous_last_name) {
            created.has(&[(F::previous_last_name, json!(" Two  spaces "))]);
        }
        created.has(&[
            (F::first_names, json!("Zoë Ann")),
            (F::email, json!("Trainee@Example.COM")),
            (F::agency_id, json!("0310261553101")),
            (F::application_id, json!("1234567")),
            (F::course_year, json!("2")),
        ]);
    });
}

#[test]
fn a_date_and_time_is_cut_to_its_date() {
    every_version(|api| {
        let body = api
            .example()
            .with(F::date_of_birth, "1999-04-12T23:59:59.999Z");
        api.create(body)
            .has(&[(F::date_of_birth, json!("1999-04-12"))]);
    });
}

#[test]
fn organisations_are_linked_or_not_applicable() {
    every_version(|api| {
        let linked = api
            .example()
            .with(F::training_partner_ukprn, "10090001")
            .with(F::employing_school_urn, "990001");
        api.create(linked).has(&[
            (F::training_partner_urn, json!("990004")),
            (F::training_partner_ukprn, json!("10090001")),
            (F::training_partner_not_applicable, json!(false)),
            (F::employing_school_urn, json!("990001")),
            (F::employing_school_not_applicable, json!(false)),
        ]);
        let none = api
            .example()
            .with(F::date_of_birth, "1998-04-12")
            .with(F::training_partner_urn, "900020")
            .with(F::employing_school_urn, "900000");
        api.create(none).has(&[
            (F::training_partner_urn, Value::Null),
            (F::training_partner_not_applicable, json!(true)),
            (F::employing_school_urn, Value::Null),
            (F::employing_school_not_applicable, json!(true)),
        ]);
    });
}

#[test]
fn body_without_trainee_fields_lacks_everything_required() {
    every_version(|api| {
        let required = F::ALL
            .iter()
            .filter(|field| REQUIRED.contains(field) || requires(api.version, **field));
        let required = required.filter(|field| !has_default(api.version, **field));
        let names: Vec<_> = required
            .map(|field| api.version.inputs.trainee.name_of(*field).unwrap())
            .collect();
        for body in [
            Body::new(api.version).with_key("colour", "red"),
            Body::new(api.version).with_key("trn", "1234567"),
        ] {
            api.send("POST", "/trainees", body).problems(&names);
        }
    });
}

#[test]
fn providers_do_not_see_each_others_trainees() {
    every_version(|api| {
        let theirs = api
            .register
            .other_provider(api.version)
            .create(api.example());
        theirs.has(&[(F::ukprn, json!(OTHER_UKPRN))]);
        assert_eq!(
            api.get(&theirs.path()).error(404, "NotFound"),
            "trainee not found"
        );
        let ours = api.create(api.example());
        assert_ne!(ours.id(), theirs.id());
    });
}
