//! A token that expires soon says so: every reply to it has a warning with the day.

use std::num::NonZeroU32;
use std::time::Duration;

use adapter_kit::{ApiVersion, Endpoint};
use domain::TraineeField as F;
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use serde_json::json;
use storage::accounts::tokens::Rotation;
use storage::accounts::users::Actor;
use storage::base::token::Environment;
use storage::session::Session;
use versions::SERVED;

use crate::api::support::contract::Contract;
use crate::api::support::register::UKPRN;
use crate::api::support::{Api, Register, Response, Setup};

/// So long that nothing comes back while a test runs.
const WINDOW: Duration = Duration::from_hours(24);
/// Twenty-nine days and some hours after the beginning.
const SOON: &str = "2026-11-04";
const WARNING: &str = "299 - \"this token expires on 2026-11-04: from that day on it is refused\"";

/// A client whose token expires on a day.
fn expiring<'a>(register: &'a Register, version: &'static ApiVersion, day: &str) -> Api<'a> {
    let token = register.issue_token(UKPRN, Environment::Sandbox, Some(day.parse().unwrap()));
    register.api_with_token(version, token)
}

#[track_caller]
fn warns(reply: &Response) {
    let warnings = reply.warnings();
    assert_eq!(
        warnings.first(),
        Some(&WARNING),
        "{}: {:#}",
        reply.status,
        reply.body
    );
    assert_eq!(
        warnings
            .iter()
            .filter(|warning| warning.contains("token"))
            .count(),
        1,
        "{warnings:?}"
    );
}

#[test]
fn every_reply_to_expiring_token_warns() {
    for version in SERVED {
        let register = Register::start();
        let api = expiring(&register, version, SOON);
        let info = api.get("/info").is(200);
        warns(&info);
        assert_eq!(info.body, json!({ "status": "ok" }));
        warns(&api.get("/trainees").is(404));
        let created = api.send("POST", "/trainees", api.example()).is(201);
        warns(&created);
        let path = api.shown(&created).path();
        let shown = api.get(&path).is(200);
        warns(&shown);
        warns(
            &api.request("GET", &path)
                .header("If-None-Match", shown.header("etag").unwrap())
                .send()
                .is(304),
        );
        warns(&api.request("HEAD", "/trainees").send().is(200));
        if version.endpoints.has(Endpoint::ReferenceData) {
            warns(&api.get("/reference-data").is(200));
        }
        warns(&api.send("POST", "/trainees", api.example()).is(409));
        warns(
            &api.send("POST", "/trainees", api.example().with(F::email, "unknown"))
                .is(422),
        );
        warns(
            &api.request("POST", "/trainees")
                .bytes("{")
                .header("Content-Type", "application/json")
                .send()
                .is(400),
        );
        warns(
            &api.request("POST", "/trainees")
                .bytes("{}")
                .header("Content-Type", "text/plain")
                .send()
                .is(415),
        );
        warns(
            &api.request("PATCH", &path)
                .header("If-Match", "\"x\"")
                .json(json!({ "data": {} }))
                .send()
                .is(412),
        );
        let body = api.example().with(F::last_name, "Another");
        let tried = api
            .request("POST", "/trainees")
            .header("Prefer", "validate-only")
            .json(body)
            .send();
        warns(&tried.is(201));
    }
}

#[test]
fn token_warning_starts_thirty_days_before_expiry() {
    let register = Register::start();
    let api = expiring(&register, SERVED[0], "2026-11-05");
    assert!(api.get("/info").is(200).warnings().is_empty());
    register.clock.set("2026-10-06T00:00:00.000Z");
    assert!(api.get("/info").is(200).warnings().is_empty());
    register.clock.set("2026-10-06T00:00:00.001Z");
    assert_eq!(api.get("/info").is(200).warnings().len(), 1);
    // Once it has expired, it gets what every other wrong token gets.
    register.clock.set("2026-11-05T00:00:00.000Z");
    assert!(api.get("/info").is(401).warnings().is_empty());
}

#[test]
fn token_warning_is_one_of_ten_warnings() {
    for version in SERVED {
        let register = Register::start();
        let api = expiring(&register, version, SOON);
        let unknown = |api: &Api<'_>, name: &str| {
            let body = api.example().with(F::last_name, name);
            let body = (0..12).fold(body, |body, number| {
                body.with_key(&format!("qqqqqqqqqqqq{number}"), "x")
            });
            api.send("POST", "/trainees", body).is(201)
        };
        let warned = unknown(&api, "One");
        warns(&warned);
        let others = unknown(&register.api(version), "Two");
        assert_eq!((warned.warnings().len(), others.warnings().len()), (10, 10));
        assert_eq!(warned.warnings()[1..], others.warnings()[..9]);
    }
}

#[test]
fn replayed_reply_warns_of_current_expiry() {
    for version in SERVED {
        let register = Register::start();
        let create = |api: &Api<'_>| {
            let request = api
                .request("POST", "/trainees")
                .header("Idempotency-Key", "same");
            request
                .json(api.example().with_key("qqqqqqqqqqqq", "x"))
                .send()
                .is(201)
        };
        let soon = expiring(&register, version, SOON);
        let first = create(&soon);
        warns(&first);
        // The same request with a token that has time left.
        let again = create(&register.api(version));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.warnings(), first.warnings()[1..]);
        let again = create(&soon);
        assert_eq!(
            (again.header("idempotent-replayed"), again.warnings()),
            (Some("true"), first.warnings())
        );
    }
}

#[test]
fn too_many_requests_get_the_warning_too() {
    for version in SERVED {
        let allowance = RateLimit {
            requests: NonZeroU32::new(1).unwrap(),
            window: WINDOW,
        };
        let register = Register::with_setup(Setup {
            admission: Admission::with_limit(Some(allowance)),
            ..Setup::default()
        });
        let api = expiring(&register, version, SOON);
        warns(&api.get("/info").is(200));
        warns(&api.get("/info").is(429));
    }
}

#[test]
fn replaced_token_warns_from_next_reply_on() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    assert!(api.get("/info").is(200).warnings().is_empty());
    let rotate = |session: &mut Session<'_>| {
        let id = session.list_tokens(Some(UKPRN))?.pop().unwrap().id;
        let rotation = Rotation {
            environment: Environment::Sandbox,
            created_by: Actor::operator("operator"),
            expires_on: None,
            overlap: chrono::Days::new(30),
        };
        session.rotate_token(id, &rotation).map(drop)
    };
    register.operate(rotate);
    let warned = api.get("/info").is(200);
    assert_eq!(warned.warnings(), [WARNING]);
}

#[test]
fn document_names_token_warning_on_every_reply() {
    for version in SERVED {
        let document = Contract::find(&version.label.to_string())
            .unwrap()
            .document();
        for endpoint in version.endpoints.all() {
            let methods = document["paths"][version.row(endpoint).path]
                .as_object()
                .unwrap();
            for replies in methods
                .values()
                .filter_map(|method| method["responses"].as_object())
            {
                for (status, reply) in replies {
                    assert_eq!(
                        reply["headers"]["Warning"].is_object(),
                        status != "401",
                        "{endpoint} {status}"
                    );
                }
            }
        }
    }
}
