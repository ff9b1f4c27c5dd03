//! The country of an iQTS trainee, which the newest of the versions knows.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Register, Shown, version};

const NEWEST: &str = "v2026.1";
const OLDER: [&str; 2] = ["v2025.0", "v2026.0"];

fn iqts(api: &Api<'_>) -> Shown {
    api.create(api.example().with(F::training_route, "15").with(F::iqts_country, "FR"))
}

#[test]
fn the_country_is_required_on_the_iqts_route() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    let iqts_route = api.example().with(F::training_route, "15");
    for body in [
        iqts_route.clone(),
        iqts_route.clone().with(F::iqts_country, ""),
        iqts_route.with(F::iqts_country, Value::Null),
    ] {
        api.send("POST", "/trainees", body).problems(&["iqts_country"]);
    }
    let created = iqts(&api);
    created.has(&[(F::iqts_country, json!("FR")), (F::training_route, json!("15"))]);
    api.send("PATCH", &created.path(), Body::new(api.version).with(F::iqts_country, Value::Null))
        .problems(&["iqts_country"]);
    api.update(created.id(), Body::new(api.version).with(F::iqts_country, "ES")).has(&[(F::iqts_country, json!("ES"))]);
}

#[test]
fn the_country_is_refused_on_every_other_route() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    for route in ["03", "11", "16", "21"] {
        let body = api.example().with(F::training_route, route).with(F::iqts_country, "FR");
        api.send("POST", "/trainees", body).problems(&["iqts_country"]);
    }
    let created = api.create(api.example().with(F::iqts_country, ""));
    created.has(&[(F::iqts_country, Value::Null)]);
    api.send("PATCH", &created.path(), Body::new(api.version).with(F::iqts_country, "FR")).problems(&["iqts_country"]);
}

#[test]
fn the_country_must_be_listed() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    let body = api.example().with(F::training_route, "15").with(F::iqts_country, "Atlantis");
    assert!(api.send("POST", "/trainees", body).problems(&["iqts_country"])[0].contains("Atlantis"));
}

#[test]
fn the_country_goes_when_the_trainee_leaves_the_route() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    let created = iqts(&api);
    let other_country = Body::new(api.version).with(F::training_route, "11").with(F::iqts_country, "ES");
    api.send("PATCH", &created.path(), other_country).problems(&["iqts_country"]);
    let left = api.update(created.id(), Body::new(api.version).with(F::training_route, "11"));
    assert_eq!(created.differences(&left), [F::training_route, F::iqts_country, F::course_level, F::updated_at].into());
    left.has(&[(F::iqts_country, Value::Null)]);
}

#[test]
fn the_country_goes_too_when_the_whole_record_is_sent_back_with_another_route() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    let created = iqts(&api);
    let reply = api.send("PUT", &created.path(), created.body().with(F::training_route, "12")).is(200);
    api.shown(&reply).has(&[(F::iqts_country, Value::Null), (F::training_route, json!("12"))]);
}

#[test]
fn the_country_goes_when_an_older_version_moves_the_trainee_to_another_route() {
    for label in OLDER {
        let register = Register::start();
        let newest = register.api(version(NEWEST));
        let created = iqts(&newest);
        let older = register.api(version(label));
        older.update(created.id(), Body::new(older.version).with(F::training_route, "12"));
        newest.read(created.id()).has(&[(F::iqts_country, Value::Null), (F::training_route, json!("12"))]);
    }
}

#[test]
fn older_versions_do_not_know_the_country() {
    for label in OLDER {
        let register = Register::start();
        let api = register.api(version(label));
        let reply = api.send("POST", "/trainees", api.example().with_key("iqts_country", "FR")).is(201);
        assert_eq!(reply.warnings(), [format!("299 - \"unknown field iqts_country ({NEWEST} has it)\"")]);
        let created = api.shown(&reply);
        assert!(!created.keys().contains(&"iqts_country"));
        register.api(version(NEWEST)).read(created.id()).has(&[(F::iqts_country, Value::Null)]);

        let strict = api.request("PATCH", &created.path()).header("Prefer", "handling=strict");
        strict.json(json!({ "data": { "iqts_country": "FR" } })).send().problems(&["iqts_country"]);
    }
}
