//! The four fields that only v2025.0 has.

use domain::TraineeField as F;
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, version};

const LABEL: &str = "v2025.0";
const EXTRAS: [&str; 4] = [
    "expected_end_date",
    "bursary_level",
    "agency_disabilities",
    "withdraw_reasons_dfe_details",
];

fn extras(record: &Value) -> [&Value; 4] {
    EXTRAS.map(|name| record.get(name).unwrap())
}

/// The example with a bursary.
fn funded(api: &Api<'_>) -> Body {
    api.example()
        .with(F::training_route, "12")
        .with(F::fund_code, "7")
        .with(F::funding_method, "B")
}

#[test]
fn v2025_0_shows_its_four_extra_fields_in_every_trainee() {
    let register = Register::start();
    let api = register.api(version(LABEL));
    let expected = [
        json!("2027-07-16"),
        json!("B"),
        json!({ "disability1": "58", "disability3": "51" }),
        Value::Null,
    ];
    let expected = expected.each_ref();
    let created = api.create(funded(&api).with(F::disability3, "51"));
    assert_eq!(extras(&created.data), expected);
    assert_eq!(extras(&api.read(created.id()).data), expected);
    let updated = api.update(
        created.id(),
        Body::new(api.version).with(F::middle_names, "Maria"),
    );
    assert_eq!(extras(&updated.data), expected);
    let conflict = api.send("POST", "/trainees", funded(&api)).is(409);
    assert_eq!(extras(&conflict.data()[0]), expected);
    assert_eq!(extras(&api.withdraw(created.id()).data), expected);
}

#[test]
fn the_extra_fields_follow_the_fields_that_they_copy() {
    let register = Register::start();
    let api = register.api(version(LABEL));
    let created = api.create(funded(&api));
    let body = Body::new(api.version)
        .with(F::itt_end_date, "2027-08-01")
        .with(F::funding_method, "6")
        .with(F::disability1, Value::Null);
    let updated = api.update(created.id(), body);
    assert_eq!(
        extras(&updated.data),
        [json!("2027-08-01"), json!("6"), Value::Null, Value::Null].each_ref()
    );
}

#[test]
fn no_other_version_has_the_extra_fields() {
    let register = Register::start();
    let oldest = register.api(version(LABEL));
    let created = oldest.create(funded(&oldest));
    for other in SERVED
        .iter()
        .filter(|other| other.label.to_string() != LABEL)
    {
        let read = register.api(other).read(created.id());
        assert!(
            EXTRAS.iter().all(|name| !read.keys().contains(name)),
            "{:?}",
            read.keys()
        );
    }
}

#[test]
fn extra_fields_with_other_values_are_ignored_and_named() {
    let register = Register::start();
    let api = register.api(version(LABEL));
    let created = api.create(funded(&api));
    let body = EXTRAS.iter().fold(Body::new(api.version), |body, name| {
        body.with_key(name, "2031-01-01")
    });
    let reply = api.send("PUT", &created.path(), body).is(200);
    let warnings = reply.warnings();
    for name in EXTRAS {
        let named = format!("299 - \"{name} is ignored: ");
        let mut named = warnings
            .iter()
            .filter(|warning| warning.starts_with(&named));
        assert!(named.next().is_some(), "{name}: {warnings:?}");
    }
    assert_eq!(*reply.data(), created.data);
}
