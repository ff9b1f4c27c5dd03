//! The country of an iQTS trainee, which the newest of the versions knows.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Register, Shown, version};

const NEWEST: &str = "v2026.1";
const OLDER: [&str; 2] = ["v2025.0", "v2026.0"];

fn iqts(api: &Api<'_>) -> Shown {
    api.create(
        api.example()
            .with(F::training_route, "15")
            .with(F::iqts_country, "FR"),
    )
}

#[test]
fn update_keeps_the_country_on_iqts_and_off_other_routes() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    let created = iqts(&api);
    let country = |country: Value| Body::new(api.version).with(F::iqts_country, country);
    api.send("PATCH", &created.path(), country(Value::Null))
        .problems(&["iqts_country"]);
    api.update(created.id(), country(json!("ES")))
        .has(&[(F::iqts_country, json!("ES"))]);
    let elsewhere = api.create(api.example().with(F::iqts_country, ""));
    elsewhere.has(&[(F::iqts_country, Value::Null)]);
    api.send("PATCH", &elsewhere.path(), country(json!("FR")))
        .problems(&["iqts_country"]);
}

#[test]
fn the_country_goes_when_the_trainee_leaves_the_route() {
    let register = Register::start();
    let api = register.api(version(NEWEST));
    let created = iqts(&api);
    let other_country = Body::new(api.version)
        .with(F::training_route, "11")
        .with(F::iqts_country, "ES");
    api.send("PATCH", &created.path(), other_country)
        .problems(&["iqts_country"]);
    let left = api.update(
        created.id(),
        Body::new(api.version).with(F::training_route, "11"),
    );
    assert_eq!(
        created.differences(&left),
        [
            F::training_route,
            F::iqts_country,
            F::course_level,
            F::updated_at
        ]
        .into()
    );
    left.has(&[(F::iqts_country, Value::Null)]);
    // Also when the whole record is sent back.
    let again = iqts(&api);
    let reply = api
        .send(
            "PUT",
            &again.path(),
            again.body().with(F::training_route, "12"),
        )
        .is(200);
    api.shown(&reply).has(&[
        (F::iqts_country, Value::Null),
        (F::training_route, json!("12")),
    ]);
}

#[test]
fn country_is_removed_when_an_older_version_changes_the_route() {
    for label in OLDER {
        let register = Register::start();
        let newest = register.api(version(NEWEST));
        let created = iqts(&newest);
        let older = register.api(version(label));
        older.update(
            created.id(),
            Body::new(older.version).with(F::training_route, "12"),
        );
        newest.read(created.id()).has(&[
            (F::iqts_country, Value::Null),
            (F::training_route, json!("12")),
        ]);
    }
}
