//! Who may ask. Every endpoint is asked without a valid token in [`crate::api::http::access`].

use serde_json::json;
use storage::base::token::Environment;

use crate::api::support::register::{TOKEN_NAME, UKPRN};
use crate::api::support::shown::path_of;
use crate::api::support::{Api, Request, Response, every_version};

/// The body is the same whatever is wrong; what the client may know of it stands in the challenge.
#[track_caller]
fn is_unauthorized_with(reply: &Response, challenge: &str) {
    assert_eq!(reply.status, 401, "{:#}", reply.body);
    assert_eq!(reply.body, json!({ "error": "Unauthorized" }));
    assert_eq!(reply.header("www-authenticate"), Some(challenge));
}

/// The reply to a token that was looked up and refused, whatever the reason.
#[track_caller]
fn is_unauthorized(reply: &Response) {
    is_unauthorized_with(reply, NOT_ACCEPTED);
}

const NOT_ACCEPTED: &str =
    "Bearer error=\"invalid_token\", error_description=\"the token is not accepted\"";
const WRONG_SCHEME: &str = "Bearer error=\"invalid_request\", \
     error_description=\"the scheme of the Authorization header must be Bearer\"";
const MALFORMED: &str = "Bearer error=\"invalid_request\", \
     error_description=\"the Authorization header must be Bearer, a space, and a token as it was issued\"";

fn info_with<'a>(api: &Api<'a>, authorization: &str) -> Request<'a> {
    api.request("GET", "/info")
        .header("Authorization", authorization)
}

#[test]
fn personal_replies_forbid_caching_and_hide_server() {
    every_version(|api| {
        let created = api.send("POST", "/trainees", api.example()).is(201);
        let read = api.get(&api.shown(&created).path()).is(200);
        let wrong = api
            .send("POST", "/trainees", api.example().with_key("email", 1))
            .is(422);
        let stranger = api
            .request("GET", "/info")
            .without("Authorization")
            .send()
            .is(401);
        for reply in [created, read, wrong, stranger] {
            assert_eq!(reply.header("cache-control"), Some("no-store"));
            assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
            assert!(
                reply
                    .header("content-security-policy")
                    .unwrap()
                    .starts_with("default-src 'none'")
            );
            assert_eq!(reply.header("server"), None);
        }
    });
}

#[test]
fn token_needs_its_scheme_in_any_case() {
    every_version(|api| {
        let token = &api.token;
        for header in [
            format!("Bearer {token}"),
            format!("bearer {token}"),
            format!("BEARER   {token} "),
        ] {
            info_with(api, &header).send().is(200);
        }
        let digits = token.split_once('_').unwrap().1;
        for header in [
            token.clone(),
            format!("Bearer{token}"),
            format!("Bearer {digits}"),
            format!("Bearer {}", token.to_uppercase()),
            format!("Bearer {token}0"),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            String::new(),
        ] {
            is_unauthorized_with(&info_with(api, &header).send(), MALFORMED);
        }
        for scheme in ["Basic", "Token"] {
            is_unauthorized_with(
                &info_with(api, &format!("{scheme} {token}")).send(),
                WRONG_SCHEME,
            );
        }
        is_unauthorized_with(
            &api.request("GET", "/info").without("Authorization").send(),
            "Bearer",
        );
    });
}

#[test]
fn token_expires_at_start_of_its_date() {
    every_version(|api| {
        let expires_on = "2026-10-07".parse().ok();
        let token = api
            .register
            .issue_token(UKPRN, Environment::Sandbox, expires_on);
        let header = format!("Bearer {token}");
        api.register.clock.set("2026-10-06T23:59:59.999Z");
        info_with(api, &header).send().is(200);
        api.register.clock.set("2026-10-07T00:00:00.000Z");
        is_unauthorized(&info_with(api, &header).send());
    });
}

#[test]
fn token_use_is_recorded_for_reads() {
    every_version(|api| {
        let last_used = || {
            let tokens = api
                .register
                .operate(|session| session.list_tokens(Some(UKPRN)));
            tokens
                .into_iter()
                .next()
                .unwrap()
                .last_used_on
                .map(|day| day.to_string())
        };
        assert_eq!(last_used(), None);
        api.create(api.example());
        assert_eq!(last_used().as_deref(), Some("2026-10-05"));
        api.register.clock.set("2026-10-06T09:00:00Z");
        api.get("/info").is(200);
        api.register.wait_for_token_use(TOKEN_NAME, "2026-10-06");
    });
}

#[test]
fn token_use_is_recorded_for_rejected_requests() {
    every_version(|api| {
        api.get("/trainees/x").is(404);
        api.register.wait_for_token_use(TOKEN_NAME, "2026-10-05");
        api.register.clock.set("2026-10-06T09:00:00Z");
        api.send("POST", "/trainees", api.example().with_key("email", 1))
            .is(422);
        api.register.wait_for_token_use(TOKEN_NAME, "2026-10-06");
        api.register.clock.set("2026-10-07T09:00:00Z");
        api.get("/trainees?status=none").is(422);
        api.register.wait_for_token_use(TOKEN_NAME, "2026-10-07");
    });
}

#[test]
fn two_authorization_headers_are_an_invalid_request() {
    every_version(|api| {
        let created = api.create(api.example());
        let token = format!("Bearer {}", api.token);
        let asking = |endpoint: adapter_kit::Endpoint| {
            let path = path_of(endpoint, &created.data);
            crate::api::support::versions::methods(endpoint)
                .iter()
                .map(move |method| (*method, path.clone()))
        };
        for (method, path) in api.version.endpoints.all().flat_map(asking) {
            let request = || api.request(method, &path).header("Idempotency-Key", "two");
            let other = format!("Bearer sandbox_{}", "0".repeat(64));
            let mut refused = vec![
                request().header_again("Authorization", &token),
                request().header_again("Authorization", &other),
                request().header_again("Authorization", ""),
                request()
                    .header("Authorization", &other)
                    .header_again("Authorization", &token),
                request().header("Authorization", &format!("{token}, {token}")),
                request().header("Authorization", &format!("{token},{other}")),
            ];
            // Failed attempts of one address are limited.
            refused.truncate(if path == "/info" { refused.len() } else { 1 });
            for request in refused {
                let reply = request.send().is(401);
                assert_eq!(reply.body, serde_json::json!({ "error": "Unauthorized" }));
                let challenge = reply.header("www-authenticate").unwrap();
                assert!(
                    challenge.starts_with("Bearer error=\"invalid_request\", "),
                    "{method} {path}: {challenge}"
                );
            }
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}
