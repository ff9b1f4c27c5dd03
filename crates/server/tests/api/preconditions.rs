//! Clients that change only what they have seen, and read only what they have not (contract, section 6.5).

use domain::{DegreeField, PlacementField, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Response, every_version, record};

/// A tag that no record has.
const OTHER: &str = "\"00000000000000000000000000000000\"";

fn tag_of(api: &Api<'_>, path: &str) -> String {
    api.get(path).is(200).header("etag").unwrap().to_owned()
}

fn send_if(api: &Api<'_>, tag: &str, method: &str, path: &str, body: impl Into<Value>) -> Response {
    let body = body.into();
    let request = api.request(method, path).header("If-Match", tag);
    if body.is_null() { request.send() } else { request.json(body).send() }
}

/// A trainee with the paths of the trainee, of a placement and of a degree of it.
fn created(api: &Api<'_>) -> [String; 3] {
    let created = api.create(api.example());
    let id = |parts: F, key: &str| created.value(parts)[0][key].as_str().unwrap().to_owned();
    let path = created.path();
    let placement = format!("{path}/placements/{}", id(F::placements, "placement_id"));
    let degree = format!("{path}/degrees/{}", id(F::degrees, "degree_id"));
    [path, placement, degree]
}

#[test]
fn what_a_client_has_already_is_not_sent_again() {
    every_version(|api| {
        for path in created(api) {
            let first = api.get(&path).is(200);
            let tag = first.header("etag").unwrap();
            for sent in [tag.to_owned(), format!("{OTHER}, {tag}"), format!("W/{tag}"), "*".to_owned()] {
                let again = api.request("GET", &path).header("If-None-Match", &sent).send().is(304);
                assert_eq!(again.header("etag"), Some(tag), "{sent}");
            }
            let other = api.request("GET", &path).header("If-None-Match", OTHER).send().is(200);
            assert_eq!((other.header("etag"), &other.body), (Some(tag), &first.body));
            let head = api.request("HEAD", &path).send().is(200);
            assert_eq!(head.header("etag"), Some(tag));
        }
    });
}

#[test]
fn a_reply_to_a_write_has_the_tag_of_the_record_that_it_shows() {
    every_version(|api| {
        let created = api.send("POST", "/trainees", api.example()).is(201);
        let path = api.shown(&created).path();
        assert_eq!(created.header("etag"), Some(&*tag_of(api, &path)));
        let updated = api.send("PATCH", &path, Body::new(api.version).with(F::last_name, "Newname")).is(200);
        assert_ne!(updated.header("etag"), created.header("etag"));
        assert_eq!(updated.header("etag"), Some(&*tag_of(api, &path)));
        let placement = json!({ "data": record::<domain::Placement>(api.version, &[(PlacementField::urn, "990003")]) });
        let placed = api.send("POST", &format!("{path}/placements"), placement).is(201);
        let placement = format!("{path}/placements/{}", placed.data()["placement_id"].as_str().unwrap());
        assert_eq!(placed.header("etag"), Some(&*tag_of(api, &placement)));
        // What is only tried out is no record yet.
        let tried = api.request("POST", "/trainees").header("Prefer", "validate-only");
        let tried = tried.json(api.example().with(F::last_name, "Other").with(F::email, "other@example.com")).send();
        assert_eq!(tried.is(201).header("etag"), None);
    });
}

#[test]
fn a_change_that_was_meant_for_another_state_of_the_record_is_refused() {
    every_version(|api| {
        let [trainee, placement, degree] = created(api);
        let version = api.version;
        let nested = |fields: Value| json!({ "data": fields });
        let name = nested(record::<domain::Placement>(version, &[(PlacementField::name, "Oak School")]));
        let grade = nested(record::<domain::Degree>(version, &[(DegreeField::grade, "01")]));
        let new_degree = [
            (DegreeField::subject, "100485"),
            (DegreeField::country, "FR"),
            (DegreeField::non_uk_degree, "083"),
            (DegreeField::graduation_year, "2019"),
        ];
        let new_degree = nested(record::<domain::Degree>(version, &new_degree));
        let name_of_trainee = Value::from(Body::new(version).with(F::last_name, "Newname"));
        let cases: [(&str, String, Value, &str, u16); 8] = [
            ("PUT", trainee.clone(), name_of_trainee.clone(), &trainee, 200),
            ("PATCH", trainee.clone(), Body::new(version).with(F::sex, "10").into(), &trainee, 200),
            ("POST", format!("{trainee}/placements"), name.clone(), &trainee, 201),
            ("POST", format!("{trainee}/degrees"), new_degree, &trainee, 201),
            ("PUT", placement.clone(), name, &placement, 200),
            ("PATCH", degree.clone(), grade, &degree, 200),
            ("DELETE", degree.clone(), Value::Null, &degree, 200),
            ("POST", format!("{trainee}/defer"), json!({ "data": { "defer_date": "2026-10-01" } }), &trainee, 200),
        ];
        for (method, path, body, of, status) in cases {
            let before = api.get(&trainee).body;
            let tag = tag_of(api, of);
            for wrong in [OTHER.to_owned(), format!("W/{tag}"), String::new()] {
                let refused = send_if(api, &wrong, method, &path, body.clone());
                refused.error(412, "PreconditionFailed");
            }
            assert_eq!(api.get(&trainee).body, before, "{method} {path}");
            send_if(api, &format!("{OTHER}, {tag}"), method, &path, body.clone()).is(status);
        }
        send_if(api, "*", "DELETE", &placement, Value::Null).is(200);
    });
}

#[test]
fn a_refusal_by_tag_stands_behind_what_is_not_there_and_before_what_is_wrong() {
    every_version(|api| {
        let [trainee, placement, _] = created(api);
        send_if(api, OTHER, "PATCH", "/trainees/1111111111111111111111HH", json!({})).error(404, "NotFound");
        send_if(api, OTHER, "DELETE", &format!("{trainee}/placements/none"), Value::Null).error(404, "NotFound");
        send_if(api, OTHER, "PATCH", &trainee, json!({})).error(412, "PreconditionFailed");
        send_if(api, OTHER, "PATCH", &placement, json!({ "data": { "urn": "x" } })).error(412, "PreconditionFailed");
        send_if(api, OTHER, "POST", &format!("{trainee}/withdraw"), json!({})).error(412, "PreconditionFailed");
        let wrong = api.request("PATCH", &trainee).header("If-Match", OTHER).bytes("{");
        wrong.header("Content-Type", "application/json").send().error(400, "BadRequest");
    });
}
