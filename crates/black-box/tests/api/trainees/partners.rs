//! The link to a training partner, by either of its numbers.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Shown, every_version};

/// A school that trains, with both numbers.
const SCHOOL: (&str, &str) = ("990004", "10090001");
const OTHER_SCHOOL: (&str, &str) = ("990014", "10090002");
/// A university that trains, which has no URN.
const UNIVERSITY: &str = "10090101";

#[track_caller]
fn links(shown: &Shown, urn: impl Into<Value>, ukprn: impl Into<Value>) {
    let (urn, ukprn) = (urn.into(), ukprn.into());
    let none = urn.is_null() && ukprn.is_null();
    shown.has(&[
        (F::training_partner_urn, urn),
        (F::training_partner_ukprn, ukprn),
        (F::training_partner_not_applicable, json!(none)),
    ]);
}

fn keys(api: &Api<'_>, urn: impl Into<Value>, ukprn: impl Into<Value>) -> Body {
    Body::new(api.version)
        .with(F::training_partner_urn, urn)
        .with(F::training_partner_ukprn, ukprn)
}

#[test]
fn urn_precedes_ukprn_and_blank_keys_beside_others_are_ignored() {
    every_version(|api| {
        let created = api.create(api.example());
        let update = |body| api.update(created.id(), body);
        links(
            &update(keys(api, SCHOOL.0, OTHER_SCHOOL.1)),
            SCHOOL.0,
            SCHOOL.1,
        );
        links(
            &update(keys(api, "", OTHER_SCHOOL.1)),
            OTHER_SCHOOL.0,
            OTHER_SCHOOL.1,
        );
        links(
            &update(keys(api, SCHOOL.0, Value::Null)),
            SCHOOL.0,
            SCHOOL.1,
        );
        links(
            &update(Body::new(api.version).with(F::training_partner_ukprn, UNIVERSITY)),
            Value::Null,
            UNIVERSITY,
        );
        links(
            &update(Body::new(api.version).with(F::email, "new@example.com")),
            Value::Null,
            UNIVERSITY,
        );
        links(
            &update(keys(api, Value::Null, "")),
            Value::Null,
            Value::Null,
        );
    });
}

#[test]
fn record_sent_back_with_one_changed_number_links_that_partner() {
    every_version(|api| {
        let created = api.create(api.example().with(F::training_partner_urn, SCHOOL.0));
        let changed = api.update(
            created.id(),
            created
                .body()
                .with(F::training_partner_ukprn, OTHER_SCHOOL.1),
        );
        links(&changed, OTHER_SCHOOL.0, OTHER_SCHOOL.1);
        let changed = api.update(
            created.id(),
            changed.body().with(F::training_partner_urn, SCHOOL.0),
        );
        links(&changed, SCHOOL.0, SCHOOL.1);
        let kept = api.update(
            created.id(),
            changed.body().with(F::training_partner_urn, Value::Null),
        );
        links(&kept, SCHOOL.0, SCHOOL.1);
    });
}

#[test]
fn one_blank_key_removes_a_partner_without_that_number() {
    every_version(|api| {
        let created = api.create(api.example());
        for (field, method, blank) in [
            (F::training_partner_urn, "PATCH", Value::Null),
            (F::training_partner_urn, "PUT", json!("")),
            (F::training_partner_ukprn, "PATCH", Value::Null),
        ] {
            let linked = api.update(
                created.id(),
                Body::new(api.version).with(F::training_partner_ukprn, UNIVERSITY),
            );
            links(&linked, Value::Null, UNIVERSITY);
            // The record as it is shown has a null for the URN, and keeps its partner.
            links(
                &api.update(created.id(), linked.body()),
                Value::Null,
                UNIVERSITY,
            );
            links(
                &api.update(created.id(), keys(api, Value::Null, UNIVERSITY)),
                Value::Null,
                UNIVERSITY,
            );
            let removed = api.send(
                method,
                &created.path(),
                Body::new(api.version).with(field, blank.clone()),
            );
            links(&api.shown(&removed.is(200)), Value::Null, Value::Null);
            links(&api.read(created.id()), Value::Null, Value::Null);
        }
    });
}

#[test]
fn record_with_either_kind_of_partner_can_be_sent_back() {
    every_version(|api| {
        for (number, ukprn) in [SCHOOL.1, UNIVERSITY].into_iter().enumerate() {
            let body = api.example().with(F::training_partner_ukprn, ukprn);
            let created = api.create(body.with(F::last_name, format!("Person {number}")));
            let reply = api.send("PUT", &created.path(), created.body()).is(200);
            assert_eq!(*reply.data(), created.data);
            let moved = created.body().with(F::training_partner_urn, OTHER_SCHOOL.0);
            links(
                &api.shown(&api.send("PUT", &created.path(), moved).is(200)),
                OTHER_SCHOOL.0,
                OTHER_SCHOOL.1,
            );
        }
    });
}

#[test]
fn an_unknown_number_is_refused_and_the_link_stays() {
    every_version(|api| {
        let created = api.create(api.example().with(F::training_partner_urn, SCHOOL.0));
        let name = |field| api.version.inputs.trainee.name_of(field).unwrap();
        for (field, values) in [
            (F::training_partner_urn, ["990001", "99000"]),
            (F::training_partner_ukprn, ["99999999", "1009000"]),
        ] {
            for value in values {
                let reply = api.send(
                    "PATCH",
                    &created.path(),
                    Body::new(api.version).with(field, value),
                );
                reply.problems(&[name(field)]);
            }
        }
        links(&api.read(created.id()), SCHOOL.0, SCHOOL.1);
    });
}
