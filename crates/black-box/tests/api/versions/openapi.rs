//! The OpenAPI document of each version: it is what the server does.
//!
//! Every reply in this suite is also checked against it
//! ([`crate::api::support::contract`]).

use std::collections::BTreeSet;

use adapter_kit::Endpoint;
use chrono::Utc;
use domain::fields::value::Date;
use fixtures::example::AFTERWARDS;
use serde_json::{Value, json};
use version_tools::openapi::examples;

use crate::api::support::contract::Contract;
use crate::api::support::shown::path_of;
use crate::api::support::versions::methods;
use crate::api::support::{Api, Register, Response, every_version};

/// A record of each kind, for paths that name one.
struct Known(Value);

impl Known {
    fn path(&self, endpoint: Endpoint) -> String {
        path_of(endpoint, &self.0)
    }
}

fn example(api: &Api<'_>, endpoint: Endpoint) -> Option<Value> {
    examples::request(api.version, endpoint)
}

/// Registers the example on the first day that accepts all its parts.
fn known(api: &Api<'_>) -> Known {
    known_on(AFTERWARDS, api)
}

/// Registers the example on a day.
fn known_on(today: Date, api: &Api<'_>) -> Known {
    api.register.clock.set(&format!("{today}T09:00:00Z"));
    let created = api
        .send(
            "POST",
            "/trainees",
            example(api, Endpoint::CreateTrainee).unwrap(),
        )
        .is(201);
    Known(created.data().clone())
}

fn documented(api: &Api<'_>) -> &'static Contract {
    Contract::find(&api.version.label.to_string()).unwrap()
}

fn place(endpoint: Endpoint, method: &str) -> String {
    format!(
        "/paths/{}/{}",
        endpoint.path().replace('/', "~1"),
        method.to_lowercase()
    )
}

fn in_document<'a>(contract: &'a Contract, pointer: &str) -> &'a Value {
    contract
        .document()
        .pointer(pointer)
        .unwrap_or_else(|| panic!("no {pointer}"))
}

#[test]
fn everyone_can_read_the_document_of_a_version() {
    let register = Register::start();
    for served in versions::all().iter() {
        let label = served.version.label.to_string();
        let path = format!("/api/{label}/openapi.json");
        let reply = register.request("GET", &path).send().is(200);
        assert_eq!(&reply.body, Contract::find(&label).unwrap().document());
        assert_eq!(reply.body.pointer("/info/version"), Some(&json!(label)));
        let tag = reply.header("etag").unwrap();
        register
            .request("GET", &path)
            .header("If-None-Match", tag)
            .send()
            .is(304);
        register.request("HEAD", &path).send().is(200);
        assert!(
            register
                .request("POST", &path)
                .send()
                .error(405, "MethodNotAllowed")
                .contains("GET")
        );
    }
}

#[test]
fn every_endpoint_is_described_and_no_other() {
    every_version(|api| {
        let contract = documented(api);
        let paths = in_document(contract, "/paths").as_object().unwrap();
        let described: BTreeSet<String> = paths
            .iter()
            .flat_map(|(path, item)| {
                item.as_object()
                    .unwrap()
                    .keys()
                    .map(move |method| format!("{method} {path}"))
            })
            .collect();
        let endpoints: BTreeSet<String> = api
            .version
            .endpoints
            .all()
            .flat_map(|endpoint| {
                methods(endpoint)
                    .iter()
                    .map(move |method| (endpoint, method.to_lowercase()))
            })
            .map(|(endpoint, method)| format!("{method} {}", endpoint.path()))
            .collect();
        assert_eq!(described, endpoints);
        for endpoint in api.version.endpoints.all() {
            for method in methods(endpoint) {
                let operation = in_document(contract, &place(endpoint, method));
                let deprecated = api.version.endpoints.deprecation(endpoint).is_some();
                assert_eq!(
                    operation.get("deprecated").is_some_and(|flag| flag == true),
                    deprecated,
                    "{endpoint:?}"
                );
            }
        }
    });
}

#[test]
fn operations_have_unique_names_and_links_lead_to_them() {
    every_version(|api| {
        let document = documented(api).document();
        let operations = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|item| item.as_object().unwrap());
        let operations: Vec<&Value> = operations.map(|(_, operation)| operation).collect();
        let names: Vec<&str> = operations
            .iter()
            .map(|operation| operation["operationId"].as_str().unwrap())
            .collect();
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            names.len(),
            "{names:?}"
        );
        let replies = operations
            .iter()
            .flat_map(|operation| operation["responses"].as_object().unwrap().values());
        let links = replies
            .filter_map(|reply| reply.get("links")?.as_object())
            .flat_map(|links| links.values());
        let targets: Vec<&str> = links
            .map(|link| link["operationId"].as_str().unwrap())
            .collect();
        assert!(
            targets.len() > 10 && targets.iter().all(|target| names.contains(target)),
            "{targets:?}"
        );
    });
}

#[test]
fn the_server_accepts_every_example_of_a_request() {
    accepts_every_example_on(AFTERWARDS);
}

/// A clock that is behind counts as the first day that accepts the examples.
#[test]
fn the_server_accepts_every_example_of_a_request_today() {
    accepts_every_example_on(Utc::now().date_naive().max(AFTERWARDS));
}

fn accepts_every_example_on(today: Date) {
    let mut accepted = 0;
    for served in versions::all().iter() {
        for endpoint in served
            .version
            .endpoints
            .all()
            .filter(|endpoint| *endpoint != Endpoint::CreateTrainee)
        {
            for method in methods(endpoint) {
                let register = Register::start();
                let api = register.api(served.version);
                let Some(body) = example(&api, endpoint) else {
                    continue;
                };
                let reply = api.send(method, &known_on(today, &api).path(endpoint), body.clone());
                assert!(
                    (200..300).contains(&reply.status),
                    "{endpoint:?} {}: {:#}",
                    served.version.label,
                    reply.body
                );
                assert_eq!(reply.warnings(), Vec::<&str>::new());
                let schema = format!(
                    "{}/requestBody/content/application~1json",
                    place(endpoint, method)
                );
                assert_eq!(
                    in_document(documented(&api), &format!("{schema}/example")),
                    &body
                );
                let faults = documented(&api).faults(&format!("{schema}/schema"), &body);
                assert_eq!(faults, Vec::<String>::new(), "{endpoint:?}");
                accepted += 1;
            }
        }
    }
    assert!(
        accepted >= 10 * versions::all().iter().count(),
        "{accepted}"
    );
}

#[test]
fn every_example_of_a_reply_is_of_its_schema() {
    let mut seen = 0;
    every_version(|api| {
        let contract = documented(api);
        for endpoint in api.version.endpoints.all() {
            for method in methods(endpoint) {
                let place = format!("{}/responses", place(endpoint, method));
                for (status, reply) in in_document(contract, &place).as_object().unwrap() {
                    let Some(example) = reply.pointer("/content/application~1json/example") else {
                        continue;
                    };
                    let schema = format!("{place}/{status}/content/application~1json/schema");
                    let faults = contract.faults(&schema, example);
                    assert_eq!(faults, Vec::<String>::new(), "{place} {status}");
                    seen += 1;
                }
            }
        }
    });
    assert!(seen > 40, "{seen}");
}

/// The schema of the record in the body of a request, and where in a body the record is.
fn record_of<'a>(
    contract: &'a Contract,
    endpoint: Endpoint,
    schema: &str,
) -> (&'a Value, &'static str) {
    let referred = |at: &str| {
        in_document(contract, at)
            .as_str()
            .unwrap()
            .trim_start_matches('#')
    };
    if endpoint.row().is_batch() {
        let item = referred(&format!("{schema}/items/$ref"));
        return (
            in_document(contract, referred(&format!("{item}/properties/data/$ref"))),
            "/0/data",
        );
    }
    (
        in_document(
            contract,
            referred(&format!("{schema}/properties/data/$ref")),
        ),
        "/data",
    )
}

/// Values that no schema of a request allows somewhere must be refused there.
#[test]
fn what_the_schema_of_a_request_forbids_is_refused() {
    let rubbish = [
        json!(true),
        json!({ "a": 1 }),
        json!(1.5),
        json!(["a", 1]),
        json!("x".repeat(600)),
        json!(""),
    ];
    let mut refused = 0;
    every_version(|api| {
        let known = known(api);
        let contract = documented(api);
        for endpoint in api.version.endpoints.all() {
            let Some(body) = example(api, endpoint) else {
                continue;
            };
            let method = methods(endpoint)[0];
            let schema = format!(
                "{}/requestBody/content/application~1json/schema",
                place(endpoint, method)
            );
            let (of_record, record) = record_of(contract, endpoint, &schema);
            for field in of_record["properties"].as_object().unwrap().keys() {
                for value in &rubbish {
                    let mut body = body.clone();
                    body.pointer_mut(record).unwrap()[field] = value.clone();
                    if contract.faults(&schema, &body).is_empty() {
                        continue;
                    }
                    let reply: Response = api
                        .request(method, &known.path(endpoint))
                        .json(body)
                        .header("Prefer", "validate-only")
                        .send();
                    let of_item = reply.body.pointer("/data/0/status").and_then(Value::as_u64);
                    let status = of_item.unwrap_or_else(|| reply.status.into());
                    assert_eq!(
                        status, 422,
                        "{endpoint:?} {field} {value}: {:#}",
                        reply.body
                    );
                    refused += 1;
                }
            }
        }
    });
    assert!(refused > 1_000, "{refused}");
}

/// The filters that are described are those that are read: each refuses by its name what its schema
/// forbids.
#[test]
fn every_filter_that_is_described_is_read() {
    every_version(|api| {
        let parameters = in_document(documented(api), "/paths/~1trainees/get/parameters")
            .as_array()
            .unwrap();
        let filters = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query");
        let names: Vec<&str> = filters
            .map(|filter| filter["name"].as_str().unwrap())
            .collect();
        // A page number that is none falls back, and a cursor is opened when everything else is
        // right.
        let is_read_later = |name: &&str| name.contains("page") || *name == "cursor";
        let (later, refused): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| is_read_later(name));
        assert_eq!((later.len(), refused.len()), (3, 6));
        let query: Vec<String> = names.iter().map(|name| format!("{name}=rubbish")).collect();
        let reply = api.get(&format!("/trainees?{}", query.join("&"))).is(422);
        let told: BTreeSet<&str> = reply.body["errors"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(told, refused.into_iter().collect());
    });
}

/// The schema of a request in the document for generated clients, with a body that is valid, and
/// where the record is in it.
struct Sendable {
    method: &'static str,
    path: String,
    schema: String,
    body: Value,
    record: &'static str,
    properties: serde_json::Map<String, Value>,
    required: Vec<String>,
}

/// Everything that a generated client of the version can send.
fn sendable(api: &Api<'_>, contract: &Contract) -> Vec<Sendable> {
    let known = known(api);
    let of = |endpoint: Endpoint| {
        let body = example(api, endpoint)?;
        let method = if methods(endpoint).contains(&"PATCH") {
            "PATCH"
        } else {
            methods(endpoint)[0]
        };
        let schema = format!(
            "{}/requestBody/content/application~1json/schema",
            place(endpoint, method)
        );
        let (of_record, record) = record_of(contract, endpoint, &schema);
        let required = of_record
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        Some(Sendable {
            method,
            path: known.path(endpoint),
            schema,
            body,
            record,
            properties: of_record["properties"].as_object().unwrap().clone(),
            required: required
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
        })
    };
    api.version.endpoints.all().filter_map(of).collect()
}

/// Values that a schema of the document for generated clients allows: every code, the bounds of
/// texts, null.
fn allowed(contract: &Contract, schema: &Value) -> Vec<Value> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return allowed(
            contract,
            in_document(contract, reference.trim_start_matches('#')),
        );
    }
    if let Some(codes) = schema.get("enum").and_then(Value::as_array) {
        return codes.clone();
    }
    if let Some(forms) = schema
        .get("anyOf")
        .or(schema.get("allOf"))
        .and_then(Value::as_array)
    {
        return forms
            .iter()
            .flat_map(|form| allowed(contract, form))
            .collect();
    }
    let types = &schema["type"];
    let types = types
        .as_array()
        .map_or_else(|| vec![types], |types| types.iter().collect());
    let types = types.into_iter().filter_map(Value::as_str);
    let text = |length: &str| {
        schema
            .get(length)
            .and_then(Value::as_u64)
            .map(|count| "x".repeat(count as usize))
    };
    let of_type = |name: &str| match name {
        "null" => vec![Value::Null],
        "array" => {
            let items = allowed(contract, &schema["items"]);
            items.into_iter().map(|item| json!([item])).collect()
        }
        "string" if schema.get("format").is_some_and(|format| format == "date") => {
            vec![json!("2026-09-01")]
        }
        "string" if schema.get("pattern").is_some() => vec![json!("2019")],
        "string" => ["minLength", "maxLength"]
            .into_iter()
            .filter_map(text)
            .map(Value::from)
            .collect(),
        _ => Vec::new(),
    };
    types.flat_map(of_type).collect()
}

#[test]
fn what_a_generated_client_can_send_has_the_right_form() {
    let mut sent = 0;
    every_version(|api| {
        let label = api.version.label.to_string();
        let (complete, clients) = (documented(api), Contract::for_clients(&label).unwrap());
        for Sendable {
            method,
            path,
            schema,
            body,
            record,
            properties,
            ..
        } in sendable(api, clients)
        {
            for (field, of_field) in &properties {
                for value in allowed(clients, of_field) {
                    let mut body = body.clone();
                    body.pointer_mut(record).unwrap()[field] = value.clone();
                    assert_eq!(
                        clients.faults(&schema, &body),
                        Vec::<String>::new(),
                        "{path} {field} {value}"
                    );
                    assert_eq!(
                        complete.faults(&schema, &body),
                        Vec::<String>::new(),
                        "{path} {field} {value}"
                    );
                    let reply = api
                        .request(method, &path)
                        .json(body)
                        .header("Prefer", "validate-only")
                        .send();
                    let problems = reply
                        .body
                        .pointer("/data/0/errors")
                        .or(reply.body.get("errors"));
                    let codes = problems
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .map(|problem| &problem["code"]);
                    let malformed = ["wrong_type", "unknown_code", "too_long", "unknown_name"];
                    let codes: Vec<&Value> = codes
                        .filter(|code| malformed.iter().any(|name| code == name))
                        .collect();
                    // Of long lists no code is written out, so any text is of their form.
                    let is_coded = of_field.to_string().contains("$ref");
                    assert!(
                        codes.is_empty() || !is_coded,
                        "{path} {field} {value}: {:#}",
                        reply.body
                    );
                    sent += 1;
                }
            }
        }
    });
    assert!(sent > 500, "{sent}");
}

#[test]
fn what_a_generated_client_must_send_is_demanded() {
    let mut missed = 0;
    every_version(|api| {
        let clients = Contract::for_clients(&api.version.label.to_string()).unwrap();
        for Sendable {
            method,
            path,
            schema,
            body,
            record,
            required,
            ..
        } in sendable(api, clients)
        {
            for field in required {
                let mut body = body.clone();
                body.pointer_mut(record)
                    .unwrap()
                    .as_object_mut()
                    .unwrap()
                    .remove(&field);
                assert!(!clients.faults(&schema, &body).is_empty(), "{path} {field}");
                let reply = api
                    .request(method, &path)
                    .json(body)
                    .header("Prefer", "validate-only")
                    .send();
                let of_item = reply.body.pointer("/data/0/status").and_then(Value::as_u64);
                assert_eq!(
                    of_item.unwrap_or_else(|| reply.status.into()),
                    422,
                    "{path} {field}: {:#}",
                    reply.body
                );
                missed += 1;
            }
        }
    });
    assert!(missed > 60, "{missed}");
}

#[test]
fn documents_for_clients_say_each_thing_once() {
    for served in versions::all().iter() {
        let register = Register::start();
        let label = served.version.label.to_string();
        let [client, earlier] = ["openapi-client.json", "openapi-3.0.json"].map(|name| {
            register
                .request("GET", &format!("/api/{label}/{name}"))
                .send()
                .is(200)
                .body
        });
        assert_eq!(client["openapi"], "3.1.0");
        assert_eq!(earlier["openapi"], "3.0.3");
        let schemas = |document: &Value| -> BTreeSet<String> {
            document["components"]["schemas"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect()
        };
        assert!(schemas(&client).is_subset(&schemas(&earlier)));
        let mut lists = BTreeSet::new();
        for (name, schema) in client["components"]["schemas"].as_object().unwrap() {
            let Some(codes) = schema.get("enum") else {
                continue;
            };
            assert!(
                lists.insert(codes.to_string()),
                "{name} has the codes of another enumeration"
            );
        }
        for name in ["StudyMode", "TrainingRoute", "WithdrawalReason"] {
            assert!(
                client["components"]["schemas"][name]["description"].is_string(),
                "{name}"
            );
        }
        let identifier =
            &client["components"]["schemas"]["Trainee"]["properties"]["trainee_id"]["type"];
        assert_eq!(identifier, "string");
        let text = earlier.to_string();
        assert!(
            !text.contains("\"type\":[") && !text.contains("\"type\":\"null\""),
            "types of 3.1 in 3.0"
        );
    }
}
