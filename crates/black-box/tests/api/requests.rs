//! The record of requests: what was refused and why, in the words of each version; and what is never
//! in it.

use std::num::NonZeroU32;
use std::time::Duration;

use adapter_kit::Endpoint;
use domain::{Placement, PlacementField, Trainee, TraineeField as F};
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use serde_json::{Value, json};
use storage::base::cause::Cause;
use storage::observations::requests::RecordedRequest;
use storage::observations::requests::listing::RequestFilter;
use versions::SERVED;

use crate::api::support::bodies::input;
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Api, Body, Register, Setup, every_version, record};

/// The recorded requests of a provider, oldest first.
fn logged_of(
    register: &Register,
    ukprn: &'static str,
    is_refused: Option<bool>,
) -> Vec<RecordedRequest> {
    register.write_record();
    let filter = RequestFilter {
        is_refused,
        ..RequestFilter::default()
    };
    let page = register.operate(move |session| {
        session
            .open_provider(ukprn, Cause::new("test"))?
            .unwrap()
            .requests(&filter, None)
    });
    assert!(page.next.is_none());
    page.requests.into_iter().rev().collect()
}

fn refused(api: &Api<'_>) -> Vec<RecordedRequest> {
    logged_of(api.register, UKPRN, Some(true))
}

/// The one refused request that is recorded.
#[track_caller]
fn only_refused(api: &Api<'_>) -> RecordedRequest {
    let mut refused = refused(api);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    refused.remove(0)
}

/// Codes and fields.
fn problems(request: &RecordedRequest) -> Vec<(&str, &str)> {
    request
        .problems
        .iter()
        .map(|problem| (problem.code.as_str(), problem.field.as_str()))
        .collect()
}

/// The problems as the reply has them.
fn replied(body: &Value) -> Vec<(&str, &str)> {
    let errors = body["errors"].as_array().unwrap().iter();
    errors
        .map(|error| {
            (
                error["code"].as_str().unwrap(),
                error["field"].as_str().unwrap(),
            )
        })
        .collect()
}

/// A trainee with several mistakes, one of them in the second placement.
fn with_mistakes(api: &Api<'_>) -> Body {
    let placement = |urn| record::<Placement>(api.version, &[(PlacementField::urn, urn)]);
    let body = api
        .example()
        .without(F::last_name)
        .with(F::training_route, "no such route");
    body.with(F::placements, json!([placement("990001"), placement("12")]))
}

#[test]
fn rejected_request_is_logged_with_the_versions_field_names() {
    every_version(|api| {
        let reply = api
            .request("POST", "/trainees")
            .header("X-Request-Id", "night")
            .json(with_mistakes(api))
            .send();
        assert_eq!(reply.status, 422);
        let logged = only_refused(api);
        assert_eq!(logged.endpoint, Endpoint::CreateTrainee.to_string());
        assert_eq!((logged.status, logged.item), (422, None));
        assert_eq!(
            (logged.version, logged.request_id.as_str()),
            (api.version.label.to_string(), "night")
        );
        assert_eq!(logged.answered_at.to_rfc3339(), "2026-10-05T09:00:00+00:00");
        let logged = only_refused(api);
        assert_eq!(problems(&logged), replied(&reply.body));
        // The message is that of the reply, which begins with the field.
        let errors = reply.body["errors"].as_array().unwrap().iter();
        for (error, problem) in errors.zip(&logged.problems) {
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(&problem.message), "{message} {problem:?}");
        }
        let urn = format!(
            "{}[1].{}",
            input::<domain::Trainee>(api.version, F::placements),
            input::<Placement>(api.version, PlacementField::urn)
        );
        assert!(
            logged.problems.iter().any(|problem| problem.field == urn),
            "{urn} is not in {logged:#?}"
        );
        // The other form of the reply changes nothing.
        let by_field = api
            .request("POST", "/trainees")
            .header("Enhanced-Errors", "true")
            .json(with_mistakes(api));
        by_field.send().is(422);
        assert_eq!(refused(api)[1].problems, logged.problems);
    });
}

#[test]
fn every_way_to_be_refused_is_logged_by_its_status() {
    every_version(|api| {
        let created = api.create(api.example());
        let path = created.path();
        api.get("/trainees/unknown").is(404);
        api.send("POST", "/trainees", api.example()).is(409);
        api.request("PATCH", &path)
            .header("If-Match", "\"0\"")
            .json(Body::new(api.version))
            .send()
            .is(412);
        api.request("POST", "/trainees").bytes("{").send().is(400);
        api.request("POST", "/trainees")
            .header("Content-Type", "text/plain")
            .bytes("{}")
            .send()
            .is(415);
        api.get("/trainees?status=gone&since=yesterday").is(422);
        api.withdraw(created.id());
        let (path, body) = (format!("{path}/withdraw"), Body::withdrawal(api.version));
        let again = api.send("POST", &path, body).is(422);
        let logged = refused(api);
        let statuses: Vec<u16> = logged.iter().map(|request| request.status).collect();
        assert_eq!(statuses, [404, 409, 412, 400, 415, 422, 422]);
        assert_eq!(problems(&logged[5]), [("", "since"), ("", "status")]);
        assert_eq!(problems(&logged[6]), replied(&again.body));
        let date_of_birth = input::<Trainee>(api.version, F::date_of_birth);
        let messages: Vec<_> = logged[..5]
            .iter()
            .map(|request| request.problems[0].message.as_str())
            .collect();
        let expected = [
            "trainee not found",
            "this trainee is already present",
            "the record has changed since it was read; read it again",
            "the body is not valid",
            "send the body as JSON, with the header Content-Type: application/json",
        ];
        assert_eq!(messages, expected);
        let fields = &logged[1].problems[0].field;
        assert!(fields.contains(date_of_birth), "{fields}");
        let accepted = logged_of(api.register, UKPRN, Some(false));
        let endpoints = accepted.into_iter().map(|one| (one.endpoint, one.status));
        let expected = [(Endpoint::CreateTrainee, 201), (Endpoint::Withdraw, 200)]
            .map(|(endpoint, status)| (endpoint.to_string(), status));
        assert_eq!(endpoints.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn one_request_over_the_rate_limit_is_recorded_each_time_of_each_token() {
    let limit = RateLimit {
        requests: NonZeroU32::new(1).unwrap(),
        window: Duration::from_hours(1),
    };
    let register = Register::with_setup(Setup {
        admission: Admission::with_limit(Some(limit)),
        ..Setup::default()
    });
    let (api, other) = (register.api(SERVED[0]), register.other_provider(SERVED[0]));
    other.get("/info").is(200);
    other.get("/info").is(429);
    for _ in 0..20 {
        api.get("/info");
    }
    assert_eq!(refused(&api).len(), 1);
    for _ in 0..20 {
        api.get("/info").is(429);
    }
    assert_eq!(refused(&api).len(), 2);
    assert_eq!(logged_of(&register, OTHER_UKPRN, Some(true)).len(), 1);
}

#[test]
fn rejected_batch_items_are_logged_with_their_positions() {
    every_version(|api| {
        let item = |key: &str, body: Body| json!({ "idempotency_key": key, "data": Value::from(body)["data"] });
        // Items are handled side by side, so the duplicate is one of a trainee who is there
        // already.
        api.create(api.example());
        let items = vec![
            item("a", api.example().with(F::last_name, "Another")),
            item("b", with_mistakes(api)),
            json!({ "data": Value::from(api.example())["data"] }),
            item("d", api.example()),
        ];
        let batch = api
            .request("POST", "/trainees/batch")
            .header("X-Request-Id", "batch")
            .json(items)
            .send()
            .is(200);
        let results = batch.data().as_array().unwrap();
        let mut logged = refused(api);
        logged.sort_by_key(|request| request.item);
        let place =
            |request: &RecordedRequest| (request.item, request.status, request.request_id.clone());
        let expected = [(1, 422), (2, 422), (3, 409)]
            .map(|(item, status)| (Some(item), status, "batch".to_owned()));
        assert_eq!(logged.iter().map(place).collect::<Vec<_>>(), expected);
        assert_eq!(problems(&logged[0]), replied(&results[1]));
        assert_eq!(problems(&logged[1]), [("blank", "idempotency_key")]);
        let accepted = logged_of(api.register, UKPRN, Some(false));
        let items: Vec<_> = accepted.iter().map(|request| request.item).collect();
        assert_eq!(items, [None, Some(0)]);
    });
}

#[test]
fn problems_of_a_request_without_a_key_repeat_no_value() {
    every_version(|api| {
        let without_key = || api.example().without(F::provider_trainee_id);
        for (body, code, value) in [
            (
                without_key().with(F::sex, "no such sex"),
                "unknown_code",
                "no such sex",
            ),
            (
                without_key().with(F::date_of_birth, "1999-02-30"),
                "wrong_type",
                "1999-02-30",
            ),
        ] {
            api.send("POST", "/trainees", body).is(422);
            let recorded = refused(api).pop().unwrap();
            assert_eq!(problems(&recorded)[0].0, code);
            let text = format!("{recorded:?}");
            assert!(!text.contains(value), "{value} is in {text}");
        }
    });
}

#[test]
fn many_problems_are_counted_and_the_first_are_named() {
    every_version(|api| {
        let placement = record::<Placement>(api.version, &[(PlacementField::urn, "12")]);
        let reply = api
            .send(
                "POST",
                "/trainees",
                api.example()
                    .with(F::placements, json!(vec![placement; 60])),
            )
            .is(422);
        let logged = only_refused(api);
        let expected = replied(&reply.body);
        assert_eq!(problems(&logged), expected[..50]);
        assert_eq!(
            usize::try_from(logged.problems_left_out).unwrap(),
            expected.len() - 50
        );
    });
}

#[test]
fn client_invented_names_are_not_logged_unlike_other_versions_names() {
    every_version(|api| {
        let foreign = api.served().other_names.trainee.refused[0].0;
        let mut placement = record::<Placement>(api.version, &[(PlacementField::urn, "990001")]);
        placement["Jane Example"] = json!("x");
        let body = api
            .example()
            .with_key("jane@example.com", "x")
            .with_key(foreign, "x");
        let strict = api
            .request("POST", "/trainees")
            .header("Prefer", "handling=strict");
        strict
            .json(body.with(F::placements, json!([placement])))
            .send()
            .is(422);
        let twice = api.request("POST", "/trainees");
        twice
            .bytes(r#"{"data":{"QQ123456C":1,"QQ123456C":2}}"#)
            .send()
            .is(422);
        let logged = refused(api);
        let fields: Vec<_> = logged
            .iter()
            .flat_map(problems)
            .map(|(_, field)| field)
            .collect();
        let placement = format!(
            "{}[0]",
            input::<domain::Trainee>(api.version, F::placements)
        );
        for expected in ["data", placement.as_str(), foreign] {
            assert!(
                fields.contains(&expected),
                "{expected} is not in {fields:?}"
            );
        }
        let text = format!("{logged:?}").to_lowercase();
        assert!(
            ["jane", "qq123456c"]
                .iter()
                .all(|said| !text.contains(said)),
            "{text}"
        );
    });
}

#[test]
fn request_without_valid_token_or_endpoint_belongs_to_no_provider() {
    every_version(|api| {
        let stranger = api
            .register
            .api_with_token(api.version, format!("sandbox_{}", "0".repeat(64)));
        stranger.send("POST", "/trainees", api.example()).is(401);
        api.request("GET", "/info")
            .without("Authorization")
            .send()
            .is(401);
        api.get("/nothing").is(404);
        api.request("DELETE", "/trainees").send().is(405);
        assert_eq!(logged_of(api.register, UKPRN, None), []);
    });
}
