//! Placements and degrees: added, read, changed, repeated and removed.

use domain::{DegreeField as D, TraineeField as F};
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
