//! The heartbeat, registering a trainee, and reading the record back.

use domain::{
    Degree, DegreeField as D, Placement, PlacementField as P, RecordField as _, TraineeField as F,
};
use serde_json::{Value, json};

use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{
    Body, REQUIRED, every_version, has_default, record, requires, takes_numbers_alone,
};

#[test]
fn the_heartbeat_says_ok_and_nothing_else() {
    every_version(|api| assert_eq!(api.get("/info").is(200).body, json!({ "status": "ok" })));
}

#[test]
fn created_trainee_is_submitted_for_trn() {
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
fn identifiers_are_distinct_24_characters() {
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
