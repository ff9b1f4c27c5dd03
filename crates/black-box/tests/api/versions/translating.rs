//! Payloads of one version in the names of another, over HTTP.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Body, Register, Request, Response, version};

/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 262_144;
/// The deepest nesting of a body, in levels.
const MAX_DEPTH: usize = 32;

/// A client without a token.
struct Developer(Register);

impl Developer {
    fn new() -> Self {
        Self(Register::start())
    }

    fn request(&self, method: &str) -> Request<'_> {
        self.0.request(method, "/docs/translate")
    }

    fn ask(&self, question: Value) -> Response {
        self.request("POST").json(question).send()
    }

    /// A translation, which must succeed.
    #[track_caller]
    fn translate(&self, from: &str, to: &str, data: impl Into<Value>) -> Value {
        self.ask(json!({ "from": from, "to": to, "data": data.into() }))
            .is(200)
            .body
    }
}

/// The codes of the problems and where they are.
fn problems(translation: &Value) -> Vec<(&str, &str)> {
    let problems = translation["problems"].as_array().unwrap().iter();
    problems
        .map(|problem| {
            (
                problem["code"].as_str().unwrap(),
                problem["field"].as_str().unwrap(),
            )
        })
        .collect()
}

fn each<'a>(translation: &'a Value, findings: &str, key: &str) -> Vec<&'a str> {
    translation[findings]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding[key].as_str().unwrap())
        .collect()
}

fn example(label: &str) -> Body {
    Body::example(version(label))
}

#[test]
fn accepted_body_is_accepted_in_other_versions_after_translation() {
    let developer = Developer::new();
    for from in ["v2025.0", "v2026.0", "v2026.1"] {
        for to in ["v2025.0", "v2026.0", "v2026.1"] {
            let translation = developer.translate(from, to, example(from));
            for findings in ["problems", "lost", "notices"] {
                assert_eq!(translation[findings], json!([]), "{from} {to}");
            }
            assert_eq!(translation["purpose"], "create");
            let reply = developer.0.api(version(to)).request("POST", "/trainees");
            let reply = reply
                .header("Prefer", "validate-only, handling=strict")
                .json(translation["data"].clone());
            reply.send().is(201);
        }
    }
}

#[test]
fn reply_has_all_findings_of_a_translation() {
    let data = json!({ "data": {
        "course_subject_one": "100403",
        "training_route": "02",
        "email": "unknown",
        "expected_end_date": "2027-07-16",
        "midle_names": "Ola",
    } });
    let question = json!({ "from": "v2025.0", "to": "v2026.1", "purpose": "update", "data": data });
    let mut translation = Developer::new().ask(question).is(200).body;
    let candidates = translation["notices"][1]["candidates"].take();
    let expected = json!({
        "from": "v2025.0", "to": "v2026.1", "record": "trainee", "direction": "request", "purpose": "update",
        "data": { "data": {
            "course_subject_1": "100403", "training_route": "02", "email": "unknown", "midle_names": "Ola",
        } },
        "renames": [{ "path": "course_subject_one", "from": "course_subject_one", "to": "course_subject_1" }],
        "lost": [{
            "path": "expected_end_date", "name": "expected_end_date", "value": "2027-07-16", "why": "copy",
            "same_as": "itt_end_date", "message": "v2026.1 has no such copy of itt_end_date",
        }],
        "problems": [
            {
                "error": "UnprocessableEntity", "code": "unknown_code", "field": "training_route",
                "message": "training_route \"02\" is not in the list; the first of 13 codes are 03, 09, 10, 11, 12, 14, \
                            15, 16, 17, 18; see GET /api/v2026.1/reference-data?field=training_route",
            },
            {
                "error": "UnprocessableEntity", "code": "not_email", "field": "email",
                "message": "email is not a valid e-mail address",
            },
        ],
        "notices": [
            {
                "path": "midle_names", "code": "unknown_name", "nearest": "middle_names",
                "message": "midle_names is not a field in v2025.0; did you mean middle_names?",
            },
            {
                "path": "training_route", "code": "code_ended", "candidates": null,
                "message": "training_route has the code 02, which v2026.1 no longer accepts: no code replaces it; send the \
                            code of the route that the trainee is on now; if you cannot tell, ask the operator of the register",
            },
        ],
    });
    assert_eq!(translation, expected);
    let first = json!({ "code": "03", "name": "School Direct salaried" });
    assert_eq!(
        (candidates.as_array().unwrap().len(), &candidates[0]),
        (13, &first)
    );
}

#[test]
fn the_problems_are_those_that_the_version_answers() {
    let developer = Developer::new();
    let api = developer.0.api(version("v2026.1"));
    let body = example("v2025.0")
        .with(F::email, "unknown")
        .with(F::course_year, "two")
        .with(F::sex, "1");
    let translation = developer.translate("v2025.0", "v2026.1", body);
    let answered = api
        .send("POST", "/trainees", translation["data"].clone())
        .is(422);
    assert_eq!(translation["problems"], answered.body["errors"]);
    let problems = translation["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 3);
}

#[test]
fn malformed_question_is_rejected_with_every_key() {
    let developer = Developer::new();
    for question in [
        json!({}),
        json!([]),
        json!(7),
        json!({ "from": null, "to": null, "data": null }),
    ] {
        developer.ask(question).problems(&["from", "to", "data"]);
    }
    let question = json!({ "from": "v1.0-pre", "to": 7, "data": {}, "record": "person", "purpose": ["update"], "direction": "up" });
    developer
        .ask(question)
        .problems(&["from", "to", "record", "purpose", "direction"]);
    let too_many = json!({ "from": "v2025.0", "to": "v2026.1", "data": vec![json!({}); 501] });
    developer.ask(too_many).problems(&["data"]);
    let repeated =
        r#"{"from": "v2025.0", "from": "v2026.0", "to": "v2026.1", "data": {}, "data": {}}"#;
    let request = developer.request("POST").bytes(repeated);
    let reply = request.header("Content-Type", "application/json").send();
    reply.problems(&["from", "data"]);
    for data in [
        json!(7),
        json!("text"),
        json!(true),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({ "data": 7 }),
    ] {
        developer.translate("v2025.0", "v2026.1", data);
    }
}

#[test]
fn bodies_are_bounded_and_must_be_json() {
    let developer = Developer::new();
    let post = |body: Vec<u8>| {
        developer
            .request("POST")
            .header("Content-Type", "application/json")
            .bytes(body)
            .send()
    };
    let padded = |bytes: usize| {
        let mut body = br#"{"from": "v2025.0", "to": "v2026.1", "data": {}}"#.to_vec();
        body.resize(bytes, b' ');
        body
    };
    post(padded(MAX_BODY_BYTES)).is(200);
    post(padded(MAX_BODY_BYTES + 1)).error(413, "PayloadTooLarge");
    let nested = |levels: usize| {
        let arrays = levels - 1;
        let data = format!("{}{}", "[".repeat(arrays), "]".repeat(arrays));
        format!(r#"{{"from": "v2025.0", "to": "v2026.1", "data": {data}}}"#).into_bytes()
    };
    post(nested(MAX_DEPTH)).is(200);
    for levels in [MAX_DEPTH + 1, 127, 200, 50_000] {
        post(nested(levels)).error(400, "BadRequest");
    }
    for body in ["", " ", "{", "nothing", "{\"from\":}", "\u{feff}\u{feff}{}"] {
        post(body.into()).error(400, "BadRequest");
    }
    let text = developer
        .request("POST")
        .bytes("{}")
        .header("Content-Type", "text/plain")
        .send();
    text.error(415, "UnsupportedMediaType");
}

#[test]
fn nothing_but_post_is_answered_there() {
    let developer = Developer::new();
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        let reply = developer.request(method).send();
        reply.error(405, "MethodNotAllowed");
        assert_eq!(reply.header("allow"), Some("POST, OPTIONS"));
    }
    assert_eq!(
        developer.request("OPTIONS").send().is(204).header("allow"),
        Some("POST, OPTIONS")
    );
    developer
        .0
        .request("GET", "/docs/nothing")
        .send()
        .error(404, "NotFound");
}

#[test]
fn too_many_requests_are_refused_with_retry_after() {
    let developer = Developer::new();
    let refused = (0..200)
        .map(|_| developer.ask(json!({})))
        .find(|reply| reply.status == 429)
        .unwrap();
    refused.error(429, "TooManyRequests");
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    developer.0.api(version("v2026.1")).get("/info").is(200);
}

#[test]
fn the_day_is_that_of_the_register() {
    let developer = Developer::new();
    let body = json!({ "data": { "date_of_birth": "2012-10-05" } });
    let count = |developer: &Developer| {
        problems(&developer.translate("v2025.0", "v2026.1", body.clone())).len()
    };
    assert_eq!(count(&developer), 1);
    developer.0.clock.set("2040-10-05T09:00:00Z");
    assert_eq!(count(&developer), 0);
}

#[test]
fn translations_over_their_limit_are_rejected_while_the_api_works() {
    let developer = Developer::new();
    let translations = developer.0.translations();
    let runtime = actix_web::rt::System::new();
    let permits: Vec<_> = (0..2)
        .map(|_| runtime.block_on(translations.acquire()).unwrap())
        .collect();
    let refused = developer.ask(json!({ "from": "v2025.0", "to": "v2026.1", "data": {} }));
    refused.error(503, "ServiceUnavailable");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let form = developer
        .0
        .request("POST", "/docs/move/v2025.0/v2026.1")
        .bytes("body=%7B%7D")
        .page();
    assert_eq!(form.is(503).header("retry-after"), Some("1"));
    developer.0.api(version("v2026.1")).get("/info").is(200);
    drop(permits);
    developer.translate("v2025.0", "v2026.1", json!({}));
}

#[test]
fn a_translation_names_a_hundred_unknown_names_at_most() {
    let developer = Developer::new();
    let body = || {
        let names = (0..20).map(|number| {
            (
                format!("first_nam_{number}_with_a_long_ending_to_compare"),
                json!(1),
            )
        });
        Value::Object(names.collect())
    };
    let bodies: Vec<Value> = (0..200).map(|_| body()).collect();
    let translation = developer.translate("v2025.0", "v2026.1", bodies);
    let unknown = each(&translation, "notices", "code")
        .into_iter()
        .filter(|code| *code == "unknown_name");
    assert_eq!(unknown.count(), 100);
}
