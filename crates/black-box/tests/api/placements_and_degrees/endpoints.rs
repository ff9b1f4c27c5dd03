//! Placements and degrees: added, read, changed, repeated and removed.

use domain::{DegreeField as D, State, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Shown, every_version, takes_numbers_alone};

const PLACEMENT_KEYS: [&str; 8] = [
    "placement_id",
    "urn",
    "name",
    "address",
    "postcode",
    "school_id",
    "created_at",
    "updated_at",
];
const DEGREE_KEYS: [&str; 15] = [
    "degree_id",
    "uk_degree",
    "non_uk_degree",
    "subject",
    "institution",
    "graduation_year",
    "grade",
    "other_grade",
    "country",
    "institution_uuid",
    "uk_degree_uuid",
    "subject_uuid",
    "grade_uuid",
    "created_at",
    "updated_at",
];

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn bare(api: &Api<'_>) -> Shown {
    api.create(api.example().without(F::placements).without(F::degrees))
}

/// Adds a placement or a degree, which must succeed.
#[track_caller]
fn add(api: &Api<'_>, trainee: &Shown, parts: &str, data: Value) -> Value {
    let reply = api
        .send(
            "POST",
            &format!("{}/{parts}", trainee.path()),
            json!({ "data": data }),
        )
        .is(201);
    let data = reply.data();
    // A degree comes as a list of one.
    let only = data.as_array().map(|only| {
        assert_eq!(only.len(), 1);
        only[0].clone()
    });
    only.unwrap_or_else(|| data.clone())
}

/// Sends something that must be refused, and gives the field of the one error.
#[track_caller]
fn refused(api: &Api<'_>, method: &str, path: &str, data: Value) -> String {
    let reply = api.send(method, path, json!({ "data": data.clone() }));
    assert_eq!(reply.status, 422, "{data}: {:#}", reply.body);
    let errors = reply.errors();
    assert_eq!(errors.len(), 1, "{data}: {errors:?}");
    errors[0].1.split(' ').next().unwrap().to_owned()
}

fn uk(year: u32) -> Value {
    json!({ "subject": "100485", "uk_degree": "083", "grade": "02", "institution": "0117", "graduation_year": year })
}

#[test]
fn a_placement_lives_and_goes() {
    every_version(|api| {
        let trainee = bare(api);
        let path = format!("{}/placements", trainee.path());
        assert_eq!(*api.get(&path).is(200).data(), json!([]));
        let first = add(
            api,
            &trainee,
            "placements",
            json!({ "urn": "900020", "name": "A school", "postcode": "sw1a2aa" }),
        );
        assert_eq!(keys(&first), PLACEMENT_KEYS);
        assert_eq!(first["address"], "URN 900020, sw1a2aa");
        assert_eq!(first["school_id"], Value::Null);
        let same = add(
            api,
            &trainee,
            "placements",
            json!({ "urn": "900020", "name": "A school", "postcode": "sw1a2aa" }),
        );
        assert_ne!(first["placement_id"], same["placement_id"]);
        assert_eq!(*api.get(&path).is(200).data(), json!([first, same]));

        let one = format!("{path}/{}", first["placement_id"].as_str().unwrap());
        assert_eq!(*api.get(&one).is(200).data(), first);
        for method in ["PUT", "PATCH"] {
            let reply = api
                .send(
                    method,
                    &one,
                    json!({ "data": { "name": method, "postcode": null } }),
                )
                .is(200);
            assert_eq!(
                (&reply.data()["name"], &reply.data()["postcode"]),
                (&json!(method), &Value::Null)
            );
        }
        let whole = api.get(&one).is(200);
        let again = api
            .send("PUT", &one, json!({ "data": whole.data() }))
            .is(200);
        assert_eq!(again.data(), whole.data());
        assert!(again.warnings().is_empty());

        let left = api.request("DELETE", &one).send().is(200);
        assert_eq!(
            api.shown(&left)
                .value(F::placements)
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        assert_eq!(*left.data(), api.read(trainee.id()).data);
        for method in ["GET", "DELETE"] {
            assert_eq!(
                api.request(method, &one).send().is(404).errors(),
                [("NotFound", "placement not found")]
            );
        }
        assert_eq!(
            api.get("/trainees/unknown/placements").is(404).errors(),
            [("NotFound", "trainee not found")]
        );
    });
}

#[test]
fn placement_in_a_known_school_has_its_name_and_postcode() {
    every_version(|api| {
        let trainee = bare(api);
        let reply = api.send(
            "POST",
            &format!("{}/placements", trainee.path()),
            json!({ "data": { "urn": "990001", "name": "Another name" } }),
        );
        assert_eq!(reply.warnings().len(), 1);
        let placement = reply.is(201).data().clone();
        assert_ne!(placement["name"], "Another name");
        assert!(placement["school_id"].is_i64());
        let one = format!(
            "{}/placements/{}",
            trainee.path(),
            placement["placement_id"].as_str().unwrap()
        );
        // The name alone is the school's affair; the link is kept.
        let kept = api
            .send("PATCH", &one, json!({ "data": { "name": "Another name" } }))
            .is(200);
        assert_eq!(*kept.data(), placement);
        assert_eq!(kept.warnings().len(), 1);
        // A placement without its school loses the name of the school, and needs another.
        for urn in [json!("123456"), Value::Null] {
            assert_eq!(refused(api, "PATCH", &one, json!({ "urn": urn })), "name");
        }
        let unlinked = api
            .send(
                "PATCH",
                &one,
                json!({ "data": { "urn": "123456", "name": "Another name" } }),
            )
            .is(200);
        assert_eq!(unlinked.data()["postcode"], Value::Null);
        assert_eq!(unlinked.data()["name"], "Another name");
        assert_eq!(unlinked.data()["school_id"], Value::Null);
        let linked = api
            .send("PATCH", &one, json!({ "data": { "urn": "990002" } }))
            .is(200);
        assert!(linked.data()["school_id"].is_i64());
        assert_eq!(refused(api, "PATCH", &one, json!({ "name": "" })), "name");
    });
}

#[test]
fn values_beside_a_known_school_are_ignored_at_any_length() {
    every_version(|api| {
        let long =
            || json!({ "urn": "990001", "name": "n".repeat(256), "postcode": "SW1A 2AA 2AA" });
        let created = api
            .send(
                "POST",
                "/trainees",
                api.example().with(F::placements, json!([long()])),
            )
            .is(201);
        assert_eq!(created.warnings().len(), 2, "{:?}", created.warnings());
        let trainee = api.shown(&created);
        let nested = trainee.value(F::placements)[0].clone();
        assert_ne!(nested["postcode"], "SW1A 2AA 2AA");

        let path = format!("{}/placements", trainee.path());
        let alone = api.send("POST", &path, json!({ "data": long() })).is(201);
        let warnings = alone.warnings();
        assert!(
            warnings.len() == 2 && warnings[0].contains("name") && warnings[1].contains("postcode"),
            "{warnings:?}"
        );
        for key in ["urn", "name", "postcode", "address"] {
            assert_eq!(alone.data()[key], nested[key]);
        }
        let one = format!("{path}/{}", alone.data()["placement_id"].as_str().unwrap());
        for update in [
            json!({ "postcode": "SW1A 2AA 2AA" }),
            json!({ "postcode": "nowhere" }),
            long(),
        ] {
            let reply = api.send("PATCH", &one, json!({ "data": update })).is(200);
            assert_eq!(reply.data(), alone.data());
            assert!(!reply.warnings().is_empty());
        }
        // Without the school they count.
        let update =
            json!({ "data": { "urn": "123456", "name": "A school", "postcode": "SW1A 2AA 2AA" } });
        assert_eq!(
            api.send("PATCH", &one, update).is(422).errors()[0]
                .1
                .split(' ')
                .next(),
            Some("postcode")
        );
    });
}

#[test]
fn a_degree_lives_and_goes() {
    every_version(|api| {
        let trainee = bare(api);
        let path = format!("{}/degrees", trainee.path());
        assert_eq!(
            api.get(&path).is(404).errors(),
            [("NotFound", "degree not found")]
        );
        let later = add(api, &trainee, "degrees", uk(2022));
        assert_eq!(keys(&later), DEGREE_KEYS);
        let earlier = add(api, &trainee, "degrees", uk(2019));
        assert_eq!(*api.get(&path).is(200).data(), json!([earlier, later]));

        let one = format!("{path}/{}", later["degree_id"].as_str().unwrap());
        assert_eq!(*api.get(&one).is(200).data(), later);
        let year = if takes_numbers_alone(api.version, D::graduation_year) {
            json!(2021)
        } else {
            json!("2021-07-01")
        };
        for method in ["PUT", "PATCH"] {
            let reply = api
                .send(
                    method,
                    &one,
                    json!({ "data": { "graduation_year": year, "grade": "09" } }),
                )
                .is(200);
            assert_eq!(
                (&reply.data()["graduation_year"], &reply.data()["grade"]),
                (&json!(2021), &json!("14"))
            );
        }
        let whole = api.get(&one).is(200);
        assert_eq!(
            api.send("PUT", &one, json!({ "data": whole.data() }))
                .is(200)
                .data(),
            whole.data()
        );

        for body in [uk(2019), json!({ "graduation_year": 2019, "grade": "02" })] {
            let (method, path) = if body.get("subject").is_some() {
                ("POST", &path)
            } else {
                ("PATCH", &one)
            };
            let conflict = api.send(method, path, json!({ "data": body })).is(409);
            assert_eq!(conflict.errors()[0].0, "Conflict");
            assert_eq!(*conflict.data(), json!([earlier]));
        }

        let left = api.request("DELETE", &one).send().is(200);
        assert_eq!(*left.data(), api.read(trainee.id()).data);
        assert_eq!(
            api.get(&one).is(404).errors(),
            [("NotFound", "degree not found")]
        );
        let last = format!("{path}/{}", earlier["degree_id"].as_str().unwrap());
        let left = api.request("DELETE", &last).send().is(200);
        assert_eq!(*api.shown(&left).value(F::degrees), json!([]));
    });
}

#[test]
fn one_wrong_code_of_a_degree_is_one_problem() {
    every_version(|api| {
        let trainee = bare(api);
        let path = format!("{}/degrees", trainee.path());
        for (data, field) in [
            // One bad code is one problem, whatever kind of degree it makes.
            (
                json!({ "subject": "100485", "country": "GB", "uk_degree": "083", "grade": "zz", "graduation_year": 2020 }),
                "grade",
            ),
            (
                json!({ "subject": "100485", "country": "FR", "institution": "0117", "uk_degree": "083", "grade": "zz",
                    "graduation_year": 2020 }),
                "grade",
            ),
        ] {
            assert_eq!(refused(api, "POST", &path, data), field);
        }
        assert_eq!(
            api.send("POST", &path, json!({})).is(422).errors()[0]
                .1
                .split(' ')
                .next(),
            Some("data")
        );
    });
}

#[test]
fn nested_records_of_a_finished_trainee_change_where_version_allows() {
    every_version(|api| {
        let trainee = api.create(api.example());
        api.withdraw(trainee.id());
        let finished = domain::Trainee {
            state: Some(State::Withdrawn),
            ..domain::Trainee::default()
        };
        let open =
            domain::commands::check_gates(&finished, domain::Action::Update, &api.version.rules)
                .is_ok();
        let placement = trainee.value(F::placements)[0]["placement_id"]
            .as_str()
            .unwrap();
        let degree = trainee.value(F::degrees)[0]["degree_id"].as_str().unwrap();
        for (method, path, body, status) in [
            (
                "POST",
                "placements".to_owned(),
                json!({ "data": { "urn": "990001" } }),
                201,
            ),
            (
                "PATCH",
                format!("placements/{placement}"),
                json!({ "data": { "name": "Other" } }),
                200,
            ),
            (
                "POST",
                "degrees".to_owned(),
                json!({ "data": uk(2015) }),
                201,
            ),
            (
                "PATCH",
                format!("degrees/{degree}"),
                json!({ "data": { "grade": "01" } }),
                200,
            ),
            (
                "DELETE",
                format!("placements/{placement}"),
                Value::Null,
                200,
            ),
            ("DELETE", format!("degrees/{degree}"), Value::Null, 200),
        ] {
            let path = format!("{}/{path}", trainee.path());
            let reply = if body.is_null() {
                api.request(method, &path).send()
            } else {
                api.send(method, &path, body)
            };
            if open {
                reply.is(status);
            } else {
                assert_eq!(
                    reply.is(422).errors()[0].0,
                    "StateTransitionError",
                    "{method} {path}"
                );
            }
        }
    });
}
