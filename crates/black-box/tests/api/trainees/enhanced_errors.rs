//! Problems by field, for clients that ask for that form.

use adapter_kit::NestedErrors;
use domain::{Degree, DegreeField as D, TraineeField as F};
use serde_json::{Map, Value, json};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Request, Response, every_version_that, record, run_cases};
use crate::api::trainees::ten_mistakes::{body_and_places, paths};

/// Runs a scenario in each version that answers by field.
fn answering_by_field(scenario: impl FnMut(&Api<'_>)) {
    every_version_that(
        "problems by field",
        |version| version.wire.problems.is_common(),
        scenario,
    );
}

/// A request from a client that asks for problems by field.
fn enhanced<'a>(api: &Api<'a>, method: &str, path: &str, body: impl Into<Value>) -> Request<'a> {
    api.request(method, path)
        .header("Enhanced-Errors", "true")
        .json(body)
}

/// The problems of a reply by field, which must be as many as its message says.
#[track_caller]
fn by_field(reply: &Response) -> &Map<String, Value> {
    fn count(value: &Value) -> usize {
        match value {
            Value::Array(texts) => texts.len(),
            Value::Object(fields) => fields.values().map(count).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                panic!("{value} is no list")
            }
        }
    }
    assert_eq!(reply.status, 422, "{:#}", reply.body);
    assert_eq!(
        reply.body.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["message", "errors"]
    );
    let message = reply.body["message"].as_str().unwrap();
    let problems = count(&reply.body["errors"]);
    assert!(
        message.contains(&format!(" {problems} problem")),
        "{message} of {problems}"
    );
    reply.body["errors"].as_object().unwrap()
}

fn list(api: &Api<'_>, list: F) -> &'static str {
    input::<domain::Trainee>(api.version, list)
}

fn degree(api: &Api<'_>, subject: &str, year: &str) -> Value {
    let fields = [
        (D::uk_degree, "083"),
        (D::subject, subject),
        (D::grade, "02"),
        (D::graduation_year, year),
    ];
    record::<Degree>(api.version, &fields)
}

#[test]
fn problems_are_listed_by_field_on_request() {
    run_cases(include_str!("enhanced_errors.txt"));
}

#[test]
fn ten_mistakes_stand_under_their_fields() {
    answering_by_field(|api| {
        let (body, places) = body_and_places(api);
        let listed = api.send("POST", "/trainees", body.clone());
        let messages = listed.problems(&places.each_ref().map(String::as_str));
        let mut expected = Map::new();
        for ((place, path), message) in places.iter().zip(paths(&places)).zip(messages) {
            let problem = message.strip_prefix(&format!("{place} ")).unwrap();
            match (
                api.version.nested_errors,
                place.split(' ').collect::<Vec<_>>()[..].as_ref(),
            ) {
                (NestedErrors::Nested, &[list, number, field]) => {
                    let texts = json!([format!("item {number}: {problem}")]);
                    expected.insert(list.to_owned(), json!({ field: texts }));
                }
                (NestedErrors::Nested | NestedErrors::Flat, _) => {
                    expected.insert(path, json!([problem]));
                }
            }
        }
        let reply = enhanced(api, "POST", "/trainees", body).send();
        assert_eq!(*by_field(&reply), expected);
    });
}

#[test]
fn same_field_of_items_is_distinguished() {
    answering_by_field(|api| {
        let degrees = list(api, F::degrees);
        let subject = input::<Degree>(api.version, D::subject);
        let good = degree(api, "100485", "2021");
        let items = json!([
            degree(api, "1", "2021"),
            good,
            degree(api, "1", "2020"),
            good
        ]);
        let reply = enhanced(
            api,
            "POST",
            "/trainees",
            api.example().with(F::degrees, items),
        )
        .send();
        let errors = by_field(&reply);
        match api.version.nested_errors {
            NestedErrors::Flat => {
                let keys: Vec<String> = [0, 2]
                    .map(|at| format!("{degrees}[{at}].{subject}"))
                    .into_iter()
                    .chain([format!("{degrees}[3]")])
                    .collect();
                assert_eq!(errors.keys().cloned().collect::<Vec<_>>(), keys);
                assert_eq!(errors[&keys[2]], json!(["repeats item 2"]));
            }
            NestedErrors::Nested => {
                let fields = errors[degrees].as_object().unwrap();
                assert_eq!(fields.keys().collect::<Vec<_>>(), ["base", subject]);
                let of_subject: Vec<_> = fields[subject]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|text| text.as_str().unwrap())
                    .collect();
                assert!(
                    of_subject[0].starts_with("item 1: ") && of_subject[1].starts_with("item 3: ")
                );
                assert_eq!(
                    (of_subject.len(), &fields["base"]),
                    (2, &json!(["item 4: repeats item 2"]))
                );
            }
        }
    });
}

#[test]
fn problems_of_whole_array_are_plain() {
    answering_by_field(|api| {
        let degrees = list(api, F::degrees);
        let good = degree(api, "100485", "2021");
        let many = enhanced(
            api,
            "POST",
            "/trainees",
            api.example().with(F::degrees, vec![good.clone(); 101]),
        )
        .send();
        assert_eq!(by_field(&many)[degrees].as_array().unwrap().len(), 1);
        let twice = enhanced(
            api,
            "POST",
            "/trainees",
            api.example().with(F::degrees, json!([good, good])),
        )
        .send();
        let (key, text) = match api.version.nested_errors {
            NestedErrors::Flat => (format!("{degrees}[1]"), "repeats item 1"),
            NestedErrors::Nested => (degrees.to_owned(), "item 2: repeats item 1"),
        };
        assert_eq!(by_field(&twice)[&key], json!([text]));
    });
}
