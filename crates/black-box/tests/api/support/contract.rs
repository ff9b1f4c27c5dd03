//! Holds every reply against the OpenAPI documents of its version.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use adapter_kit::PageMember;
use domain::Lists;
use http_kit::paths::OpenApiDocument;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::client::Response;
use super::common_form;

/// The records of replies: a field that the document does not name must not be there.
const RECORDS: [&str; 13] = [
    "Trainee",
    "TraineeInList",
    "Placement",
    "PlacementOfTrainee",
    "Degree",
    "Page",
    "Account",
    "Usage",
    "Readiness",
    "VersionUsage",
    "SandboxReset",
    "Change",
    "Error",
];

/// The document of a version, with the validators that were needed so far.
pub(crate) struct Contract {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// By the label of the version.
type Contracts = LazyLock<HashMap<String, Contract>>;

static VERSION_3_1: Contracts = LazyLock::new(|| contracts(OpenApiDocument::Version31));
static VERSION_3_0: Contracts = LazyLock::new(|| contracts(OpenApiDocument::Version30));

fn contracts(document: OpenApiDocument) -> HashMap<String, Contract> {
    let contract = |served| {
        let text =
            gateway::endpoints::openapi::written(served, document, Lists::embedded()).unwrap();
        let mut document = serde_json::from_str(&text).unwrap();
        nullable_as_type(&mut document);
        Contract {
            document,
            validators: Mutex::default(),
        }
    };
    versions::all()
        .iter()
        .map(|served| (served.version.label.to_string(), contract(served)))
        .collect()
}

/// Rewrites `nullable: true` of OpenAPI 3.0 to a type, as the validator reads it.
fn nullable_as_type(part: &mut Value) {
    match part {
        Value::Object(members) => {
            if members.remove("nullable") == Some(json!(true)) {
                members["type"] = json!([members["type"], "null"]);
            }
            members.values_mut().for_each(nullable_as_type);
        }
        Value::Array(items) => items.iter_mut().for_each(nullable_as_type),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Contract {
    /// The contract of a version.
    pub(crate) fn find(label: &str) -> Option<&'static Self> {
        VERSION_3_1.get(label)
    }

    /// The contract of a version in OpenAPI 3.0.
    pub(crate) fn find_version_3_0(label: &str) -> Option<&'static Self> {
        VERSION_3_0.get(label)
    }

    /// The document.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    /// What is wrong with a value by the schema at a place of the document.
    pub(crate) fn faults(&self, pointer: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(pointer);
        validator
            .iter_errors(value)
            .map(|fault| format!("{} {fault}", fault.instance_path()))
            .collect()
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let validator = validators.entry(pointer.to_owned()).or_insert_with(|| {
            let mut components = self.document["components"].clone();
            for record in RECORDS {
                if let Some(schema) = components["schemas"].get_mut(record) {
                    schema["additionalProperties"] = json!(false);
                }
            }
            let mut schema = self
                .document
                .pointer(pointer)
                .unwrap_or_else(|| panic!("no {pointer}"))
                .clone();
            schema["components"] = components;
            Arc::new(
                jsonschema::draft202012::options()
                    .should_validate_formats(true)
                    .build(&schema)
                    .unwrap(),
            )
        });
        Arc::clone(validator)
    }

    /// The path of the document that a path of a request stands for: one that has the method, the
    /// same text before a pattern.
    fn template(&self, method: &str, path: &str) -> Option<&str> {
        let segments: Vec<&str> = path.split('/').collect();
        let fits = |template: &&String| {
            let named: Vec<&str> = template.split('/').collect();
            named.len() == segments.len()
                && named
                    .iter()
                    .zip(&segments)
                    .all(|(name, segment)| name == segment || name.starts_with('{'))
        };
        let paths = self.document["paths"].as_object().unwrap();
        let fitting = paths
            .keys()
            .filter(fits)
            .filter(|template| paths[*template].get(method).is_some());
        fitting
            .min_by_key(|template| template.as_str() != path)
            .map(String::as_str)
    }
}

/// A request, as far as it matters for what it is answered.
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Whether a generated client can send it: it asks for no other form of errors, and sends no
    /// unknown names in a query.
    pub(crate) by_generated_client: bool,
}

/// Checks that a reply is one that the documents of its version describe.
#[track_caller]
pub(crate) fn check(sent: &Sent, response: &Response) {
    let Some((label, path)) = sent
        .path
        .strip_prefix("/api/")
        .and_then(|rest| rest.split_once('/'))
    else {
        return;
    };
    let Some(contract) = Contract::find(label) else {
        return;
    };
    let method = sent.method.to_ascii_lowercase();
    let path = format!("/{path}");
    let Some(template) = contract.template(&method, &path) else {
        return;
    };
    // What a path is not asked, and what every path is asked, is not described for each; neither is
    // a version that is not served.
    let message = response
        .body
        .pointer("/errors/0/message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let nowhere = message == "not found"
        || ["not found; ", "no version is called "]
            .iter()
            .any(|start| message.starts_with(start));
    if response.status == 404 && nowhere {
        return;
    }
    let reply = format!(
        "/paths/{}/{method}/responses/{}",
        template.replace('/', "~1"),
        response.status
    );
    let described = contract
        .document
        .pointer(&reply)
        .unwrap_or_else(|| panic!("not described: {reply} {response:?}"));
    if described.get("content").is_none() {
        return;
    }
    let media_type = response
        .header("content-type")
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    let schema = format!("{reply}/content/{}/schema", media_type.replace('/', "~1"));
    let mut body = response.written.clone();
    // What is said of a page that was reached by a cursor stands in the description alone.
    let version = common_form::version_of(&sent.path).unwrap();
    let (name, members) = version.wire.envelope.page;
    let page = if name.is_empty() {
        Some(&mut body)
    } else {
        body.get_mut(name)
    };
    if let Some(page) = page
        .filter(|_| template == "/trainees")
        .and_then(Value::as_object_mut)
    {
        let of_number = [PageMember::Number, PageMember::Pages, PageMember::Total];
        let counted: Vec<_> = members
            .iter()
            .filter(|(_, member)| of_number.contains(member))
            .collect();
        if counted.iter().all(|(name, _)| !page.contains_key(*name)) {
            page.extend(
                counted
                    .iter()
                    .map(|(name, _)| ((*name).to_owned(), json!(1))),
            );
        }
    }
    let faults = contract.faults(&schema, &body);
    assert!(
        faults.is_empty(),
        "{reply}: {faults:#?}\n{:#}",
        response.written
    );

    let Some(contract) = Contract::find_version_3_0(label).filter(|_| sent.by_generated_client)
    else {
        return;
    };
    let faults = contract.faults(&schema, &response.written);
    assert!(
        faults.is_empty(),
        "in OpenAPI 3.0, {reply}: {faults:#?}\n{:#}",
        response.written
    );
}
