//! Many trainees at once: each item as if it were sent alone, whatever becomes of the others
//! (contract, section 11.3).

use std::num::NonZeroU32;
use std::time::Duration;

use domain::TraineeField as F;
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use serde_json::{Map, Value, json};
use storage::base::token::Environment;
use versions::SERVED;

use crate::api::support::shown::is_identifier;
use crate::api::support::{Api, Body, Register, Response, Setup, every_version, newest};

const PATH: &str = "/trainees/batch";

/// A trainee unlike all others.
fn person(api: &Api<'_>, number: usize) -> Body {
    api.example().with(F::last_name, format!("Number {number}"))
}

fn data(body: Body) -> Value {
    Value::from(body)["data"].take()
}

fn item(key: &str, body: Body) -> Value {
    json!({ "idempotency_key": key, "data": data(body) })
}

/// A batch of `count` persons.
fn batch(api: &Api<'_>, count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| item(&format!("key-{number}"), person(api, number)))
        .collect()
}

fn send(api: &Api<'_>, items: &[Value]) -> Response {
    api.send("POST", PATH, items.to_vec())
}

#[track_caller]
fn results(reply: &Response) -> &Vec<Value> {
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    reply.data().as_array().unwrap()
}

#[track_caller]
fn statuses(reply: &Response) -> Vec<u64> {
    results(reply)
        .iter()
        .map(|result| result["status"].as_u64().unwrap())
        .collect()
}

/// How many trainees the provider has.
fn count(api: &Api<'_>) -> u64 {
    let list = api.get("/trainees?per_page=1");
    if list.status == 404 {
        0
    } else {
        list.is(200).body["meta"]["total_count"].as_u64().unwrap()
    }
}

/// Removes what the service generates for each record.
fn comparable(mut value: Value) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(name, value)| {
                let is_generated = is_identifier(name);
                if value.is_string() && (is_generated || name.ends_with("_at")) {
                    *value = json!("generated");
                } else {
                    clear(value);
                }
            }),
            Value::Array(values) => values.iter_mut().for_each(clear),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    clear(&mut value);
    value
}

/// The reply to a separate request, in the form of a result.
fn alone(api: &Api<'_>, item: &Value, headers: &[(&str, &str)]) -> Value {
    let key = item["idempotency_key"].as_str().unwrap();
    let request = api
        .request("POST", "/trainees")
        .header("Idempotency-Key", key);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let body = match item.get("data") {
        Some(data) => json!({ "data": data }),
        None => json!({}),
    };
    let reply = request.json(body).send();
    let mut result = Map::from_iter([
        ("idempotency_key".to_owned(), json!(key)),
        ("status".to_owned(), json!(reply.status)),
    ]);
    let warnings = reply.warnings();
    if !warnings.is_empty() {
        let texts = warnings
            .iter()
            .map(|warning| warning.strip_prefix("299 - ").unwrap().trim_matches('"'));
        result.insert("warnings".to_owned(), texts.collect());
    }
    if reply.header("idempotent-replayed").is_some() {
        result.insert("replayed".to_owned(), json!(true));
    }
    result.extend(reply.body.as_object().unwrap().clone());
    Value::Object(result)
}

/// Makes seven of the items wrong, each in a different way, and gives their positions and
/// statuses.
fn make_wrong(api: &Api<'_>, items: &mut [Value]) -> [(usize, u64); 7] {
    items[0] = item("without-email", person(api, 0).without(F::email));
    items[23] = item("unknown-code", person(api, 23).with(F::study_mode, "1"));
    items[24] = item("present", api.example());
    items[77] = json!({ "idempotency_key": "nothing" });
    items[111] = item(
        "no-date",
        person(api, 111).with(F::itt_start_date, "30 February"),
    );
    items[150] = item("used", person(api, 150));
    let degrees = json!([{ "subject": "none" }]);
    items[199] = item("wrong-degree", person(api, 199).with(F::degrees, degrees));
    [
        (0, 422),
        (23, 422),
        (24, 409),
        (77, 422),
        (111, 422),
        (150, 422),
        (199, 422),
    ]
}

/// A trainee who is registered already, and a key that was used.
fn prepare(api: &Api<'_>) {
    api.create(api.example());
    let used = api
        .request("POST", "/trainees")
        .header("Idempotency-Key", "used");
    used.json(person(api, 1_000)).send().is(201);
}

#[test]
fn batch_answers_items_like_single_requests() {
    every_version(|api| {
        let another = Register::start();
        let single = another.api(api.version);
        prepare(api);
        prepare(&single);
        let mut items = batch(api, 200);
        items[42] = item("misspelt", person(api, 42).with_key("frist_names", "x"));
        let wrong = make_wrong(api, &mut items);
        let reply = send(api, &items);
        let mut expected = vec![201; 200];
        wrong
            .into_iter()
            .for_each(|(position, status)| expected[position] = status);
        assert_eq!(statuses(&reply), expected);
        for (item, result) in items.iter().zip(results(&reply)) {
            let alone = alone(&single, item, &[]);
            assert_eq!(comparable(result.clone()), comparable(alone), "{item:#}");
        }
        assert_eq!(results(&reply)[42]["warnings"].as_array().unwrap().len(), 1);
        assert_eq!(count(api), 2 + 193);
        // What was registered is what a GET shows, and has what the batch says of it.
        for position in [1, 42, 198] {
            let created = &results(&reply)[position]["data"];
            let shown = api
                .get(&format!(
                    "/trainees/{}",
                    created["trainee_id"].as_str().unwrap()
                ))
                .is(200);
            assert_eq!(shown.data(), created);
        }
    });
}

#[test]
fn resent_batch_is_replayed() {
    every_version(|api| {
        prepare(api);
        let mut items = batch(api, 200);
        let wrong = make_wrong(api, &mut items);
        let (first, before) = (send(api, &items), count(api));
        let again = send(api, &items);
        assert_eq!((statuses(&again), count(api)), (statuses(&first), before));
        for (position, (first, again)) in results(&first).iter().zip(results(&again)).enumerate() {
            let mut expected = first.clone();
            if !wrong.iter().any(|(wrong, _)| *wrong == position) {
                expected["replayed"] = json!(true);
            }
            assert_eq!(*again, expected);
        }
    });
}

#[test]
fn executed_part_of_batch_is_replayed() {
    every_version(|api| {
        let items = batch(api, 20);
        // As after a server was killed in the middle.
        assert_eq!(statuses(&send(api, &items[3..9])), [201; 6]);
        let reply = send(api, &items);
        let replayed: Vec<bool> = results(&reply)
            .iter()
            .map(|result| result.get("replayed").is_some())
            .collect();
        let expected: Vec<bool> = (0..20).map(|position| (3..9).contains(&position)).collect();
        assert_eq!(
            (statuses(&reply), replayed, count(api)),
            (vec![201; 20], expected, 20)
        );
    });
}

#[test]
fn item_equals_single_request_with_its_key() {
    every_version(|api| {
        // White space and the order of names are part of the text.
        let text = &data(person(api, 1)).to_string();
        let record = format!("{{\"data\":{text}}}");
        let alone = |key: &str| {
            let request = api
                .request("POST", "/trainees")
                .header("Idempotency-Key", key);
            request
                .header("Content-Type", "application/json")
                .bytes(record.clone())
                .send()
                .is(201)
        };
        let in_batch = |key: &str, text: &str| {
            let body = format!("[ {{\"data\": {text} , \"idempotency_key\" : \"{key}\"}}\n]");
            api.request("POST", PATH)
                .header("Content-Type", "application/json")
                .bytes(body)
                .send()
                .is(200)
        };
        let first = alone("alone-first");
        let result = in_batch("alone-first", text);
        assert_eq!(
            (&result.data()[0]["replayed"], &result.data()[0]["data"]),
            (&json!(true), first.data())
        );
        let changed = text.replacen('{', "{ ", 1);
        assert_eq!(in_batch("alone-first", &changed).data()[0]["status"], 422);
        let other = in_batch("batch-first", &text.replace("Number 1", "Number 2"));
        assert_eq!(other.data()[0]["status"], 201);
        let request = api
            .request("POST", "/trainees")
            .header("Idempotency-Key", "batch-first");
        let record = record.replace("Number 1", "Number 2");
        let replayed = request
            .header("Content-Type", "application/json")
            .bytes(record)
            .send()
            .is(201);
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        assert_eq!((replayed.data(), count(api)), (&other.data()[0]["data"], 2));
    });
}

#[test]
fn problems_of_batch_items_are_shortened() {
    let register = Register::start();
    let api = register.api(newest());
    let mut body = data(person(&api, 0));
    let [placements, degrees] = [
        vec![json!({ "urn": "x" }); 100],
        vec![json!({ "subject": "x", "grade": "x" }); 100],
    ];
    body["placements_attributes"] = json!(placements);
    body["degrees_attributes"] = json!(degrees);
    let items: Vec<Value> = (0..200)
        .map(|key| json!({ "idempotency_key": format!("key-{key}"), "data": body }))
        .collect();
    let reply = send(&api, &items);
    assert!(
        statuses(&reply).iter().all(|status| *status == 422),
        "{:?}",
        statuses(&reply)
    );
    for result in results(&reply) {
        assert_eq!(result["errors"].as_array().unwrap().len(), 100);
        assert!(
            result["warnings"][0]
                .as_str()
                .unwrap()
                .ends_with("more problems are not shown"),
            "{result:#}"
        );
    }
}

#[test]
fn lines_are_answered_like_array_elements() {
    every_version(|api| {
        let another = Register::start();
        let mut items = batch(api, 30);
        items[7] = item("wrong", person(api, 7).without(F::email));
        items[8] = json!("no object");
        let lines: Vec<String> = items.iter().map(Value::to_string).collect();
        let in_lines = |content_type: &str, api: &Api<'_>| {
            let body = format!("\n{}\r\n\n", lines.join("\n"));
            api.request("POST", PATH)
                .header("Content-Type", content_type)
                .bytes(body)
                .send()
        };
        let (array, by_line) = (
            send(api, &items),
            in_lines("application/x-ndjson", &another.api(api.version)),
        );
        assert_eq!(
            comparable(by_line.is(200).body),
            comparable(array.is(200).body)
        );
        for content_type in ["application/ndjson", "application/jsonl; charset=utf-8"] {
            assert!(
                results(&in_lines(content_type, api))
                    .iter()
                    .all(|result| result["status"] != 201 || result["replayed"] == true)
            );
        }
        // Elsewhere lines are no content type, and here others are none.
        let elsewhere = api
            .request("POST", "/trainees")
            .header("Content-Type", "application/x-ndjson");
        elsewhere
            .bytes(lines[0].clone())
            .send()
            .error(415, "UnsupportedMediaType");
        in_lines("text/plain", api).error(415, "UnsupportedMediaType");
        in_lines("application/json", api).error(400, "BadRequest");
    });
}

#[test]
fn malformed_body_is_refused_before_any_item() {
    every_version(|api| {
        let good = item("a", person(api, 1)).to_string();
        let deep = format!(
            r#"{{"idempotency_key":"b","data":{}1{}}}"#,
            "[".repeat(32),
            "]".repeat(32)
        );
        let ndjson = "application/x-ndjson";
        let cases = [
            ("application/json", format!("[{good},")),
            ("application/json", format!("[{good},{{\"data\":}}]")),
            ("application/json", format!("[{good}] x")),
            ("application/json", format!("[{good},{deep}]")),
            ("application/json", format!("[{good},\"\\ud800\"]")),
            (ndjson, format!("{good}\n{{")),
            (ndjson, format!("{good}\n{good} {good}")),
            (ndjson, format!("[{good}\n]")),
        ];
        for (content_type, body) in cases {
            let request = api
                .request("POST", PATH)
                .header("Content-Type", content_type);
            let reply = request.bytes(body.clone()).send();
            let message = reply.error(400, "BadRequest");
            assert!(
                message.starts_with("the body is not valid JSON: "),
                "{message}"
            );
        }
        let items = |count: usize| vec![json!({}); count];
        assert!(
            send(api, &items(201))
                .error(422, "UnprocessableEntity")
                .contains("200")
        );
        assert!(
            send(api, &[])
                .error(422, "UnprocessableEntity")
                .contains("no items")
        );
        assert!(
            api.send("POST", PATH, json!({}))
                .error(422, "UnprocessableEntity")
                .contains("array")
        );
        let large = api
            .request("POST", PATH)
            .json(vec![json!("x".repeat(1_048_576))]);
        large.send().error(413, "PayloadTooLarge");
        assert_eq!(count(api), 0);
        assert_eq!(statuses(&send(api, &items(200))), [422; 200]);
    });
}

#[test]
fn item_needs_a_key_of_its_own() {
    every_version(|api| {
        let with = |key: Value| json!({ "idempotency_key": key, "data": data(person(api, 1)) });
        let mut items = vec![
            with(Value::Null),
            with(json!("  ")),
            with(json!("two words")),
            with(json!("k".repeat(256))),
            with(json!(["key"])),
            json!({ "data": data(person(api, 1)) }),
            with(json!("twice")),
            with(json!("twice")),
            json!([]),
        ];
        let reply = send(api, &items);
        assert_eq!(
            statuses(&reply),
            [422, 422, 422, 422, 422, 422, 201, 422, 422]
        );
        let codes = [
            "blank",
            "blank",
            "malformed_key",
            "malformed_key",
            "malformed_key",
            "blank",
        ];
        for (result, code) in results(&reply).iter().zip(codes) {
            let error = &result["errors"][0];
            assert_eq!(
                (&error["field"], &error["code"]),
                (&json!("idempotency_key"), &json!(code)),
                "{result:#}"
            );
            assert!(result["idempotency_key"].is_null());
        }
        let repeated = &results(&reply)[7];
        assert_eq!(
            (&repeated["errors"][0]["code"], &repeated["idempotency_key"]),
            (&json!("repeats_item"), &json!("twice"))
        );
        assert_eq!(
            repeated["errors"][0]["message"],
            "idempotency_key repeats item 7"
        );
        let fields: Vec<_> = results(&reply)[8]["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["field"])
            .collect();
        assert_eq!(fields, ["idempotency_key", "data"]);
        // One of the batch as a whole is none.
        items.truncate(1);
        let reply = api
            .request("POST", PATH)
            .header("Idempotency-Key", "of the batch")
            .json(items)
            .send();
        assert_eq!(statuses(&reply), [422]);
        assert!(
            reply.warnings()[0].contains("Idempotency-Key is ignored"),
            "{:?}",
            reply.warnings()
        );
        assert_eq!(count(api), 1);
    });
}

#[test]
fn headers_hold_for_each_item() {
    every_version(|api| {
        let another = Register::start();
        let single = another.api(api.version);
        let items = [
            item("a", person(api, 1)),
            item("b", person(api, 2).without(F::email).without(F::sex)),
            item("c", person(api, 3).with_key("frist_names", "x")),
        ];
        let headers = [
            ("Prefer", "validate-only", [201, 422, 201]),
            ("Prefer", "handling=strict", [201, 422, 422]),
            ("Enhanced-Errors", "true", [201, 422, 201]),
        ];
        for (name, value, expected) in headers {
            let reply = api
                .request("POST", PATH)
                .header(name, value)
                .json(items.to_vec())
                .send();
            assert_eq!(statuses(&reply), expected, "{name}: {value}");
            for (item, result) in items.iter().zip(results(&reply)) {
                assert_eq!(
                    comparable(result.clone()),
                    comparable(alone(&single, item, &[(name, value)])),
                    "{name}"
                );
            }
            let is_dry_run = value == "validate-only";
            assert_eq!(reply.header("preference-applied").is_some(), is_dry_run);
            assert_eq!(count(api) == 0, is_dry_run);
        }
        let mut unknown = item("d", person(api, 4));
        unknown["dta"] = json!(1);
        let strict = api
            .request("POST", PATH)
            .header("Prefer", "handling=strict")
            .json(vec![unknown.clone()])
            .send();
        assert_eq!(results(&strict)[0]["errors"][0]["code"], "unknown_name");
        let reply = send(api, &[unknown]);
        assert_eq!(
            results(&reply)[0]["warnings"],
            json!(["unknown field dta (did you mean data?)"])
        );
        let strict = api
            .request("POST", &format!("{PATH}?x=1"))
            .header("Prefer", "handling=strict");
        strict.json(items.to_vec()).send().is(422);
    });
}

fn limited(requests: u32) -> Register {
    // So long that nothing comes back while a test runs.
    let limit = RateLimit {
        requests: NonZeroU32::new(requests).unwrap(),
        window: Duration::from_hours(24),
    };
    Register::with_setup(Setup {
        admission: Admission::with_limit(Some(limit)),
        ..Setup::default()
    })
}

#[test]
fn ten_batch_items_count_as_one_request() {
    for version in SERVED {
        let register = limited(6);
        let api = register.api(version);
        let left = |reply: &Response| {
            reply
                .header("ratelimit")
                .unwrap()
                .split(';')
                .nth(1)
                .unwrap()
                .to_owned()
        };
        let reply = send(&api, &batch(&api, 11));
        assert_eq!(
            (statuses(&reply), left(&reply)),
            (vec![201; 11], "r=4".to_owned())
        );
        // What does not fit is refused whole, and counts as one.
        let refused = send(&api, &batch(&api, 41));
        assert!(
            refused
                .error(429, "TooManyRequests")
                .contains("with this token")
        );
        assert_eq!(left(&refused), "r=3");
        // Two requests must be returned to the limit, one for each missing item, and those of the
        // next attempt.
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((28_000..=28_800).contains(&wait), "{wait}");
        let beyond = send(&api, &batch(&api, 61));
        let message = beyond.error(429, "TooManyRequests");
        assert!(
            message.contains("counts as 7 requests") && message.contains("fewer items"),
            "{message}"
        );
        assert!(beyond.header("retry-after").is_some());
        assert_eq!(
            (left(&beyond), beyond.header("ratelimit-policy")),
            ("r=2".to_owned(), Some("\"token\";q=6;w=86400"))
        );
        // Neither has done anything: of these, eleven are replayed.
        let reply = send(&api, &batch(&api, 20));
        let replayed = results(&reply)
            .iter()
            .filter(|result| result.get("replayed").is_some())
            .count();
        assert_eq!((replayed, left(&reply)), (11, "r=0".to_owned()));
    }
}

#[test]
fn other_methods_of_batch_path_find_nothing() {
    every_version(|api| {
        for method in ["GET", "PUT", "PATCH"] {
            let request = api.request(method, PATH);
            let request = if method == "GET" {
                request
            } else {
                request.json(api.example())
            };
            assert_eq!(request.send().error(404, "NotFound"), "trainee not found");
        }
        assert_eq!(
            api.get(&format!("{PATH}/placements"))
                .error(404, "NotFound"),
            "trainee not found"
        );
        let refused = api.request("DELETE", PATH).send();
        refused.error(405, "MethodNotAllowed");
        let allowed = "GET, HEAD, POST, PUT, PATCH, OPTIONS";
        assert_eq!(refused.header("allow"), Some(allowed));
        let options = api
            .request("OPTIONS", PATH)
            .without("Authorization")
            .send()
            .is(204);
        assert_eq!(options.header("allow"), Some(allowed));
        let options = api.request("OPTIONS", "/trainees/none").send().is(204);
        assert_eq!(
            options.header("allow"),
            Some("GET, HEAD, PUT, PATCH, OPTIONS")
        );
    });
}

#[test]
fn batches_of_two_providers_are_separate() {
    every_version(|api| {
        let other = api.register.other_provider(api.version);
        let items = batch(api, 5);
        for client in [&other, api] {
            assert_eq!(statuses(&send(client, &items)), [201; 5]);
            assert_eq!(count(client), 5);
        }
    });
}

#[test]
fn expired_token_is_rejected_before_batch() {
    every_version(|api| {
        let token =
            api.register
                .issue_token("10012345", Environment::Sandbox, "2026-10-06".parse().ok());
        let ended = api.register.api_with_token(api.version, token);
        assert_eq!(statuses(&send(&ended, &batch(api, 1))), [201]);
        api.register.clock.set("2026-10-06T09:00:00Z");
        for body in ["{", "[]", "[1]"] {
            ended.request("POST", PATH).bytes(body).send().is(401);
        }
    });
}

#[test]
fn batch_leaves_room_in_store_queue() {
    every_version(|api| {
        let all_at_once = Register::with_setup(Setup {
            queue: 8,
            ..Setup::default()
        });
        assert_eq!(
            statuses(&send(&all_at_once.api(api.version), &batch(api, 100))),
            [201; 100]
        );
        // What finds no room is not done, and is done when it is sent again.
        let register = Register::with_setup(Setup {
            queue: 1,
            ..Setup::default()
        });
        let (api, mut items) = (register.api(api.version), batch(api, 40));
        // It also records that the token is used today. Otherwise that could hold the only place
        // while all items come.
        api.create(api.example());
        while !items.is_empty() {
            let before = count(&api);
            let reply = send(&api, &items);
            let busy = results(&reply)
                .iter()
                .filter(|result| result["status"] != 201);
            for result in busy {
                assert_eq!(
                    (&result["status"], &result["errors"][0]["error"]),
                    (&json!(503), &json!("ServiceUnavailable"))
                );
            }
            let accepted = statuses(&reply)
                .iter()
                .filter(|status| **status == 201)
                .count() as u64;
            assert!(accepted > 0, "nothing was accepted: {:#}", reply.body);
            assert_eq!(count(&api), before + accepted);
            let mut results = results(&reply).iter();
            items.retain(|_| results.next().unwrap()["status"] == 503);
        }
        assert_eq!(count(&api), 41);
    });
}
