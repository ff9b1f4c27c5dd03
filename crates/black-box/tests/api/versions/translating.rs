//! Payloads of one version in the names of another, over HTTP.

use domain::{RecordField as _, TraineeField as F};
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
fn names_are_renamed_in_withdrawals_and_beside_nested_records() {
    let developer = Developer::new();
    let body = example("v2025.0").with(F::training_partner_urn, "990001");
    let translation = developer.translate("v2025.0", "v2026.1", body);
    assert_eq!(
        each(&translation, "renames", "from"),
        ["course_subject_one", "lead_partner_urn"]
    );
    assert_eq!(
        each(&translation, "renames", "to"),
        ["course_subject_1", "training_partner_urn"]
    );
    assert_eq!(
        translation["data"]["data"]["training_partner_urn"],
        "990001"
    );
    let withdrawal =
        developer.translate("v2025.0", "v2026.1", Body::withdrawal(version("v2025.0")));
    assert_eq!(
        (&withdrawal["record"], &withdrawal["problems"]),
        (&json!("withdrawal"), &json!([]))
    );
    assert_eq!(each(&withdrawal, "renames", "path"), ["withdraw_date"]);
    let nested = json!({ "data": { "degrees_attributes": [{ "subject": "0", "graduation_year": 2020, "sujet": 1 }] } });
    let nested = developer
        .ask(json!({ "from": "v2025.0", "to": "v2026.1", "data": nested, "purpose": "create" }))
        .body;
    assert!(
        problems(&nested).contains(&("unknown_code", "degrees_attributes[0].subject")),
        "{nested:#}"
    );
    assert_eq!(
        each(&nested, "notices", "path"),
        ["degrees_attributes[0].sujet"]
    );
}

#[test]
fn ended_code_is_translated_with_its_replacement() {
    let developer = Developer::new();
    let body = example("v2025.0").with(F::training_route, "02");
    let translation = developer.translate("v2025.0", "v2026.1", body);
    assert_eq!(problems(&translation), [("unknown_code", "training_route")]);
    let ended = translation["notices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|notice| notice["code"] == "code_ended")
        .unwrap();
    assert_eq!(
        (&ended["path"], &ended["message"]),
        (
            &json!("training_route"),
            &json!(
                "training_route has the code 02, which v2026.1 no longer accepts: no code replaces it; send the \
                 code of the route that the trainee is on now; if you cannot tell, ask the operator of the register"
            )
        )
    );
    let candidates = ended["candidates"].as_array().unwrap();
    assert_eq!(
        (candidates.len(), &candidates[0]),
        (
            13,
            &json!({ "code": "03", "name": "School Direct salaried" })
        )
    );
}

#[test]
fn names_of_other_versions_stay_and_unknown_ones_are_reported() {
    let developer = Developer::new();
    let body = json!({ "data": { "course_subject_1": "100403", "midle_names": "Ola", "colour": {"a": [1]} } });
    let translation = developer.translate("v2025.0", "v2026.1", body.clone());
    assert_eq!(translation["data"], body);
    assert_eq!(
        each(&translation, "notices", "code"),
        [
            "foreign_name",
            "unknown_name",
            "unknown_name",
            "may_be_refused"
        ]
    );
    assert_eq!(translation["notices"][1]["nearest"], "middle_names");
    assert_eq!(translation["lost"], json!([]));
}

#[test]
fn primary_course_that_older_versions_reorder_is_rejected_by_newest() {
    let developer = Developer::new();
    let body = example("v2025.0")
        .with(F::course_age_range, "13914")
        .with(F::course_subject_1, "100403");
    developer
        .0
        .api(version("v2025.0"))
        .send("POST", "/trainees", body.clone())
        .is(201);
    let translation = developer.translate("v2025.0", "v2026.1", body);
    assert_eq!(
        problems(&translation),
        [("subject_for_phase", "course_subject_1")]
    );
    let message = translation["problems"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("course_subject_1 must be 100511"),
        "{message}"
    );
    // An update that does not say the route may yet be one of an early years trainee.
    let update = json!({ "data": { "course_subject_one": "100403", "course_age_range": "13914" } });
    let translation = developer.translate("v2025.0", "v2026.1", update);
    assert_eq!(
        (problems(&translation), &translation["purpose"]),
        (vec![], &json!("update"))
    );
    assert_eq!(each(&translation, "notices", "code"), ["may_be_refused"]);
    assert!(
        translation["notices"][0]["message"]
            .as_str()
            .unwrap()
            .contains("training_route"),
        "{translation:#}"
    );
}

#[test]
fn value_absent_from_an_older_version_is_reported_lost() {
    let developer = Developer::new();
    let body = example("v2026.1")
        .with(F::training_route, "15")
        .with(F::iqts_country, "FR");
    let translation = developer.translate("v2026.1", "v2025.0", body);
    let lost = &translation["lost"][0];
    assert_eq!(
        (&lost["path"], &lost["value"], &lost["why"]),
        (&json!("iqts_country"), &json!("FR"), &json!("not_set"))
    );
    assert_eq!(problems(&translation), [("unknown_code", "training_route")]);
    assert!(translation["data"]["data"].get("iqts_country").is_none());
}

#[test]
fn replies_are_translated_into_what_the_other_version_answers() {
    let developer = Developer::new();
    let (older, newer) = (
        developer.0.api(version("v2025.0")),
        developer.0.api(version("v2026.1")),
    );
    let created = older.create(older.example().with(F::disability1, "58"));
    let reply = older.get(&created.path()).is(200).body;
    let translation = developer.translate("v2025.0", "v2026.1", reply.clone());
    let mut expected = newer.get(&created.path()).is(200).body;
    expected["data"]
        .as_object_mut()
        .unwrap()
        .shift_remove(F::iqts_country.info().name);
    assert_eq!(translation["data"], expected);
    assert_eq!(
        each(&translation, "lost", "name"),
        ["expected_end_date", "bursary_level", "agency_disabilities"]
    );
    assert_eq!(translation["lost"][0]["same_as"], "itt_end_date");
    assert_eq!(
        (&translation["direction"], &translation["problems"]),
        (&json!("reply"), &json!([]))
    );
    let list = older.get("/trainees?academic_cycle=2026").is(200).body;
    let translated = developer.translate("v2025.0", "v2026.1", list.clone());
    let mut expected = newer.get("/trainees?academic_cycle=2026").is(200).body;
    expected["data"][0]
        .as_object_mut()
        .unwrap()
        .shift_remove(F::iqts_country.info().name);
    assert_eq!(translated["data"], expected);
    assert!(each(&translated, "lost", "path").contains(&"[0].bursary_level"));
    let error = json!({ "errors": [{ "error": "NotFound", "message": "not found" }] });
    assert_eq!(
        developer.translate("v2025.0", "v2026.1", error.clone())["data"],
        error
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
fn arrays_are_translated_body_by_body() {
    let developer = Developer::new();
    let bodies = json!([{ "data": { "course_subject_one": "100403" } }, { "withdraw_date": "2026-10-01" }, 7, null]);
    let translation = developer.translate("v2025.0", "v2026.1", bodies);
    let expected = json!([{ "data": { "course_subject_1": "100403" } }, { "withdrawal_date": "2026-10-01" }, 7, null]);
    assert_eq!(translation["data"], expected);
    assert_eq!(
        each(&translation, "renames", "path"),
        ["[0].course_subject_one", "[1].withdraw_date"]
    );
    let too_many = json!({ "from": "v2025.0", "to": "v2026.1", "data": vec![json!({}); 501] });
    developer.ask(too_many).problems(&["data"]);
}

#[test]
fn nested_lists_are_bounded_as_everywhere() {
    let developer = Developer::new();
    let body = example("v2026.0").with(F::placements, json!(vec![json!({ "urn": "990001" }); 101]));
    let translation = developer.translate("v2026.0", "v2026.1", body);
    assert_eq!(
        problems(&translation),
        [("too_many", "placements_attributes")]
    );
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
fn repeated_keys_of_body_and_request_are_named() {
    let developer = Developer::new();
    let post = |text: &str| {
        let request = developer.request("POST").bytes(text);
        request.header("Content-Type", "application/json").send()
    };
    let translation = post(
        r#"{"from": "v2025.0", "to": "v2026.1", "data": {"data": {"sex": "10", "sex": "11",
            "degrees_attributes": [{"grade": "First-class honours", "grade": "Pass"}]}}}"#,
    )
    .is(200)
    .body;
    let repeated: Vec<_> = problems(&translation)
        .into_iter()
        .filter(|(code, _)| *code == "repeated_key")
        .collect();
    assert_eq!(
        repeated,
        [
            ("repeated_key", "degrees_attributes[0].grade"),
            ("repeated_key", "sex")
        ]
    );
    assert_eq!(translation["data"]["data"]["sex"], "10");
    post(r#"{"from": "v2025.0", "from": "v2026.0", "to": "v2026.1", "data": {}, "data": {}}"#)
        .problems(&["from", "data"]);
}

#[test]
fn body_with_names_of_replies_is_read_as_a_request() {
    let developer = Developer::new();
    for name in ["degrees", "placements", "trn", "expected_end_date"] {
        let body = json!({ "data": { name: null, "email": "unknown" } });
        let translation = developer.translate("v2025.0", "v2026.1", body);
        assert_eq!(translation["direction"], "request", "{name}");
        assert_eq!(problems(&translation), [("not_email", "email")]);
    }
    let body = json!({ "data": { "sex": "x" } });
    let translation = developer.translate("v2025.0", "v2026.1", body);
    assert_eq!(translation["otherwise"]["direction"], "reply");
    assert_eq!(
        translation["otherwise"]["problems"],
        translation["problems"]
    );
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
