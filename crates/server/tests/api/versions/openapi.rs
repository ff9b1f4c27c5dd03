//! The OpenAPI document of each version: it is what the server does.
//!
//! Every reply that any test of this suite receives is held against it besides ([`crate::api::support::contract`]).

use std::collections::BTreeSet;

use adapter_kit::Endpoint;
use fixtures::example::AFTERWARDS;
use serde_json::{Value, json};
use server::versions;
use version_tools::openapi::examples;

use crate::api::support::contract::Contract;
use crate::api::support::versions::methods;
use crate::api::support::{Api, Register, Response, every_version};

/// A record of each kind, for paths that name one.
struct Known {
    trainee_id: String,
    placement_id: String,
    degree_id: String,
}

impl Known {
    fn path(&self, endpoint: Endpoint) -> String {
        endpoint
            .path()
            .replace("{trainee_id}", &self.trainee_id)
            .replace("{placement_id}", &self.placement_id)
            .replace("{degree_id}", &self.degree_id)
    }
}

fn example(api: &Api<'_>, endpoint: Endpoint) -> Option<Value> {
    examples::request(api.version, endpoint)
}

/// Registers the example on the day after which everything that it does has happened.
fn known(api: &Api<'_>) -> Known {
    api.register.clock.set(&format!("{AFTERWARDS}T09:00:00Z"));
    let created = api.send("POST", "/trainees", example(api, Endpoint::CreateTrainee).unwrap()).is(201);
    let id = |pointer: &str| created.body.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    Known {
        trainee_id: id("/data/trainee_id"),
        placement_id: id("/data/placements/0/placement_id"),
        degree_id: id("/data/degrees/0/degree_id"),
    }
}

fn documented(api: &Api<'_>) -> &'static Contract {
    Contract::of(&api.version.label.to_string()).unwrap()
}

fn place(endpoint: Endpoint, method: &str) -> String {
    format!("/paths/{}/{}", endpoint.path().replace('/', "~1"), method.to_lowercase())
}

fn in_document<'a>(contract: &'a Contract, pointer: &str) -> &'a Value {
    contract.document().pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"))
}

#[test]
fn everyone_can_read_the_document_of_a_version() {
    let register = Register::start();
    for served in versions::all().iter() {
        let label = served.version.label.to_string();
        let path = format!("/api/{label}/openapi.json");
        let reply = register.request("GET", &path).send().is(200);
        assert_eq!(&reply.body, Contract::of(&label).unwrap().document());
        assert_eq!(reply.body.pointer("/info/version"), Some(&json!(label)));
        let tag = reply.header("etag").unwrap();
        register.request("GET", &path).header("If-None-Match", tag).send().is(304);
        register.request("HEAD", &path).send().is(200);
        assert!(register.request("POST", &path).send().error(405, "MethodNotAllowed").contains("GET"));
    }
}

#[test]
fn every_endpoint_is_described_and_no_other() {
    every_version(|api| {
        let contract = documented(api);
        let paths = in_document(contract, "/paths").as_object().unwrap();
        let described: BTreeSet<String> = paths
            .iter()
            .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| format!("{method} {path}")))
            .collect();
        let endpoints: BTreeSet<String> = api
            .version
            .endpoints
            .all()
            .flat_map(|endpoint| methods(endpoint).iter().map(move |method| (endpoint, method.to_lowercase())))
            .map(|(endpoint, method)| format!("{method} {}", endpoint.path()))
            .collect();
        assert_eq!(described, endpoints);
        for endpoint in api.version.endpoints.all() {
            for method in methods(endpoint) {
                let operation = in_document(contract, &place(endpoint, method));
                let deprecated = api.version.endpoints.deprecation(endpoint).is_some();
                assert_eq!(operation.get("deprecated").is_some_and(|flag| flag == true), deprecated, "{endpoint:?}");
            }
        }
    });
}

#[test]
fn operations_have_names_of_their_own_and_links_lead_to_them() {
    every_version(|api| {
        let document = documented(api).document();
        let operations = document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
        let operations: Vec<&Value> = operations.map(|(_, operation)| operation).collect();
        let names: Vec<&str> = operations.iter().map(|operation| operation["operationId"].as_str().unwrap()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        let replies = operations.iter().flat_map(|operation| operation["responses"].as_object().unwrap().values());
        let links = replies.filter_map(|reply| reply.get("links")?.as_object()).flat_map(|links| links.values());
        let targets: Vec<&str> = links.map(|link| link["operationId"].as_str().unwrap()).collect();
        assert!(targets.len() > 10 && targets.iter().all(|target| names.contains(target)), "{targets:?}");
    });
}

#[test]
fn the_server_accepts_every_example_of_a_request() {
    let mut accepted = 0;
    for served in versions::all().iter() {
        for endpoint in served.version.endpoints.all().filter(|endpoint| *endpoint != Endpoint::CreateTrainee) {
            for method in methods(endpoint) {
                let register = Register::start();
                let api = register.api(served.version);
                let Some(body) = example(&api, endpoint) else { continue };
                let reply = api.send(method, &known(&api).path(endpoint), body.clone());
                assert!((200..300).contains(&reply.status), "{endpoint:?} {}: {:#}", served.version.label, reply.body);
                assert_eq!(reply.warnings(), Vec::<&str>::new());
                let schema = format!("{}/requestBody/content/application~1json", place(endpoint, method));
                assert_eq!(in_document(documented(&api), &format!("{schema}/example")), &body);
                let faults = documented(&api).faults(&format!("{schema}/schema"), &body);
                assert_eq!(faults, Vec::<String>::new(), "{endpoint:?}");
                accepted += 1;
            }
        }
    }
    assert!(accepted >= 10 * versions::all().iter().count(), "{accepted}");
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
                    let Some(example) = reply.pointer("/content/application~1json/example") else { continue };
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

/// Values that no schema of a request allows somewhere must be refused there.
#[test]
fn what_the_schema_of_a_request_forbids_is_refused() {
    let rubbish = [json!(true), json!({ "a": 1 }), json!(1.5), json!(["a", 1]), json!("x".repeat(600)), json!("")];
    let mut refused = 0;
    every_version(|api| {
        let known = known(api);
        let contract = documented(api);
        for endpoint in api.version.endpoints.all() {
            let Some(body) = example(api, endpoint) else { continue };
            let method = methods(endpoint)[0];
            let schema = format!("{}/requestBody/content/application~1json/schema", place(endpoint, method));
            let (item, record) = if endpoint.row().is_batch() { ("/items", "/0/data") } else { ("", "/data") };
            let name = in_document(contract, &format!("{schema}{item}/properties/data/$ref")).as_str().unwrap();
            let properties = in_document(contract, &format!("{}/properties", name.trim_start_matches('#')));
            for field in properties.as_object().unwrap().keys() {
                for value in &rubbish {
                    let mut body = body.clone();
                    body.pointer_mut(record).unwrap()[field] = value.clone();
                    if contract.faults(&schema, &body).is_empty() {
                        continue;
                    }
                    let reply: Response =
                        api.request(method, &known.path(endpoint)).json(body).header("Prefer", "validate-only").send();
                    let of_item = reply.body.pointer("/data/0/status").and_then(Value::as_u64);
                    let status = of_item.unwrap_or_else(|| reply.status.into());
                    assert_eq!(status, 422, "{endpoint:?} {field} {value}: {:#}", reply.body);
                    refused += 1;
                }
            }
        }
    });
    assert!(refused > 1_000, "{refused}");
}

/// The filters that are described are those that are read: each refuses by its name what its schema forbids.
#[test]
fn every_filter_that_is_described_is_read() {
    every_version(|api| {
        let parameters = in_document(documented(api), "/paths/~1trainees/get/parameters").as_array().unwrap();
        let filters = parameters.iter().filter(|parameter| parameter["in"] == "query");
        let names: Vec<&str> = filters.map(|filter| filter["name"].as_str().unwrap()).collect();
        // A page number that is none falls back, and a cursor is opened when everything else is right.
        let is_read_later = |name: &&str| name.contains("page") || *name == "cursor";
        let (later, refused): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_read_later(name));
        assert_eq!((later.len(), refused.len()), (3, 6));
        let query: Vec<String> = names.iter().map(|name| format!("{name}=rubbish")).collect();
        let reply = api.get(&format!("/trainees?{}", query.join("&"))).is(422);
        let told: BTreeSet<&str> = reply.body["errors"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(told, refused.into_iter().collect());
    });
}
