//! Names in a query that the endpoint does not have (contract, section 6.4).

use adapter_kit::Endpoint;
use domain::TraineeField as F;
use serde_json::json;

use crate::api::support::shown::path_of;
use crate::api::support::versions::{methods, recommendation};
use crate::api::support::{Api, Body, Request, every_version};

/// The warning about the one unknown parameter.
const WARNING: &str = "299 - \"unknown parameter colour\"";

fn with_body<'a>(request: Request<'a>, method: &str) -> Request<'a> {
    if ["GET", "DELETE"].contains(&method) {
        request
    } else {
        request.json(json!({ "data": { "trn": "x" } }))
    }
}

#[test]
fn every_endpoint_warns_of_unknown_parameters() {
    every_version(|api| {
        let created = api.create(api.example());
        for endpoint in api.version.endpoints.all() {
            let what = if endpoint == Endpoint::ListTrainees {
                "filter"
            } else {
                "parameter"
            };
            for method in methods(endpoint) {
                let path = format!(
                    "{}?colour=red&colour=blue",
                    path_of(endpoint, &created.data)
                );
                let refused = with_body(api.request(method, &path), method)
                    .header("Prefer", "handling=strict")
                    .send();
                assert_eq!(
                    refused.is(422).body,
                    json!({
                        "message": format!("1 {what} is not valid"),
                        "errors": { "colour": ["colour is not a parameter of this endpoint"] },
                    }),
                    "{method} {path}"
                );
                // Any reply counts, unless the endpoint is not reached.
                let tried = with_body(api.request(method, &path), method)
                    .header("Prefer", "validate-only")
                    .send();
                assert!(
                    tried.warnings().contains(&WARNING),
                    "{method} {path}: {:#}",
                    tried.body
                );
                let unauthorized = with_body(api.request(method, &path), method)
                    .without("Authorization")
                    .send();
                assert_eq!(unauthorized.is(401).warnings(), Vec::<&str>::new());
            }
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn misspelt_filter_gets_nearest_name() {
    every_version(|api| {
        let reply = api.get("/trainees?academic_cycel=2024").is(404);
        assert_eq!(
            reply.warnings(),
            ["299 - \"unknown parameter academic_cycel (did you mean academic_cycle?)\""]
        );
        let strict = api.request(
            "GET",
            "/trainees?academic_cycel=2024&has_trn=perhaps&since=2026-13-01",
        );
        let strict = strict.header("Prefer", "handling=strict").send().is(422);
        assert_eq!(
            strict.body,
            json!({
                "message": "3 filters are not valid",
                "errors": {
                    "academic_cycel": ["academic_cycel is not a parameter of this endpoint; did you mean academic_cycle?"],
                    "has_trn": ["has_trn \"perhaps\" is neither true nor false"],
                    "since": ["since 2026-13-01 is no day of the calendar"],
                },
            })
        );
    });
}

#[test]
fn strict_request_with_unknown_parameter_is_refused() {
    every_version(|api| {
        let body = api.example();
        let strict = api
            .request("POST", "/trainees?dry_run=true")
            .header("Prefer", "handling=strict");
        strict.json(body.clone()).send().is(422);
        api.get("/trainees?academic_cycle=2026").is(404);
        let created = api.send("POST", "/trainees?dry_run=true", body).is(201);
        assert_eq!(created.warnings(), ["299 - \"unknown parameter dry_run\""]);
        let path = format!(
            "{}/{}?x=1",
            api.shown(&created).path(),
            recommendation(api.version)
        );
        api.request("POST", &path)
            .header("Prefer", "handling=strict")
            .json(json!({}))
            .send()
            .is(422);
    });
}

fn many(api: &Api<'_>, path: &str) -> usize {
    let body = (0..6).fold(Body::new(api.version), |body, number| {
        body.with_key(&format!("colour_{number}"), 1)
    });
    api.send("PATCH", path, body.with(F::middle_names, "Many"))
        .is(200)
        .warnings()
        .len()
}

#[test]
fn key_and_parameter_warnings_are_ten_together() {
    every_version(|api| {
        let created = api.create(api.example());
        let query: Vec<String> = (0..25).map(|number| format!("size_{number}=1")).collect();
        assert_eq!(
            many(api, &format!("{}?{}", created.path(), query.join("&"))),
            10
        );
        let reply = api
            .get(&format!(
                "/info?{}=1&a%0d%0ab=1&na%C3%AFve=2&=3&%22=4",
                "x".repeat(65)
            ))
            .is(200);
        assert_eq!(reply.warnings(), Vec::<&str>::new());
    });
}
