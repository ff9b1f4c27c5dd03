//! What a program finds in the entries of an error reply: the code of the problem, and the path of
//! its field.

use domain::{Degree, DegreeField as D, Placement, PlacementField as P, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, Response, every_version, record};

/// The code and the field of the one problem.
#[track_caller]
fn the_one(reply: &Response) -> (&str, &str) {
    assert_eq!(
        (reply.status, reply.errors().len()),
        (422, 1),
        "{:#}",
        reply.body
    );
    let entry = &reply.body["errors"][0];
    (
        entry["code"].as_str().unwrap(),
        entry["field"].as_str().unwrap(),
    )
}

fn strictly(api: &Api<'_>, body: Body) -> Response {
    api.request("POST", "/trainees")
        .header("Prefer", "handling=strict")
        .json(body)
        .send()
}

#[test]
fn every_sort_of_place_is_a_path() {
    every_version(|api| {
        let (placements, degrees) = (
            input::<domain::Trainee>(api.version, F::placements),
            input::<domain::Trainee>(api.version, F::degrees),
        );
        let degree = record::<Degree>(
            api.version,
            &[
                (D::uk_degree, "083"),
                (D::subject, "100485"),
                (D::grade, "02"),
                (D::graduation_year, "2021"),
            ],
        );
        let mut placement = record::<Placement>(api.version, &[(P::urn, "990001")]);
        placement["colour"] = json!("red");

        assert_eq!(
            the_one(&api.send("POST", "/trainees", json!({}))),
            ("no_data", "data")
        );
        let many = vec![degree.clone(); 101];
        let too_many = api.send("POST", "/trainees", api.example().with(F::degrees, many));
        assert_eq!(the_one(&too_many), ("too_many", degrees));
        let twice = api.send(
            "POST",
            "/trainees",
            api.example().with(F::degrees, json!([degree, degree])),
        );
        assert_eq!(
            the_one(&twice),
            ("repeats_item", format!("{degrees}[1]").as_str())
        );
        let no_record = api.send(
            "POST",
            "/trainees",
            api.example().with(F::placements, json!([7])),
        );
        assert_eq!(
            the_one(&no_record),
            ("no_data", format!("{placements}[0]").as_str())
        );
        let unknown = strictly(api, api.example().with_key("favourite_colour", "red"));
        assert_eq!(the_one(&unknown), ("unknown_name", "favourite_colour"));
        let nested = strictly(api, api.example().with(F::placements, json!([placement])));
        assert_eq!(
            the_one(&nested),
            ("unknown_name", format!("{placements}[0].colour").as_str())
        );
    });
}

#[test]
fn records_by_themselves_have_plain_paths() {
    every_version(|api| {
        let created = api.create(api.example());
        let placement = record::<Placement>(api.version, &[(P::urn, "1")]);
        let reply = api.send(
            "POST",
            &format!("{}/placements", created.path()),
            json!({ "data": placement }),
        );
        let codes: Vec<_> = reply.is(422).body["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["field"].clone())
            .collect();
        assert!(
            codes.contains(&json!(input::<Placement>(api.version, P::urn))),
            "{codes:?}"
        );
        api.withdraw(created.id());
        let again = api.send(
            "POST",
            &format!("{}/withdraw", created.path()),
            Body::withdrawal(api.version),
        );
        assert_eq!(the_one(&again), ("transition_not_allowed", "state"));
    });
}

#[test]
fn only_request_problems_have_a_code_and_a_field() {
    every_version(|api| {
        let created = api.create(api.example());
        for reply in [
            api.get("/nothing").is(404),
            api.get("/trainees/x").is(404),
            api.request("DELETE", "/info").send().is(405),
            api.send("POST", "/trainees", api.example()).is(409),
            api.request("PUT", &created.path())
                .bytes("{")
                .send()
                .is(400),
        ] {
            let entries = reply.body["errors"].as_array().unwrap();
            let keys = |entry: &Value| {
                entry
                    .as_object()
                    .unwrap()
                    .keys()
                    .cloned()
                    .collect::<Vec<_>>()
            };
            assert!(
                entries
                    .iter()
                    .all(|entry| keys(entry) == ["error", "message"]),
                "{:#}",
                reply.body
            );
        }
    });
}
