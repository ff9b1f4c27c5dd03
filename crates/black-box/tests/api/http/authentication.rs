//! Who may ask. Every endpoint is asked without a valid token in [`crate::api::http::access`].

use serde_json::json;
use storage::accounts::users::Actor;
use storage::base::token::Environment;

use crate::api::support::register::{OTHER_UKPRN, TOKEN_NAME, UKPRN};
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
const OTHER_ENVIRONMENT: &str =
    "Bearer error=\"invalid_token\", error_description=\"the token is for another environment\"";
const WRONG_SCHEME: &str = "Bearer error=\"invalid_request\", \
     error_description=\"the scheme of the Authorization header must be Bearer\"";
const MALFORMED: &str = "Bearer error=\"invalid_request\", \
     error_description=\"the Authorization header must be Bearer, a space, and a token as it was issued\"";

fn info_with<'a>(api: &Api<'a>, authorization: &str) -> Request<'a> {
    api.request("GET", "/info")
        .header("Authorization", authorization)
}

#[test]
fn personal_replies_are_not_cacheable_and_hide_the_server_software() {
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
fn token_is_accepted_only_with_its_scheme_in_any_case() {
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
fn an_unknown_token_is_refused() {
    every_version(|api| {
        is_unauthorized(&info_with(api, &format!("Bearer sandbox_{}", "0".repeat(64))).send())
    });
}

#[test]
fn a_token_of_another_environment_is_refused() {
    every_version(|api| {
        let production = api
            .register
            .issue_token(UKPRN, Environment::Production, None);
        is_unauthorized_with(
            &info_with(api, &format!("Bearer {production}")).send(),
            OTHER_ENVIRONMENT,
        );
        let digits = api.token.split_once('_').unwrap().1;
        is_unauthorized_with(
            &info_with(api, &format!("Bearer production_{digits}")).send(),
            OTHER_ENVIRONMENT,
        );
    });
}

#[test]
fn a_revoked_token_is_refused_from_the_next_request_on() {
    every_version(|api| {
        info_with(api, &format!("Bearer {}", api.token))
            .send()
            .is(200);
        api.register.operate(|session| {
            let token = session.list_tokens(Some(UKPRN))?.pop().unwrap();
            session.revoke_token(token.id, Actor::operator("operator"))
        });
        is_unauthorized(&info_with(api, &format!("Bearer {}", api.token)).send());
        let another = api.register.issue_token(UKPRN, Environment::Sandbox, None);
        info_with(api, &format!("Bearer {another}")).send().is(200);
    });
}

#[test]
fn token_expires_at_the_start_of_its_expiry_date() {
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
fn the_tokens_of_a_closed_provider_are_refused() {
    every_version(|api| {
        let other = api.register.other_provider(api.version);
        other.get("/info").is(200);
        api.register
            .operate(|session| session.close_provider(OTHER_UKPRN));
        is_unauthorized(&other.get("/info"));
        api.get("/info").is(200);
    });
}

#[test]
fn a_request_to_write_without_a_token_writes_nothing() {
    every_version(|api| {
        let stranger = api
            .request("POST", "/trainees")
            .json(api.example())
            .without("Authorization");
        is_unauthorized_with(&stranger.send(), "Bearer");
        // The same person can still be registered, so nothing was stored.
        api.create(api.example());
    });
}

#[test]
fn token_use_is_recorded_for_read_only_requests() {
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
fn two_authorization_headers_are_refused_as_an_invalid_request() {
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
