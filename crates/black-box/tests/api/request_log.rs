//! The log of requests: what was refused and why, in the words of each version; how much is kept;
//! and what is never in it.

use std::num::NonZeroU32;
use std::time::Duration;

use adapter_kit::Endpoint;
use domain::{Placement, PlacementField, Trainee, TraineeField as F};
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use serde_json::{Value, json};
use storage::base::cause::Cause;
use storage::observations::request_log::{
    LogLimits, LoggedRequest, Outcome, Refusal, RequestFilter,
};
use usage::request_log::report::{RefusedMost, help};
use usage::request_log::{Bounds, RequestLog};
use versions::SERVED;

use crate::api::support::bodies::input;
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Api, Body, Register, Response, Setup, every_version, record};

/// The requests of a provider that the log has, oldest first.
fn logged_of(
    register: &Register,
    ukprn: &'static str,
    outcome: Option<Outcome>,
) -> Vec<LoggedRequest> {
    register.write_request_log();
    let filter = RequestFilter {
        outcome,
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

fn refused(api: &Api<'_>) -> Vec<LoggedRequest> {
    logged_of(api.register, UKPRN, Some(Outcome::Refused))
}

/// The one refused request that the log has.
#[track_caller]
fn only_refused(api: &Api<'_>) -> LoggedRequest {
    let mut refused = refused(api);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    refused.remove(0)
}

/// Codes and fields.
fn problems(request: &LoggedRequest) -> Vec<(&str, &str)> {
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
        assert_eq!(
            (logged.method.as_str(), logged.status, logged.item),
            ("POST", 422, None)
        );
        assert_eq!(
            (logged.version, logged.request_id.as_str()),
            (api.version.label.to_string(), "night")
        );
        assert_eq!(logged.answered_at.to_rfc3339(), "2026-10-05T09:00:00+00:00");
        let logged = only_refused(api);
        assert_eq!(problems(&logged), replied(&reply.body));
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
        let again = api
            .send(
                "POST",
                &format!("{path}/withdraw"),
                Body::withdrawal(api.version),
            )
            .is(422);
        let logged = refused(api);
        let statuses: Vec<u16> = logged.iter().map(|request| request.status).collect();
        assert_eq!(statuses, [404, 409, 412, 400, 415, 422, 422]);
        assert_eq!(problems(&logged[5]), [("", "since"), ("", "status")]);
        assert_eq!(problems(&logged[6]), replied(&again.body));
        let duplicate = problems(&logged[1]);
        let date_of_birth = input::<Trainee>(api.version, F::date_of_birth);
        assert!(duplicate.contains(&("", date_of_birth)), "{duplicate:?}");
        for number in [0, 2, 3, 4] {
            assert!(logged[number].problems.is_empty(), "{number}");
        }
        assert_eq!(logged[2].method, "PATCH");
        let accepted = logged_of(api.register, UKPRN, Some(Outcome::Accepted));
        let endpoints: Vec<_> = accepted
            .into_iter()
            .map(|request| (request.endpoint, request.status))
            .collect();
        assert_eq!(
            endpoints,
            [
                (Endpoint::CreateTrainee.to_string(), 201),
                (Endpoint::Withdraw.to_string(), 200)
            ]
        );
    });
}

#[test]
fn a_request_over_the_rate_limit_is_logged() {
    let limit = RateLimit {
        requests: NonZeroU32::new(1).unwrap(),
        window: Duration::from_secs(3600),
    };
    let register = Register::with_setup(Setup {
        admission: Admission::with_limit(Some(limit)),
        ..Setup::default()
    });
    let api = register.api(SERVED[0]);
    api.get("/info").is(200);
    api.get("/info").is(429);
    assert_eq!(only_refused(&api).status, 429);
}

#[test]
fn rate_limited_requests_log_ten_per_token_each_time() {
    let limit = RateLimit {
        requests: NonZeroU32::new(1).unwrap(),
        window: Duration::from_secs(3600),
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
    assert_eq!(refused(&api).len(), 10);
    for _ in 0..20 {
        api.get("/info").is(429);
    }
    assert_eq!(refused(&api).len(), 20);
    assert_eq!(
        logged_of(&register, OTHER_UKPRN, Some(Outcome::Refused)).len(),
        1
    );
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
            |request: &LoggedRequest| (request.item, request.status, request.request_id.clone());
        let expected = [(1, 422), (2, 422), (3, 409)]
            .map(|(item, status)| (Some(item), status, "batch".to_owned()));
        assert_eq!(logged.iter().map(place).collect::<Vec<_>>(), expected);
        assert_eq!(problems(&logged[0]), replied(&results[1]));
        assert_eq!(problems(&logged[1]), [("blank", "idempotency_key")]);
        let whole = logged_of(api.register, UKPRN, Some(Outcome::Accepted));
        assert_eq!(whole.len(), 2);
        assert_eq!(
            (&whole[1].endpoint, whole[1].item),
            (&Endpoint::CreateTrainees.to_string(), None)
        );
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

#[test]
fn a_provider_is_shown_its_own_requests_alone() {
    let register = Register::start();
    for version in SERVED {
        let (own, other) = (register.api(version), register.other_provider(version));
        own.request("GET", "/trainees/unknown")
            .header("X-Request-Id", "own")
            .send()
            .is(404);
        other
            .request("GET", "/trainees/unknown")
            .header("X-Request-Id", "other")
            .send()
            .is(404);
        other
            .request("GET", "/info")
            .header("X-Request-Id", "other")
            .send()
            .is(200);
    }
    for (ukprn, id, count) in [
        (UKPRN, "own", SERVED.len()),
        (OTHER_UKPRN, "other", 2 * SERVED.len()),
    ] {
        let logged = logged_of(&register, ukprn, None);
        assert_eq!(logged.len(), count);
        assert!(
            logged.iter().all(|request| request.request_id == id),
            "{logged:#?}"
        );
        let most = register.operate(move |session| {
            RefusedMost::load(&mut session.open_provider(ukprn, Cause::new("test"))?.unwrap())
        });
        assert!(
            most.lines
                .iter()
                .all(|line| *line.refusal.newest.request_id == *id),
            "{most:#?}"
        );
        assert_eq!((most.counted, most.is_complete), (SERVED.len(), true));
    }
}

#[test]
fn request_log_keeps_a_limited_number_per_provider() {
    let kept = LogLimits {
        refused: 5,
        accepted: 3,
    };
    let request_log = RequestLog::with_bounds(Bounds {
        kept,
        accepted_of_provider: 2,
        slack: 0,
        ..Bounds::default()
    });
    let register = Register::with_setup(Setup {
        request_log,
        ..Setup::default()
    });
    let (api, other) = (register.api(SERVED[0]), register.other_provider(SERVED[0]));
    other.get("/trainees/unknown").is(404);
    for round in 0..3 {
        for number in 0..4 {
            register
                .clock
                .set(&format!("2026-10-05T09:0{round}:0{number}Z"));
            let id = format!("{round}-{number}");
            api.request("GET", "/trainees/unknown")
                .header("X-Request-Id", &id)
                .send()
                .is(404);
            api.request("GET", "/info")
                .header("X-Request-Id", &id)
                .send()
                .is(200);
        }
        register.write_request_log();
    }
    let ids = |outcome| -> Vec<_> {
        let logged = logged_of(&register, UKPRN, Some(outcome));
        logged
            .into_iter()
            .map(|request| request.request_id)
            .collect()
    };
    assert_eq!(ids(Outcome::Refused), ["1-3", "2-0", "2-1", "2-2", "2-3"]);
    assert_eq!(
        ids(Outcome::Accepted),
        ["1-3", "2-2", "2-3"],
        "the newest of each time that is written"
    );
    assert_eq!(logged_of(&register, OTHER_UKPRN, None).len(), 1);
}

#[test]
fn full_log_drops_rejected_requests_without_delaying_any() {
    let request_log = RequestLog::with_bounds(Bounds {
        waiting: 2,
        ..Bounds::default()
    });
    let register = Register::with_setup(Setup {
        request_log,
        ..Setup::default()
    });
    let api = register.api(SERVED[0]);
    for _ in 0..5 {
        api.get("/trainees/unknown").is(404);
    }
    api.get("/info").is(200);
    assert_eq!(logged_of(&register, UKPRN, None).len(), 3);
}

#[test]
fn a_log_that_is_off_has_nothing() {
    let register = Register::with_setup(Setup {
        request_log: RequestLog::off(),
        ..Setup::default()
    });
    let api = register.api(SERVED[0]);
    api.get("/trainees/unknown").is(404);
    api.get("/info").is(200);
    assert_eq!(logged_of(&register, UKPRN, None), []);
}

/// The target of the link to help that a reply has.
fn linked(reply: &Response) -> String {
    let links = reply.header("link").unwrap();
    let help = links
        .split(", ")
        .find(|link| link.contains("rel=\"help\""))
        .unwrap();
    help.trim_start_matches('<')
        .split('>')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn most_frequent_rejection_links_to_the_page_of_its_reply() {
    every_version(|api| {
        let blank = api.example().without(F::last_name);
        let replies = [
            api.send("POST", "/trainees", blank.clone()).is(422),
            api.get("/trainees/unknown").is(404),
        ];
        api.send("POST", "/trainees", blank).is(422);
        api.register.write_request_log();
        let most = api.register.operate(|session| {
            RefusedMost::load(&mut session.open_provider(UKPRN, Cause::new("test"))?.unwrap())
        });
        let lines: Vec<_> = most
            .lines
            .iter()
            .map(|line| (line.refusal.status, line.refusal.requests))
            .collect();
        assert_eq!(lines, [(422, 2), (404, 1)]);
        for (line, reply) in most.lines.iter().zip(&replies) {
            let Refusal {
                version,
                code,
                status,
                ..
            } = &line.refusal;
            assert_eq!(line.help.as_deref(), Some(linked(reply).as_str()));
            assert_eq!(line.help, help(version, code, *status));
        }
    });
    assert_eq!(help("v1999.0", "blank", 422), None);
}
