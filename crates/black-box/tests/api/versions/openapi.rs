//! The OpenAPI document of each version: it is what the server does.
//!
//! Every reply in this suite is also checked against it
//! ([`crate::api::support::contract`]).

use std::collections::BTreeSet;

use adapter_kit::{ApiVersion, Endpoint};
use chrono::Utc;
use domain::fields::value::Date;
use fixtures::example::AFTERWARDS;
use serde_json::{Value, json};
use version_tools::openapi::examples;

use crate::api::support::contract::Contract;
use crate::api::support::shown::path_of;
use crate::api::support::versions::{method_names, methods};
use crate::api::support::{Api, Register, Response, TextChecks as _, every_version};

fn example(api: &Api<'_>, endpoint: Endpoint) -> Option<Value> {
    examples::request(api.version, endpoint)
}

/// Registers the example on a day. It has a record of each kind, for paths that name one.
fn known_on(today: Date, api: &Api<'_>) -> Value {
    api.register.clock.set(&format!("{today}T09:00:00Z"));
    let example = example(api, Endpoint::CreateTrainee).unwrap();
    let created = api.send("POST", "/trainees", example).is(201);
    created.data().clone()
}

fn documented(api: &Api<'_>) -> &'static Contract {
    Contract::find(&api.version.label.to_string()).unwrap()
}

/// The place of an operation in the document. `method` is a usual method of the endpoint.
fn place(version: &ApiVersion, endpoint: Endpoint, method: &str) -> String {
    let row = version.row(endpoint);
    let method = if row.method == endpoint.method() {
        method
    } else {
        method_names(row.method)[0]
    };
    format!(
        "/paths/{}/{}",
        row.path.replace('/', "~1"),
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
        register
            .request("POST", &path)
            .send()
            .error(405, "MethodNotAllowed")
            .shows(&["GET"]);
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
                let row = api.version.row(endpoint);
                method_names(row.method)
                    .iter()
                    .map(|method| format!("{} {}", method.to_lowercase(), row.path))
            })
            .collect();
        assert_eq!(described, endpoints);
        for endpoint in api.version.endpoints.all() {
            for method in methods(endpoint) {
                let operation = in_document(contract, &place(api.version, endpoint, method));
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
                let path = path_of(endpoint, &known_on(today, &api));
                let reply = api.send(method, &path, body.clone());
                assert!(
                    (200..300).contains(&reply.status),
                    "{endpoint:?} {}: {:#}",
                    served.version.label,
                    reply.body
                );
                assert_eq!(reply.warnings(), Vec::<&str>::new());
                let schema = format!(
                    "{}/requestBody/content/application~1json",
                    place(api.version, endpoint, method)
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
                let place = format!("{}/responses", place(api.version, endpoint, method));
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
        let known = known_on(AFTERWARDS, api);
        let contract = documented(api);
        for endpoint in api.version.endpoints.all() {
            let Some(body) = example(api, endpoint) else {
                continue;
            };
            let method = methods(endpoint)[0];
            let schema = format!(
                "{}/requestBody/content/application~1json/schema",
                place(api.version, endpoint, method)
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
                        .request(method, &path_of(endpoint, &known))
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

#[test]
fn document_in_openapi_3_0_has_no_schema_of_3_1() {
    let register = Register::start();
    for served in versions::all().iter() {
        let path = format!("/api/{}/openapi-3.0.json", served.version.label);
        let document = register.request("GET", &path).send().is(200).body;
        assert_eq!(document["openapi"], "3.0.3");
        let text = document.to_string();
        text.lacks(&["\"type\":[", "\"type\":\"null\"", "\"allOf\"", "\"const\""]);
    }
}

#[test]
fn former_address_of_client_document_redirects_to_the_document() {
    let register = Register::start();
    for served in versions::all().iter() {
        let label = served.version.label;
        let reply = register
            .request("GET", &format!("/api/{label}/openapi-client.json"))
            .page()
            .is(308);
        let document = format!("/api/{label}/openapi.json");
        assert_eq!(reply.header("location"), Some(document.as_str()));
    }
}
