//! Placements and degrees, nested in a new trainee and by themselves.

use adapter_kit::WireRecord;
use domain::{Degree, DegreeField as D, Placement, TraineeField as F};
use serde_json::{Value, json};

use super::tried;
use crate::api::support::{Api, Body, every_version, in_version, takes_numbers_alone};

/// Sends a part both ways, and checks which of its fields is named, if any.
#[track_caller]
fn check<R: WireRecord>(api: &Api<'_>, path: &str, list: F, part: &Value, field: Option<&str>) {
    let part = &in_version::<R>(api.version, part);
    let alone = part.as_object().unwrap().iter();
    let alone = alone.fold(Body::new(api.version), |body, (key, value)| {
        body.with_key(key, value.clone())
    });
    assert_eq!(
        tried(api, path, alone),
        field.into_iter().map(str::to_owned).collect(),
        "{part}"
    );

    let reply = api
        .request("POST", "/trainees")
        .header("Prefer", "validate-only")
        .json(
            api.example()
                .with(F::date_of_birth, "1998-01-01")
                .with(list, json!([part])),
        )
        .send();
    let name = api.version.inputs.trainee.name_of(list).unwrap();
    let messages: Vec<String> = if reply.status < 300 {
        Vec::new()
    } else {
        reply
            .errors()
            .iter()
            .map(|(_, message)| (*message).to_owned())
            .collect()
    };
    assert_eq!(messages.len(), field.iter().len(), "{part}: {messages:?}");
    for (message, field) in messages.iter().zip(field) {
        assert!(
            message.starts_with(&format!("{name} 1 {field} ")),
            "{part}: {message}"
        );
    }
}

#[test]
fn every_clause_about_placements() {
    every_version(|api| {
        let path = format!("{}/placements", api.create(api.example()).path());
        for (part, field) in [
            (json!({ "urn": "990001" }), None),
            (json!({ "urn": "990001", "name": null }), None),
            (json!({ "urn": "990001", "name": "" }), Some("name")),
            (json!({ "urn": "123456" }), Some("name")),
            (json!({ "urn": "123456", "name": "A school" }), None),
            (json!({ "urn": "900000" }), Some("name")),
            (json!({ "urn": "900000", "name": "Abroad" }), None),
            (json!({ "name": "A school" }), None),
            (json!({ "postcode": "SW1A 2AA" }), Some("name")),
            (json!({ "name": "x".repeat(255) }), None),
            (json!({ "name": "x".repeat(256) }), Some("name")),
            (json!({ "name": "A school", "urn": "12345" }), Some("urn")),
            (json!({ "name": "A school", "urn": "1234567" }), Some("urn")),
            (json!({ "name": "A school", "urn": "12345a" }), Some("urn")),
            (json!({ "name": "A school", "postcode": "ec1a1bb" }), None),
            (
                json!({ "name": "A school", "postcode": "EC1A 1B" }),
                Some("postcode"),
            ),
            (
                json!({ "name": "A school", "postcode": "EC1A  1BB" }),
                Some("postcode"),
            ),
        ] {
            check::<Placement>(api, &path, F::placements, &part, field);
        }
    });
}

#[test]
fn every_clause_about_degrees() {
    let uk = |changes: &[(&str, Value)]| {
        let mut degree = json!({ "subject": "100302", "uk_degree": "083", "grade": "02", "graduation_year": "2018" });
        for (key, value) in changes {
            degree[*key] = value.clone();
        }
        degree
    };
    let foreign = |changes: &[(&str, Value)]| {
        let mut degree = json!({ "subject": "100302", "country": "FR", "non_uk_degree": "083", "graduation_year": "2018" });
        for (key, value) in changes {
            degree[*key] = value.clone();
        }
        degree
    };
    every_version(|api| {
        let path = format!("{}/degrees", api.create(api.example()).path());
        for (part, field) in [
            (uk(&[]), None),
            (uk(&[("subject", Value::Null)]), Some("subject")),
            (uk(&[("subject", json!("000000"))]), Some("subject")),
            (uk(&[("uk_degree", Value::Null)]), Some("uk_degree")),
            (uk(&[("uk_degree", json!("0"))]), Some("uk_degree")),
            (uk(&[("grade", Value::Null)]), Some("grade")),
            (uk(&[("grade", json!("77"))]), Some("grade")),
            (uk(&[("institution", json!("0117"))]), None),
            (uk(&[("institution", json!("nowhere"))]), None),
            (uk(&[("country", json!("XK"))]), None),
            (uk(&[("country", json!("GB"))]), None),
            (
                uk(&[("country", json!("QQ")), ("institution", json!("0117"))]),
                None,
            ),
            (
                uk(&[("graduation_year", Value::Null)]),
                Some("graduation_year"),
            ),
            (uk(&[("graduation_year", json!(2018))]), None),
            (uk(&[("graduation_year", json!("2018-07-01"))]), None),
            (uk(&[("graduation_year", json!("1967"))]), None),
            (
                uk(&[("graduation_year", json!("1966"))]),
                Some("graduation_year"),
            ),
            (uk(&[("graduation_year", json!("2027"))]), None),
            (
                uk(&[("graduation_year", json!("2028"))]),
                Some("graduation_year"),
            ),
            (
                uk(&[("graduation_year", json!("last"))]),
                Some("graduation_year"),
            ),
            (
                uk(&[("graduation_year", json!("20"))]),
                Some("graduation_year"),
            ),
            (foreign(&[]), None),
            (foreign(&[("grade", json!("02"))]), None),
            (foreign(&[("grade", json!("77"))]), Some("grade")),
            (foreign(&[("country", json!("QQ"))]), Some("country")),
            (
                foreign(&[("non_uk_degree", Value::Null)]),
                Some("non_uk_degree"),
            ),
            (
                foreign(&[("non_uk_degree", json!("0"))]),
                Some("non_uk_degree"),
            ),
        ] {
            // A version that accepts whole numbers alone refuses every other form of a year.
            let year = part["graduation_year"]
                .as_str()
                .is_none_or(|year| year.parse::<u32>().is_ok());
            if year || !takes_numbers_alone(api.version, D::graduation_year) {
                check::<Degree>(api, &path, F::degrees, &part, field);
            }
        }
    });
}
