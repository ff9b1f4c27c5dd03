//! The matrix of access: every endpoint of every version against all clients without access.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use adapter_kit::{ApiVersion, Endpoint, Method};
use fixtures::example::AFTERWARDS;
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use serde_json::{Value, json};
use storage::accounts::users::Actor;
use storage::base::token::Environment;
use version_tools::openapi::examples;
use versions::SERVED;

use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::versions::methods;
use crate::api::support::{Api, Register, Request, Response, Setup};

/// The identifiers of a trainee and of what belongs to it.
#[derive(Clone)]
struct Identifiers {
    trainee: String,
    placement: String,
    degree: String,
}

impl Identifiers {
    /// Registers the example for a client.
    fn from_new_trainee(api: &Api<'_>) -> Self {
        let body = examples::request(api.version, Endpoint::CreateTrainee).unwrap();
        let created = api.send("POST", "/trainees", body).is(201);
        let id = |pointer: &str| {
            created
                .body
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap()
                .to_owned()
        };
        Self {
            trainee: id("/data/trainee_id"),
            placement: id("/data/placements/0/placement_id"),
            degree: id("/data/degrees/0/degree_id"),
        }
    }

    /// Identifiers as they could be, of nothing.
    fn unassigned() -> Self {
        let id = |digit: &str| digit.repeat(24);
        Self {
            trainee: id("1"),
            placement: id("2"),
            degree: id("3"),
        }
    }

    fn path(&self, endpoint: Endpoint) -> String {
        let parts = [
            ("{trainee_id}", &self.trainee),
            ("{placement_id}", &self.placement),
            ("{degree_id}", &self.degree),
        ];
        parts
            .into_iter()
            .fold(endpoint.path().to_owned(), |path, (name, id)| {
                path.replace(name, id)
            })
    }

    /// All of them in a text, by what they are of.
    fn anonymous(&self, text: &str) -> String {
        let text = text.replace(&self.trainee, "TRAINEE");
        text.replace(&self.placement, "PLACEMENT")
            .replace(&self.degree, "DEGREE")
    }
}

/// A reply without what is of this request alone, and of its connection: one whose body was not
/// read is closed.
fn reported(reply: &Response, about: &Identifiers) -> (u16, Value, BTreeMap<String, String>) {
    let passing = ["connection", "date", "x-request-id"];
    let headers = reply
        .headers
        .iter()
        .filter(|(name, _)| !passing.contains(&name.as_str()));
    let headers =
        headers.map(|(name, value)| (name.to_string(), about.anonymous(value.to_str().unwrap())));
    (reply.status, reply.body.clone(), headers.collect())
}

/// A request that would be carried out, if its sender and its identifiers were right.
fn asking<'a>(
    api: &Api<'a>,
    endpoint: Endpoint,
    method: &str,
    identifiers: &Identifiers,
) -> Request<'a> {
    let request = api.request(method, &identifiers.path(endpoint));
    match examples::request(api.version, endpoint) {
        Some(body) => request.json(body),
        None => request,
    }
}

/// Everything that can be asked of a version: its endpoints, each by every method.
fn everything(version: &'static ApiVersion) -> impl Iterator<Item = (Endpoint, &'static str)> {
    version.endpoints.all().flat_map(|endpoint| {
        let head = (endpoint.method() == Method::Get).then_some("HEAD");
        methods(endpoint)
            .iter()
            .copied()
            .chain(head)
            .map(move |method| (endpoint, method))
    })
}

/// Who has no valid token: the value of `Authorization`, where there is one.
type Stranger = fn(&Api<'_>) -> Option<String>;

/// The classes of requests without a valid token that replies may distinguish (RFC 6750). All
/// requests of a class get the same reply, to the last header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    NoToken,
    Malformed,
    WrongScheme,
    OtherEnvironment,
    /// Also a token that was valid once: nothing tells it from one that never was.
    NotAccepted,
}

impl Class {
    /// How the challenge begins.
    fn challenge(self) -> &'static str {
        match self {
            Self::NoToken => "Bearer",
            Self::Malformed | Self::WrongScheme => {
                "Bearer error=\"invalid_request\", error_description=\""
            }
            Self::OtherEnvironment | Self::NotAccepted => {
                "Bearer error=\"invalid_token\", error_description=\""
            }
        }
    }
}

/// All clients without a valid token.
const STRANGERS: [(&str, Class, Stranger); 13] = [
    ("no token", Class::NoToken, |_| None),
    ("a scheme without a token", Class::Malformed, |_| {
        Some("Bearer".to_owned())
    }),
    ("a malformed token", Class::Malformed, |api| {
        Some(format!("Bearer {}", &api.token[..40]))
    }),
    ("a token and more", Class::Malformed, |api| {
        Some(format!("Bearer {} {}", api.token, api.token))
    }),
    ("a token without its environment", Class::Malformed, |api| {
        Some(format!("Bearer {}", api.token.split_once('_').unwrap().1))
    }),
    ("a wrong scheme", Class::WrongScheme, |api| {
        Some(format!("Basic {}", api.token))
    }),
    ("no scheme", Class::Malformed, |api| Some(api.token.clone())),
    ("an unknown token", Class::NotAccepted, |_| {
        Some(format!("Bearer sandbox_{}", "0".repeat(64)))
    }),
    ("an expired token", Class::NotAccepted, |api| {
        // Accepted today, and expired on the day of the requests.
        let token =
            api.register
                .issue_token(UKPRN, Environment::Sandbox, "2026-10-06".parse().ok());
        api.register
            .api_with_token(api.version, token.clone())
            .get("/info")
            .is(200);
        Some(format!("Bearer {token}"))
    }),
    ("a revoked token", Class::NotAccepted, |api| {
        let token = api.register.issue_token(UKPRN, Environment::Sandbox, None);
        api.register
            .api_with_token(api.version, token.clone())
            .get("/info")
            .is(200);
        api.register.operate(|session| {
            let newest = session.list_tokens(Some(UKPRN))?.pop().unwrap();
            session.revoke_token(newest.id, Actor::operator("operator"))
        });
        Some(format!("Bearer {token}"))
    }),
    (
        "a token of another environment",
        Class::OtherEnvironment,
        |api| {
            Some(format!(
                "Bearer {}",
                api.register
                    .issue_token(UKPRN, Environment::Production, None)
            ))
        },
    ),
    (
        "an unknown token of another environment",
        Class::OtherEnvironment,
        |_| Some(format!("Bearer production_{}", "0".repeat(64))),
    ),
    ("a token of a closed provider", Class::NotAccepted, |api| {
        let other = api.register.other_provider(api.version);
        other.get("/info").is(200);
        api.register
            .operate(|session| session.close_provider(OTHER_UKPRN));
        Some(format!("Bearer {}", other.token))
    }),
];

#[test]
fn without_a_valid_token_every_endpoint_reveals_and_changes_nothing() {
    let mut cases = 0;
    for version in SERVED {
        let (mut replies, mut challenges) = (BTreeMap::new(), BTreeMap::new());
        for (name, class, stranger) in STRANGERS {
            // Each has an address to itself, as far as failed attempts are counted. Valid tokens
            // are told what is left of their allowance, and others are not, even if they were valid
            // when they were last used.
            let allowance = RateLimit {
                requests: NonZeroU32::MAX,
                window: Duration::from_mins(1),
            };
            let admission = Admission::with_limit(Some(allowance));
            let register = Register::with_setup(Setup {
                admission,
                ..Setup::default()
            });
            let api = register.api(version);
            let authorization = stranger(&api);
            register.clock.set(&format!("{AFTERWARDS}T09:00:00Z"));
            let known = Identifiers::from_new_trainee(&api);
            let all = format!("/trainees?academic_cycle={}", cycle(&api, &known));
            let before = (
                api.get(&known.path(Endpoint::ShowTrainee)).is(200).body,
                api.get(&all).is(200).body,
            );
            for (endpoint, method) in everything(version) {
                let request = asking(&api, endpoint, method, &known).without("Authorization");
                let request = match &authorization {
                    Some(value) => request.header("Authorization", value),
                    None => request,
                };
                let reply = request.send();
                let what = format!("{name}: {method} {endpoint} in {}", version.label);
                assert_eq!(reply.status, 401, "{what}: {:#}", reply.body);
                let body = if method == "HEAD" {
                    Value::Null
                } else {
                    json!({ "error": "Unauthorized" })
                };
                assert_eq!(reply.body, body, "{what}");
                let challenge = reply.header("www-authenticate").unwrap();
                assert!(
                    challenge.starts_with(class.challenge()),
                    "{what}: {challenge}"
                );
                assert_eq!(
                    challenge == "Bearer",
                    class == Class::NoToken,
                    "{what}: {challenge}"
                );
                // Nothing tells one stranger of a class from another, and nothing but the challenge
                // one class from another.
                let mut told = reported(&reply, &known);
                assert_eq!(
                    challenges
                        .entry(class)
                        .or_insert_with(|| challenge.to_owned()),
                    challenge,
                    "{what}"
                );
                told.2.remove("www-authenticate");
                assert_eq!(
                    replies
                        .entry((endpoint.to_string(), method))
                        .or_insert_with(|| told.clone()),
                    &told,
                    "{what}"
                );
                cases += 1;
            }
            let after = (
                api.get(&known.path(Endpoint::ShowTrainee)).is(200).body,
                api.get(&all).is(200).body,
            );
            assert_eq!(before, after, "{name} in {}", version.label);
        }
        let different: BTreeSet<_> = challenges.values().collect();
        assert_eq!(
            (challenges.len(), different.len()),
            (5, 5),
            "{challenges:?}"
        );
    }
    eprintln!("{cases} requests without a valid token");
}

/// The academic cycle of a trainee.
fn cycle(api: &Api<'_>, known: &Identifiers) -> i32 {
    let stands = |cycle: &i32| {
        let list = api.get(&format!("/trainees?academic_cycle={cycle}"));
        list.status == 200 && list.body.to_string().contains(&known.trainee)
    };
    (2_020..2_040).find(stands).unwrap()
}

/// What a request can carry besides, in the hope of another answer.
const ADDITIONS: [(&str, &[(&str, &str)]); 6] = [
    ("nothing", &[]),
    ("whatever state", &[("If-Match", "*")]),
    ("no state", &[("If-None-Match", "*")]),
    ("a key", &[("Idempotency-Key", "of-the-owner")]),
    ("a trial", &[("Prefer", "validate-only")]),
    (
        "a wish for details",
        &[
            ("X-Api-Enhanced-Errors", "true"),
            ("Prefer", "handling=strict"),
        ],
    ),
];

#[test]
fn records_of_another_provider_look_absent() {
    let mut cases = 0;
    for version in SERVED {
        let register = Register::start();
        register.clock.set(&format!("{AFTERWARDS}T09:00:00Z"));
        let (api, owner) = (register.api(version), register.other_provider(version));
        let (mine, foreign, nothing) = (
            Identifiers::from_new_trainee(&api),
            Identifiers::from_new_trainee(&owner),
            Identifiers::unassigned(),
        );
        let shown = |of: &Api<'_>, identifiers: &Identifiers| {
            let reply = of.get(&identifiers.path(Endpoint::ShowTrainee)).is(200);
            (reply.header("etag").map(str::to_owned), reply.body)
        };
        let before = (shown(&api, &mine), shown(&owner, &foreign));
        for (endpoint, method) in everything(version) {
            for (foreign, nothing) in identifier_pairs(endpoint, &mine, &foreign, &nothing) {
                for (addition, headers) in ADDITIONS {
                    let ask = |identifiers: &Identifiers| {
                        let request = asking(&api, endpoint, method, identifiers);
                        let request = headers.iter().fold(request, |request, (name, value)| {
                            request.header(name, value)
                        });
                        reported(&request.send(), identifiers)
                    };
                    let (got, expected) = (ask(&foreign), ask(&nothing));
                    let what = format!("{method} {endpoint} with {addition} in {}", version.label);
                    assert_eq!(got, expected, "{what}");
                    assert_eq!(got.0, 404, "{what}: {:#}", got.1);
                    let message = if foreign.trainee != mine.trainee {
                        "trainee not found"
                    } else if endpoint.path().contains("{placement_id}") {
                        "placement not found"
                    } else {
                        "degree not found"
                    };
                    if method != "HEAD" {
                        assert_eq!(
                            got.1["errors"][0]["error"], "NotFound",
                            "{what}: {:#}",
                            got.1
                        );
                        assert_eq!(
                            got.1["errors"][0]["message"], message,
                            "{what}: {:#}",
                            got.1
                        );
                        assert_eq!(got.1["errors"].as_array().unwrap().len(), 1, "{what}");
                    }
                    cases += 1;
                }
            }
        }
        assert_eq!(
            before,
            (shown(&api, &mine), shown(&owner, &foreign)),
            "in {}",
            version.label
        );
        let list = api
            .get(&format!("/trainees?academic_cycle={}", cycle(&api, &mine)))
            .is(200);
        assert!(
            list.body.to_string().contains(&mine.trainee)
                && !list.body.to_string().contains(&foreign.trainee)
        );
    }
    eprintln!("{cases} requests for what is another provider's");
}

/// Identifiers that lead to another provider's records, in whole or in part, each with those that
/// lead nowhere.
fn identifier_pairs(
    endpoint: Endpoint,
    mine: &Identifiers,
    foreign: &Identifiers,
    nothing: &Identifiers,
) -> Vec<(Identifiers, Identifiers)> {
    let path = endpoint.path();
    let mut pairs = Vec::new();
    if path.contains("{trainee_id}") {
        pairs.push((foreign.clone(), nothing.clone()));
    }
    if path.contains("{placement_id}") || path.contains("{degree_id}") {
        // The provider's own trainee with another one's part, and the other way about.
        let parts = |of: &Identifiers| Identifiers {
            trainee: mine.trainee.clone(),
            ..of.clone()
        };
        let trainee = |of: &Identifiers| Identifiers {
            trainee: of.trainee.clone(),
            ..mine.clone()
        };
        pairs.push((parts(foreign), parts(nothing)));
        pairs.push((trainee(foreign), trainee(nothing)));
    }
    pairs
}

#[test]
fn people_and_keys_of_another_provider_look_absent() {
    for version in SERVED {
        let register = Register::start();
        register.clock.set(&format!("{AFTERWARDS}T09:00:00Z"));
        let body = examples::request(version, Endpoint::CreateTrainee).unwrap();
        let create = |api: &Api<'_>| {
            let request = api
                .request("POST", "/trainees")
                .header("Idempotency-Key", "one-and-the-same");
            request.json(body.clone()).send().is(201)
        };
        let (api, owner) = (register.api(version), register.other_provider(version));
        let (first, second) = (create(&owner), create(&api));
        assert_eq!(second.header("idempotent-replayed"), None);
        assert_ne!(
            first.body["data"]["trainee_id"],
            second.body["data"]["trainee_id"]
        );
        assert_eq!(create(&api).header("idempotent-replayed"), Some("true"));
    }
}
