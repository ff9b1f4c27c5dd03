//! Keys that are no inputs of the version: other versions' names, names of no version, and fields
//! of a response.

use std::collections::BTreeSet;

use adapter_kit::Status;
use adapter_kit::shape::group_of;
use conformance::paths;
use domain::{Placement, PlacementField as P, TraineeField as F, Withdrawal};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, Response, TextChecks as _, every_version, record};

/// Sends a request of a client that wants to hear of every unknown name as an error.
fn send_strictly(api: &Api<'_>, method: &str, path: &str, body: impl Into<Value>) -> Response {
    let request = api.request(method, path).json(body);
    request.header("Prefer", "handling=strict").send()
}

/// The names of other versions for fields of a trainee, which are refused.
fn foreign_names(api: &Api<'_>) -> &'static [(&'static str, F)] {
    let names = &api.served().other_names.trainee.refused;
    assert!(!names.is_empty());
    names
}

/// Values for the fields that versions call differently.
const VALUES: [(F, &str); 5] = [
    (F::course_subject_1, "100403"),
    (F::course_subject_2, "100425"),
    (F::course_subject_3, "100417"),
    (F::training_partner_urn, "990004"),
    (F::training_partner_ukprn, "10090001"),
];

/// A value that every version accepts for a field which versions call differently: of the list, or
/// of the example.
fn value(api: &Api<'_>, field: F) -> String {
    let known = VALUES
        .iter()
        .find(|(known, _)| *known == field)
        .map(|(_, value)| (*value).to_owned());
    let body = Value::from(api.example());
    let example = || {
        paths::get(
            body["data"].as_object()?,
            input::<domain::Trainee>(api.version, field),
        )?
        .as_str()
    };
    known
        .or_else(|| example().map(str::to_owned))
        .unwrap_or_else(|| panic!("versions call {field:?} differently; say which value to send"))
}

#[test]
fn another_versions_name_is_rejected_with_this_versions_name() {
    every_version(|api| {
        let created = api.create(api.example());
        for (foreign, field) in foreign_names(api) {
            let right = input::<domain::Trainee>(api.version, *field);
            let instead = Body::new(api.version).with_key(foreign, value(api, *field));
            for method in ["PUT", "PATCH"] {
                let reply = api.send(method, &created.path(), instead.clone());
                let message = reply.problems(&[foreign])[0];
                assert!(
                    message.split(' ').any(|word| word == right),
                    "{message} should say {right}"
                );
            }
            let beside_another_value = instead.with(*field, "something else");
            let reply = api
                .send("PUT", &created.path(), beside_another_value)
                .is(422);
            assert!(
                reply
                    .errors()
                    .iter()
                    .any(|(_, message)| message.starts_with(&format!("{foreign} ")))
            );
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn another_versions_name_of_required_field_is_one_problem() {
    every_version(|api| {
        let mut names = foreign_names(api).iter();
        let subject = names.find(|(_, field)| *field == F::course_subject_1);
        let (foreign, _) = subject.unwrap_or(&foreign_names(api)[0]);
        let body = api.example().without(F::course_subject_1);
        api.send("POST", "/trainees", body.with_key(foreign, "100403"))
            .problems(&[foreign]);
    });
}

#[test]
fn another_versions_name_with_an_equal_value_is_ignored() {
    every_version(|api| {
        let names = foreign_names(api);
        let both = names.iter().fold(api.example(), |body, (foreign, field)| {
            body.with(*field, value(api, *field))
                .with_key(foreign, value(api, *field))
        });
        let reply = send_strictly(api, "POST", "/trainees", both).is(201);
        assert_eq!(reply.warnings(), Vec::<&str>::new());
        let created = api.shown(&reply);
        for (_, field) in names {
            created.has(&[(*field, json!(value(api, *field)))]);
        }
    });
}

#[test]
fn another_versions_name_is_refused_in_a_withdrawal_too() {
    every_version(|api| {
        let created = api.create(api.example());
        let path = format!("{}/withdraw", created.path());
        let names = &api.served().other_names.withdrawal.refused;
        assert!(!names.is_empty());
        for (foreign, field) in names {
            let right = input::<Withdrawal>(api.version, *field);
            let mut data = Value::from(Body::withdrawal(api.version))["data"].clone();
            let moved = data.as_object_mut().unwrap().shift_remove(right).unwrap();
            data[*foreign] = moved.clone();
            let reply = api.send("POST", &path, json!({ "data": data }));
            let message = reply.problems(&[foreign])[0];
            assert!(
                message.split(' ').any(|word| word == right),
                "{message} should say {right}"
            );

            data[right] = moved;
            let reply = api.send("POST", &path, json!({ "data": data })).is(200);
            assert_eq!(reply.warnings(), Vec::<&str>::new());
        }
    });
}

#[test]
fn another_versions_name_of_a_read_only_field_warns() {
    every_version(|api| {
        let created = api.create(api.example());
        let (shape, inputs) = (&api.version.shapes.trainee, &api.version.inputs.trainee);
        let foreign = foreign_names(api);
        let is_known = |name: &str| {
            shape.shows(name)
                || shape.group(name).is_some()
                || inputs.field(name).is_some()
                || foreign.iter().any(|(other, _)| *other == name)
        };
        let entries = SERVED.iter().flat_map(|other| other.shapes.trainee.entries);
        let unknown_here: BTreeSet<&str> = entries
            .map(|entry| group_of(entry.name).unwrap_or(entry.name))
            .filter(|name| !is_known(name))
            .collect();
        assert!(!unknown_here.is_empty());
        for name in unknown_here {
            let body = Body::new(api.version).with_key(name, "x");
            let reply = api.send("PATCH", &created.path(), body).is(200);
            let warnings = reply.warnings();
            let expected = format!("299 - \"unknown field {name}");
            assert!(
                warnings.len() == 1 && warnings[0].starts_with(&expected),
                "{warnings:?}"
            );
            assert_eq!(*reply.data(), created.data);
        }
    });
}

#[test]
fn unknown_name_is_accepted_with_a_warning_and_a_suggestion() {
    every_version(|api| {
        let reply = api
            .send(
                "POST",
                "/trainees",
                api.example().with_key("frist_names", "Lost"),
            )
            .is(201);
        assert_eq!(
            reply.warnings(),
            ["299 - \"unknown field frist_names (did you mean first_names?)\""]
        );
        let created = api.shown(&reply);
        created.has(&[(F::first_names, json!("Trainee"))]);

        let body = Body::new(api.version)
            .with_key("emial", "lost@example.com")
            .with(F::middle_names, "Kept");
        let reply = api.send("PATCH", &created.path(), body).is(200);
        assert_eq!(
            reply.warnings(),
            ["299 - \"unknown field emial (did you mean email?)\""]
        );
        api.shown(&reply).has(&[
            (F::middle_names, json!("Kept")),
            (F::email, json!("trainee@example.com")),
        ]);

        let far_from_any =
            Body::new(api.version).with_key("favourite_colour", json!({ "deep": ["red"] }));
        let reply = api.send("PATCH", &created.path(), far_from_any).is(200);
        assert_eq!(
            reply.warnings(),
            ["299 - \"unknown field favourite_colour\""]
        );
    });
}

#[test]
fn an_unknown_name_is_refused_when_the_client_prefers_that() {
    every_version(|api| {
        let body = api
            .example()
            .with_key("frist_names", "Lost")
            .with_key("favourite_colour", "red");
        let reply = send_strictly(api, "POST", "/trainees", body.clone());
        let messages = reply.problems(&["frist_names", "favourite_colour"]);
        messages[0].shows(&["first_names"]);
        let lenient = api
            .request("POST", "/trainees")
            .header("Prefer", "handling=lenient")
            .json(body);
        assert_eq!(lenient.send().is(201).warnings().len(), 2);
    });
}

#[test]
fn unknown_names_in_withdrawals_and_nested_records_are_named() {
    every_version(|api| {
        let mut placement = record::<Placement>(api.version, &[(P::urn, "990001")]);
        placement["colour"] = json!("red");
        let body = api.example().with(F::placements, json!([placement]));
        send_strictly(api, "POST", "/trainees", body.clone()).is(422);
        let reply = api.send("POST", "/trainees", body).is(201);
        assert!(
            reply.warnings().len() == 1 && reply.warnings()[0].contains("colour"),
            "{:?}",
            reply.warnings()
        );

        let path = format!("{}/withdraw", api.shown(&reply).path());
        let body = Body::withdrawal(api.version).with_key("triger", "x");
        let strict = send_strictly(api, "POST", &path, body.clone());
        strict.problems(&["triger"])[0].shows(&["trigger"]);
        let reply = api.send("POST", &path, body).is(200);
        assert_eq!(
            reply.warnings(),
            ["299 - \"unknown field triger (did you mean trigger?)\""]
        );
    });
}

#[test]
fn at_most_ten_header_safe_names_are_repeated() {
    every_version(|api| {
        let created = api.create(api.example());
        let body = (0..25).fold(Body::new(api.version), |body, number| {
            body.with_key(&format!("colour_{number}"), 1)
        });
        let reply = api.send("PATCH", &created.path(), body).is(200);
        assert_eq!(reply.warnings().len(), 10, "{:?}", reply.warnings());

        let too_long = "x".repeat(65);
        let unprintable = [
            "evil\r\nX-Evil: 1",
            "quo\"te",
            "naïve",
            "two words",
            "",
            too_long.as_str(),
        ];
        let body = unprintable
            .iter()
            .fold(Body::new(api.version), |body, key| body.with_key(key, 1));
        let reply = api
            .send("PATCH", &created.path(), body.clone().with_key("colour", 1))
            .is(200);
        assert_eq!(reply.warnings(), ["299 - \"unknown field colour\""]);
        assert!(reply.header("x-evil").is_none());
        let strict = send_strictly(api, "PATCH", &created.path(), body).is(422);
        assert_eq!(strict.errors().len(), unprintable.len());
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn disabilities_are_counted_to_nine() {
    every_version(|api| {
        let nine = [
            (F::disability1, "51"),
            (F::disability2, "53"),
            (F::disability3, "54"),
            (F::disability4, "55"),
            (F::disability5, "56"),
            (F::disability6, "57"),
            (F::disability7, "58"),
            (F::disability8, "59"),
            (F::disability9, "96"),
        ];
        let body = nine
            .into_iter()
            .fold(api.example(), |body, (field, code)| body.with(field, code));
        let reply = api
            .send("POST", "/trainees", body.with_key("disability10", "95"))
            .is(201);
        assert!(
            reply.warnings()[0].starts_with("299 - \"unknown field disability10"),
            "{:?}",
            reply.warnings()
        );
        api.shown(&reply)
            .has(&nine.map(|(field, code)| (field, json!(code))));
    });
}

#[test]
fn fields_of_a_response_are_ignored_unless_strict() {
    every_version(|api| {
        let created = api.create(api.example());
        let read_only = api
            .version
            .shapes
            .trainee
            .entries
            .iter()
            .map(|entry| entry.name);
        let read_only: Vec<&str> = read_only
            .filter(|name| api.version.inputs.trainee.field(name).is_none())
            .collect();
        let service = [
            F::trn,
            F::state,
            F::ukprn,
            F::created_at,
            F::placements,
            F::course_min_age,
        ];
        let shown: Vec<_> = service
            .iter()
            .filter_map(|field| api.version.shapes.trainee.name_of(*field))
            .collect();
        assert!(
            shown.len() == service.len() || api.version.publication.status != Status::Released,
            "{shown:?}"
        );
        for name in shown {
            assert!(read_only.contains(&name), "{name}");
        }
        for value in [json!("nonsense"), Value::Null, json!({ "a": 1 }), json!(-7)] {
            let body = read_only.iter().fold(Body::new(api.version), |body, name| {
                body.with_key(name, value.clone())
            });
            send_strictly(api, "PUT", &created.path(), body.clone()).is(422);
            let reply = api.send("PUT", &created.path(), body).is(200);
            assert_eq!(*reply.data(), created.data);
        }
    });
}

#[test]
fn nested_lists_in_updates_warn_or_are_rejected_when_strict() {
    every_version(|api| {
        let created = api.create(api.example());
        for list in [F::placements, F::degrees] {
            for value in [json!([{ "name": "x" }]), json!([]), json!("x"), json!({})] {
                let body = Body::new(api.version)
                    .with(list, value)
                    .with(F::middle_names, "Changed");
                let told = api.send("PATCH", &created.path(), body.clone()).is(200);
                assert_eq!(told.warnings().len(), 1, "{:?}", told.warnings());
                let refused = send_strictly(api, "PATCH", &created.path(), body).is(422);
                assert_eq!(refused.errors().len(), 1, "{:?}", refused.errors());
            }
        }
        assert_eq!(
            api.read(created.id()).value(F::placements),
            created.value(F::placements)
        );
    });
}
