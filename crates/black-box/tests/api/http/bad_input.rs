//! Bad input on every endpoint and in every version: a 4xx in the contract's shape, nothing
//! written, never a 5xx.
//!
//! The sweep is a table: what is wrong with a value, and what is wrong with a whole body.

use std::collections::BTreeSet;

use adapter_kit::{Endpoint, Method, WireRecord, names};
use domain::{Deferral, Degree, Placement, Recommendation, TraineeField as F, Withdrawal};
use serde_json::{Map, Value, json};
use versions::SERVED;

use crate::api::support::shown::{identifiers, path_of, put_identifier};
use crate::api::support::versions::{methods, recommendation};
use crate::api::support::{Api, Body, Response, Shown, every_version};

/// Values that hardly any field can hold.
fn bad_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(""),
        json!("   "),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(123_456_789_012_345_678_u64),
        json!(true),
        json!([]),
        json!([1]),
        json!({}),
        json!({ "a": { "b": [] } }),
        json!("x".repeat(10_000)),
        json!("🙂🙃"),
        json!("\u{0}"),
        json!("a\u{7}b"),
        json!("' OR 1=1 --"),
        json!("0000-00-00"),
        json!("9999-12-31"),
        json!("+999999-01-01"),
        json!("2026-02-30"),
    ]
}

/// Bodies that are wrong as a whole, with the status that they get, when they get one in
/// particular.
fn bad_bodies() -> Vec<(Vec<u8>, Option<u16>)> {
    let nested = format!("{{\"data\":{}{}}}", "[".repeat(1_000), "]".repeat(1_000));
    let nested_value = format!(
        "{{\"data\":{{\"x\":{}{}}}}}",
        "[".repeat(1_000),
        "]".repeat(1_000)
    );
    let degrees = format!(
        "{{\"data\":{{\"degrees_attributes\":[{}]}}}}",
        vec!["{}"; 10_000].join(",")
    );
    let keys: Vec<String> = (0..5_000)
        .map(|number| format!("\"k{number}\":{number}"))
        .collect();
    vec![
        (b"".to_vec(), Some(422)),
        (b"{}".to_vec(), Some(422)),
        (b"[]".to_vec(), Some(422)),
        (b"null".to_vec(), Some(422)),
        (b"\"data\"".to_vec(), Some(422)),
        (b"1e999".to_vec(), Some(400)),
        (b"{\"data\":[]}".to_vec(), Some(422)),
        (b"{\"data\":{}}".to_vec(), Some(422)),
        (b"{\"data\":null}".to_vec(), Some(422)),
        (
            b"{\"data\":{\"a\":1},\"data\":{\"a\":1}}".to_vec(),
            Some(422),
        ),
        (b"{\"data\":".to_vec(), Some(400)),
        (b"{\"data\":{\"a\":1}} x".to_vec(), Some(400)),
        (b"{\"data\":{\"\xff\xfe\":1}}".to_vec(), Some(400)),
        (b"{\"data\":{\"a\":\"\xc3\x28\"}}".to_vec(), Some(400)),
        (b"{\"data\":{\"a\":\"\\ud800\"}}".to_vec(), Some(400)),
        (b"\xef\xbb\xbf{\"data\":{}}".to_vec(), Some(422)),
        (b"\xef\xbb\xbf\xef\xbb\xbf{\"data\":{}}".to_vec(), Some(400)),
        (nested.into_bytes(), Some(400)),
        (nested_value.into_bytes(), Some(400)),
        (degrees.into_bytes(), None),
        (
            format!("{{\"data\":{{{}}}}}", keys.join(",")).into_bytes(),
            None,
        ),
        (
            b"{\"data\":{\"__proto__\":{},\"\":1,\" \":2,\"a\\u0000b\":3}}".to_vec(),
            None,
        ),
    ]
}

/// Invalid pieces of a path and values of a parameter.
const RUBBISH: &[&str] = &[
    "%00",
    "%ff%fe",
    "%2e%2e%2f",
    "%25",
    "%",
    "%zz",
    "..",
    "'",
    "%27%20OR%201=1",
    "%F0%9F%99%82",
    "a%0d%0ab",
    "*",
    "null",
    "-1",
    "99999999999999999999",
    "2026/27",
    "%20",
    "+",
    "\u{7f}",
];

/// A client that counts, and looks at every reply.
struct Sweep<'a> {
    api: &'a Api<'a>,
    trainee: String,
    /// Names that only other versions have, but those that a code list has too.
    foreign: BTreeSet<&'static str>,
    /// The trainee after the last request.
    last: Value,
    requests: usize,
}

impl<'a> Sweep<'a> {
    fn new(api: &'a Api<'a>, trainee: &Shown) -> Self {
        let mut own = names::all(api.version);
        own.extend(adapter_kit::reference::names());
        let foreign = SERVED
            .iter()
            .flat_map(|version| names::all(version))
            .filter(|name| !own.contains(name))
            .collect();
        Self {
            api,
            trainee: trainee.id().to_owned(),
            foreign,
            last: api.read(trainee.id()).data,
            requests: 0,
        }
    }
}

impl Sweep<'_> {
    /// Sends a request and checks that the reply has a form of the contract.
    fn send(&mut self, method: &str, path: &str, body: &[u8]) -> Response {
        self.requests += 1;
        let request = self.api.request(method, path);
        let reply = if body.is_empty() {
            request.send()
        } else {
            request.bytes(body).send()
        };
        let told = || {
            format!(
                "{method} {path} with {}",
                String::from_utf8_lossy(&body[..body.len().min(200)])
            )
        };
        assert!(reply.status < 500, "{}: {:#}", told(), reply.body);
        let text = reply.body.to_string();
        let words = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let foreign = text.split(words).find(|word| self.foreign.contains(word));
        assert_eq!(foreign, None, "{}: {text}", told());
        if reply.status >= 400 && reply.body.get("message").is_none() {
            assert!(!reply.errors().is_empty(), "{}: {:#}", told(), reply.body);
        }
        reply
    }

    /// Sends a body; when it is refused, the trainee is as before.
    fn try_body(&mut self, method: &str, path: &str, body: &[u8]) -> Response {
        let reply = self.send(method, path, body);
        let after = self.api.read(&self.trainee).data;
        if reply.status >= 400 {
            assert_eq!(
                after, self.last,
                "{method} {path} was refused and has changed it"
            );
        }
        self.last = after;
        reply
    }

    /// Puts every bad value into every input of a record.
    fn values<R: WireRecord>(&mut self, method: &str, path: &str, base: &Map<String, Value>) {
        for input in R::inputs(self.api.version).entries {
            for value in bad_values() {
                let mut data = base.clone();
                data.insert(input.name.to_owned(), value.clone());
                let reply =
                    self.try_body(method, path, json!({ "data": data }).to_string().as_bytes());
                if reply.status == 422 {
                    for (error, message) in reply.errors() {
                        let named = error == "StateTransitionError" || self.knows::<R>(message);
                        assert!(
                            named,
                            "{} {} {value}: {message}",
                            self.api.version.label, input.name
                        );
                    }
                }
            }
        }
    }

    /// Whether a message begins with a name that this version knows.
    fn knows<R: WireRecord>(&self, message: &str) -> bool {
        let first = message.split(' ').next().unwrap();
        let version = self.api.version;
        R::inputs(version).field(first).is_some()
            || version.shapes.trainee.shows(first)
            || first == "data"
    }
}

fn data(body: impl Into<Value>) -> Map<String, Value> {
    body.into()["data"].as_object().unwrap().clone()
}

/// Like `path_of`, but with rubbish for one of the identifiers.
fn filled_with(endpoint: Endpoint, shown: &Value, place: &str, rubbish: &str) -> String {
    identifiers(shown)
        .into_iter()
        .fold(endpoint.path().to_owned(), |path, (name, value)| {
            let value = if name == place {
                Some(rubbish.to_owned())
            } else {
                value
            };
            put_identifier(path, name, value)
        })
}

#[test]
fn no_value_of_any_input_gets_more_than_a_refusal() {
    every_version(|api| {
        let created = api.create(api.example());
        let mut sweep = Sweep::new(api, &created);
        let path = created.path();
        // A person whom every other field leaves the same, so that what is accepted is a duplicate
        // at worst.
        let other = data(api.example().with(F::date_of_birth, "1998-01-01"));
        sweep.values::<domain::Trainee>("POST", "/trainees", &other);
        sweep.values::<domain::Trainee>("PATCH", &path, &Map::new());
        let placement = data(json!({ "data": { "name": "A school", "urn": "900020" } }));
        sweep.values::<Placement>("POST", &format!("{path}/placements"), &placement);
        let degree = data(json!({ "data": {
            "subject": "100485", "uk_degree": "083", "grade": "01", "graduation_year": "2019", "institution": "0117",
        }}));
        sweep.values::<Degree>("POST", &format!("{path}/degrees"), &degree);
        let shown = api.read(created.id()).data;
        sweep.values::<Placement>(
            "PUT",
            &path_of(Endpoint::UpdatePlacement, &shown),
            &Map::new(),
        );
        sweep.values::<Degree>("PUT", &path_of(Endpoint::UpdateDegree, &shown), &Map::new());
        let withdrawal = data(Body::withdrawal(api.version).with_key("trigger", "unknown"));
        sweep.values::<Withdrawal>("POST", &format!("{path}/withdraw"), &withdrawal);
        sweep.values::<Deferral>("POST", &format!("{path}/defer"), &Map::new());
        sweep.values::<Recommendation>(
            "POST",
            &format!("{path}/{}", recommendation(api.version)),
            &Map::new(),
        );
        eprintln!(
            "{} requests with bad values in {}",
            sweep.requests, api.version.label
        );
    });
}

#[test]
fn no_body_of_any_endpoint_gets_more_than_a_refusal() {
    every_version(|api| {
        let created = api.create(api.example());
        let shown = api.read(created.id()).data;
        let mut sweep = Sweep::new(api, &created);
        for endpoint in api.version.endpoints.all() {
            // What has no body does not look at one.
            if endpoint.row().request.is_none() {
                continue;
            }
            for (body, status) in bad_bodies() {
                for method in methods(endpoint) {
                    let reply = sweep.try_body(method, &path_of(endpoint, &shown), &body);
                    if let Some(status) = status {
                        let text =
                            String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
                        assert_eq!(
                            reply.status, status,
                            "{method} {endpoint:?} {text}: {:#}",
                            reply.body
                        );
                    }
                }
            }
        }
        eprintln!(
            "{} requests with bad bodies in {}",
            sweep.requests, api.version.label
        );
    });
}

#[test]
fn a_key_that_is_sent_twice_is_named() {
    every_version(|api| {
        let body = json!(Map::from_iter(data(api.example()))).to_string();
        let twice = format!(
            "{{\"data\":{},\"sex\":\"11\",\"zzz\":1,\"zzz\":2}}}}",
            &body[..body.len() - 1]
        );
        let reply = api.request("POST", "/trainees").bytes(twice).send().is(422);
        let places: Vec<_> = reply
            .errors()
            .iter()
            .map(|(_, message)| message.split(' ').next().unwrap())
            .collect();
        assert_eq!(places, ["sex", "zzz"]);
    });
}

#[test]
fn rubbish_in_paths_and_queries_is_not_found_or_refused() {
    every_version(|api| {
        let created = api.create(api.example());
        let shown = api.read(created.id()).data;
        let mut sweep = Sweep::new(api, &created);
        let bodies = json!({ "data": { "name": "x" } }).to_string();
        for endpoint in api.version.endpoints.all() {
            for rubbish in RUBBISH {
                let rubbish = &rubbish.replace('\u{7f}', "%7f");
                let path = endpoint.path();
                let places = identifiers(&shown).into_iter().map(|(name, _)| name);
                for place in places.filter(|place| path.contains(&format!("{{{place}}}"))) {
                    let path = filled_with(endpoint, &shown, place, rubbish);
                    for method in methods(endpoint) {
                        let body = if endpoint.method() == Method::Get {
                            ""
                        } else {
                            &bodies
                        };
                        let reply = sweep.send(method, &path, body.as_bytes());
                        assert!(reply.status >= 400, "{method} {path} gave {}", reply.status);
                    }
                }
                if endpoint.method() == Method::Get {
                    let path = path_of(endpoint, &shown);
                    for parameter in [
                        "academic_cycle",
                        "status",
                        "since",
                        "has_trn",
                        "page",
                        "per_page",
                        "sort_order",
                        "field",
                        "days",
                        "other",
                    ] {
                        sweep.send("GET", &format!("{path}?{parameter}={rubbish}"), b"");
                        sweep.send(
                            "GET",
                            &format!("{path}?{rubbish}={parameter}&{parameter}"),
                            b"",
                        );
                    }
                }
            }
        }
        assert_eq!(api.read(created.id()).data, shown);
        eprintln!(
            "{} requests with rubbish in {}",
            sweep.requests, api.version.label
        );
    });
}
