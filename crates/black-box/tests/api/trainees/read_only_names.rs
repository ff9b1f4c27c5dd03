//! Values sent under names of replies: ignored where the reply shows the same value, named where
//! it does not.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Response, Shown, every_version, version};

/// The record that a case is about, and the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// Registers the example.
    Create,
    /// Registers the example without nested records.
    CreateAlone,
    /// Changes a trainee with a placement and a degree.
    Update,
    AddDegree,
    UpdateDegree,
    AddPlacement,
    UpdatePlacement,
}

/// The rest of a message behind the name.
const NO_INPUT: &str = "is no input, and the reply has another value";
const USE_ENDPOINT: &str = "is not changed here; use the endpoints of its records";

/// Sends `keys` in addition to a body that is accepted.
fn send(api: &Api<'_>, to: To, keys: &Value, prefer: &str) -> (Shown, Response) {
    let (degree, placement) = (degree(), json!({ "urn": "990001" }));
    let trainee = api.create(api.example().with(F::last_name, "Known"));
    let id_of = |list: &str, id: &str| trainee.data[list][0][id].as_str().unwrap().to_owned();
    let (method, path, body) = match to {
        To::Create => ("POST", "/trainees".to_owned(), api.example().into()),
        To::CreateAlone => {
            let alone = api.example().without(F::placements).without(F::degrees);
            ("POST", "/trainees".to_owned(), alone.into())
        }
        To::Update => ("PATCH", trainee.path(), json!({ "data": {} })),
        To::AddDegree => ("POST", format!("{}/degrees", trainee.path()), degree),
        To::UpdateDegree => {
            let id = id_of("degrees", "degree_id");
            (
                "PATCH",
                format!("{}/degrees/{id}", trainee.path()),
                json!({ "data": {} }),
            )
        }
        To::AddPlacement => {
            let body = json!({ "data": placement });
            ("POST", format!("{}/placements", trainee.path()), body)
        }
        To::UpdatePlacement => {
            let id = id_of("placements", "placement_id");
            (
                "PATCH",
                format!("{}/placements/{id}", trainee.path()),
                json!({ "data": {} }),
            )
        }
    };
    let mut body: Value = body;
    for (key, value) in keys.as_object().unwrap() {
        body["data"][key] = value.clone();
    }
    let reply = api
        .request(method, &path)
        .header("Prefer", prefer)
        .json(body)
        .send();
    (trainee, reply)
}

/// A degree that the example does not have.
fn degree() -> Value {
    json!({ "data": {
        "uk_degree": "083", "subject": "100425", "graduation_year": "2015", "grade": "02",
    } })
}

#[test]
fn values_under_names_of_replies_are_named_or_refused() {
    use To::{AddDegree, AddPlacement, Create, CreateAlone, Update, UpdateDegree, UpdatePlacement};
    let use_input = |input: &str| format!("{NO_INPUT}; use {input}");
    let none = || NO_INPUT.to_owned();
    let records = json!([{ "subject": "100425" }]);
    let cases = [
        (
            CreateAlone,
            json!({ "degrees": records }),
            vec![("degrees", use_input("degrees_attributes"))],
        ),
        (
            CreateAlone,
            json!({ "placements": records }),
            vec![("placements", use_input("placements_attributes"))],
        ),
        (
            CreateAlone,
            json!({ "degrees": records, "placements": records }),
            vec![
                ("degrees", use_input("degrees_attributes")),
                ("placements", use_input("placements_attributes")),
            ],
        ),
        (
            Create,
            json!({ "degrees": [{}, {}] }),
            vec![("degrees", use_input("degrees_attributes"))],
        ),
        (
            Create,
            json!({ "degrees": [{ "subject": "000000" }] }),
            vec![("degrees", use_input("degrees_attributes"))],
        ),
        (
            Create,
            json!({ "degrees": [{ "degree_id": "x", "created_at": "x" }] }),
            vec![],
        ),
        (Create, json!({ "trn": "1234567" }), vec![("trn", none())]),
        (
            Create,
            json!({ "trainee_id": "x" }),
            vec![("trainee_id", none())],
        ),
        (
            Create,
            json!({ "state": "trn_received" }),
            vec![("state", none())],
        ),
        (Create, json!({ "state": "submitted_for_trn" }), vec![]),
        (
            Create,
            json!({ "ukprn": "10000009" }),
            vec![("ukprn", none())],
        ),
        (
            Create,
            json!({ "trn": null, "state": "", "degrees": [], "placements": [], "ebacc": false }),
            vec![],
        ),
        (
            CreateAlone,
            json!({ "degrees": null, "placements": "" }),
            vec![],
        ),
        (
            Create,
            json!({ "created_at": "x", "updated_at": 1 }),
            vec![],
        ),
        (
            Create,
            json!({ "course_min_age": 1, "diversity_disclosure": "x" }),
            vec![],
        ),
        (
            Create,
            json!({ "region": "x", "submitted_for_trn_at": "x" }),
            vec![("region", none()), ("submitted_for_trn_at", none())],
        ),
        (
            Update,
            json!({ "degrees": records }),
            vec![("degrees", USE_ENDPOINT.to_owned())],
        ),
        (
            Update,
            json!({ "degrees": [] }),
            vec![("degrees", USE_ENDPOINT.to_owned())],
        ),
        (
            Update,
            json!({ "placements": null }),
            vec![("placements", USE_ENDPOINT.to_owned())],
        ),
        (Update, json!({ "trn": "1234567" }), vec![("trn", none())]),
        (
            Update,
            json!({ "trn": null, "state": "submitted_for_trn" }),
            vec![],
        ),
        (
            Update,
            json!({ "state": "awarded", "ukprn": "x" }),
            vec![("state", none()), ("ukprn", none())],
        ),
        (
            Update,
            json!({ "created_at": "x", "updated_at": null }),
            vec![],
        ),
        (
            Update,
            json!({ "course_itt_start_date": "2020-01-01" }),
            vec![("course_itt_start_date", use_input("itt_start_date"))],
        ),
        (
            Update,
            json!({ "diversity_disclosure": "diversity_disclosed", "ethnicity": "120" }),
            vec![],
        ),
        (
            AddDegree,
            json!({ "institution_uuid": "x" }),
            vec![("institution_uuid", use_input("institution"))],
        ),
        (
            AddDegree,
            json!({ "institution_uuid": "x", "institution": "0117" }),
            vec![],
        ),
        (
            AddDegree,
            json!({ "subject_uuid": "x", "degree_id": "", "created_at": "x" }),
            vec![],
        ),
        (
            AddDegree,
            json!({ "degree_id": "x" }),
            vec![("degree_id", none())],
        ),
        (
            UpdateDegree,
            json!({ "degree_id": "x" }),
            vec![("degree_id", none())],
        ),
        (
            UpdateDegree,
            json!({ "subject_uuid": "x" }),
            vec![("subject_uuid", use_input("subject"))],
        ),
        (
            UpdateDegree,
            json!({ "subject_uuid": "x", "subject": "100426" }),
            vec![],
        ),
        (
            AddPlacement,
            json!({ "placement_id": "x" }),
            vec![("placement_id", none())],
        ),
        (
            AddPlacement,
            json!({ "address": "x", "school_id": 7 }),
            vec![],
        ),
        (
            UpdatePlacement,
            json!({ "placement_id": "x", "address": "x" }),
            vec![("placement_id", none()), ("address", use_input("urn"))],
        ),
        (
            UpdatePlacement,
            json!({ "school_id": 7 }),
            vec![("school_id", use_input("urn"))],
        ),
    ];
    every_version(|api| {
        for (to, keys, named) in &cases {
            check(api, *to, keys, named);
        }
    });
}

#[test]
fn names_that_only_the_oldest_version_shows_are_compared_too() {
    let api_version = version("v2025.0");
    let register = crate::api::support::Register::start();
    let api = register.api(api_version);
    let use_input = |input: &str| format!("{NO_INPUT}; use {input}");
    for (to, keys, named) in [
        (
            To::Create,
            json!({ "expected_end_date": "2020-01-01" }),
            vec![],
        ),
        (To::Create, json!({ "bursary_level": "x" }), vec![]),
        (
            To::Update,
            json!({ "expected_end_date": "2020-01-01" }),
            vec![("expected_end_date", use_input("itt_end_date"))],
        ),
        (
            To::Update,
            json!({ "bursary_level": "x" }),
            vec![("bursary_level", use_input("funding_method"))],
        ),
    ] {
        check(&api, to, &keys, &named);
    }
}

/// Checks the `Warning` headers, the refusal in strict mode, and both in a dry run.
#[track_caller]
fn check(api: &Api<'_>, to: To, keys: &Value, named: &[(&str, String)]) {
    let expected: Vec<String> = named
        .iter()
        .map(|(name, rest)| match rest.strip_prefix("is no input") {
            Some(rest) => format!("299 - \"{name} is ignored: it is no input{rest}\""),
            None => format!("299 - \"{name} {rest}\""),
        })
        .collect();
    for prefer in ["handling=lenient", "validate-only"] {
        let (trainee, reply) = send(api, to, keys, prefer);
        assert!(reply.status < 300, "{to:?} {keys} {:#}", reply.body);
        let mut warnings = reply.warnings();
        warnings.retain(|warning| !warning.contains("read-only fields alone"));
        assert_eq!(warnings, expected, "{to:?} {keys} {prefer}");
        remove(api, &trainee, &reply);
    }
    for prefer in ["handling=strict", "handling=strict, validate-only"] {
        let (trainee, reply) = send(api, to, keys, prefer);
        if named.is_empty() {
            assert!(reply.status < 300, "{to:?} {keys} {:#}", reply.body);
        } else {
            let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
            let messages = reply.problems(&names);
            for (message, (name, rest)) in messages.iter().zip(named) {
                assert_eq!(*message, format!("{name} {rest}"), "{to:?} {keys}");
            }
        }
        remove(api, &trainee, &reply);
    }
}

/// Changes the registered persons, so that the next case can register them again.
fn remove(api: &Api<'_>, known: &Shown, reply: &Response) {
    let mut ids = vec![known.id().to_owned()];
    if reply.status == 201
        && let Some(id) = reply.data()["trainee_id"].as_str()
    {
        ids.push(id.to_owned());
    }
    for id in ids {
        let name = format!("Person {}", id.to_lowercase());
        api.update(&id, Body::new(api.version).with(F::last_name, name));
    }
}

#[test]
fn names_in_nested_records_of_new_trainee_are_named() {
    every_version(|api| {
        let body: Value = api.example().into();
        for (list, name, value, rest) in [
            ("degrees_attributes", "degree_id", json!("x"), Some("")),
            ("degrees_attributes", "subject_uuid", json!("x"), None),
            ("degrees_attributes", "created_at", json!("x"), None),
            (
                "placements_attributes",
                "placement_id",
                json!("x"),
                Some(""),
            ),
            ("placements_attributes", "placement_id", json!(null), None),
            ("placements_attributes", "address", json!("x"), None),
        ] {
            let mut body = body.clone();
            body["data"][list][0][name] = value;
            let dry = api.request("POST", "/trainees").json(body.clone());
            let reply = dry.header("Prefer", "validate-only").send().is(201);
            let expected = rest
                .map(|rest| format!("299 - \"{list} 1 {name} is ignored: it {NO_INPUT}{rest}\""));
            assert_eq!(
                reply.warnings(),
                Vec::from_iter(expected.as_deref()),
                "{name}"
            );
            let strict = api.request("POST", "/trainees").json(body);
            let strict = strict
                .header("Prefer", "handling=strict, validate-only")
                .send();
            assert_eq!(
                strict.status,
                if rest.is_some() { 422 } else { 201 },
                "{name}"
            );
        }
    });
}

#[test]
fn refused_request_stores_nothing_and_names_all_problems() {
    every_version(|api| {
        let strict = |method: &str, path: &str, body: Body| {
            let request = api.request(method, path).json(body);
            request.header("Prefer", "handling=strict").send()
        };
        let body = api
            .example()
            .without(F::degrees)
            .with_key("degrees", json!([{}]));
        strict("POST", "/trainees", body.clone()).problems(&["degrees"]);
        let both = body.with(F::sex, "77").with_key("frist_names", "x");
        strict("POST", "/trainees", both).problems(&["frist_names", "sex", "degrees"]);
        let created = api.create(api.example());
        let update = Body::new(api.version)
            .with(F::last_name, "Changed")
            .with_key("trn", "1234567");
        strict("PATCH", &created.path(), update.clone()).problems(&["trn"]);
        strict("PATCH", &created.path(), update.with(F::sex, "77")).problems(&["sex", "trn"]);
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn repeated_request_and_batch_item_get_the_same_warning() {
    every_version(|api| {
        let body = api.example().with_key("trn", "1234567");
        let send = || {
            let request = api.request("POST", "/trainees").json(body.clone());
            request.header("Idempotency-Key", "first").send().is(201)
        };
        let warning = format!("299 - \"trn is ignored: it {NO_INPUT}\"");
        for _ in 0..2 {
            assert_eq!(send().warnings(), [warning.as_str()]);
        }
        let body: Value = body.with(F::last_name, "Other").into();
        let item = json!({ "idempotency_key": "item", "data": body["data"] });
        let batch = |prefer: &str| {
            let request = api.request("POST", "/trainees/batch");
            let request = request.json(json!([item]));
            let reply = request.header("Prefer", prefer).send().is(200);
            reply.data()[0].clone()
        };
        assert_eq!(batch("handling=strict")["status"], 422);
        for _ in 0..2 {
            let result = batch("handling=lenient");
            assert_eq!(result["status"], 201);
            assert_eq!(
                result["warnings"],
                json!([format!("trn is ignored: it {NO_INPUT}")])
            );
        }
    });
}

#[test]
fn record_sent_back_with_other_content_is_named() {
    every_version(|api| {
        let created = api.create(api.example());
        let whole = || -> Value { created.body().into() };
        let mut degree = whole();
        degree["data"]["degrees"][0]["subject"] = json!("000000");
        let mut placement = whole();
        placement["data"]["placements"] = json!([]);
        for (body, name) in [(degree, "degrees"), (placement, "placements")] {
            let reply = api.send("PATCH", &created.path(), body.clone()).is(200);
            let expected = format!("299 - \"{name} {USE_ENDPOINT}\"");
            assert_eq!(reply.warnings(), [expected.as_str()]);
            let strict = api.request("PATCH", &created.path()).json(body);
            let strict = strict.header("Prefer", "handling=strict").send();
            strict.problems(&[name]);
        }
    });
}
