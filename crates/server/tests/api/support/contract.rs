//! Holds every reply against the OpenAPI document of its version.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use domain::Lists;
use jsonschema::Validator;
use serde_json::{Value, json};
use server::versions;

use super::client::Response;

/// The records of replies: a field that the document does not name must not be there.
const RECORDS: [&str; 11] = [
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
];

/// The document of a version, with the validators that were needed so far.
pub(crate) struct Contract {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

static CONTRACTS: LazyLock<HashMap<String, Contract>> = LazyLock::new(|| {
    versions::all()
        .iter()
        .map(|served| {
            let document =
                serde_json::from_str(&server::endpoints::openapi::written(served, Lists::embedded())).unwrap();
            (served.version.label.to_string(), Contract { document, validators: Mutex::default() })
        })
        .collect()
});

impl Contract {
    /// The contract of a version.
    pub(crate) fn of(label: &str) -> Option<&'static Self> {
        CONTRACTS.get(label)
    }

    /// The document.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    /// What is wrong with a value by the schema at a place of the document.
    pub(crate) fn faults(&self, pointer: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(pointer);
        validator.iter_errors(value).map(|fault| format!("{} {fault}", fault.instance_path())).collect()
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let validator = validators.entry(pointer.to_owned()).or_insert_with(|| {
            let mut components = self.document["components"].clone();
            for record in RECORDS {
                components["schemas"][record]["additionalProperties"] = json!(false);
            }
            let mut schema = self.document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}")).clone();
            schema["components"] = components;
            Arc::new(jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap())
        });
        Arc::clone(validator)
    }

    /// The path of the document that a path of a request stands for: one that has the method, the same text before a
    /// pattern.
    fn template(&self, method: &str, path: &str) -> Option<&str> {
        let segments: Vec<&str> = path.split('/').collect();
        let fits = |template: &&String| {
            let named: Vec<&str> = template.split('/').collect();
            named.len() == segments.len()
                && named.iter().zip(&segments).all(|(name, segment)| name == segment || name.starts_with('{'))
        };
        let paths = self.document["paths"].as_object().unwrap();
        let fitting = paths.keys().filter(fits).filter(|template| paths[*template].get(method).is_some());
        fitting.min_by_key(|template| template.as_str() != path).map(String::as_str)
    }
}

/// Checks that a reply is one that the document of its version describes.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, response: &Response) {
    let Some((label, path)) = path.strip_prefix("/api/").and_then(|rest| rest.split_once('/')) else { return };
    let Some(contract) = Contract::of(label) else { return };
    let method = method.to_ascii_lowercase();
    let Some(template) = contract.template(&method, &format!("/{path}")) else { return };
    let place = format!("/paths/{}/{method}", template.replace('/', "~1"));
    // What a path is not asked, and what every path is asked, is not described for each; neither is a version that is
    // not served.
    let message = response.body.pointer("/errors/0/message").and_then(Value::as_str).unwrap_or_default();
    let nowhere = response.status == 404 && (message == "not found" || message.starts_with("not found; "));
    if nowhere {
        return;
    }
    let reply = format!("{place}/responses/{}", response.status);
    let described = contract.document.pointer(&reply).unwrap_or_else(|| panic!("not described: {reply} {response:?}"));
    if described.get("content").is_some() {
        let mut body = response.body.clone();
        // What is said of a page that was reached by a cursor stands in the description alone.
        if body.pointer("/meta").and_then(Value::as_object).is_some_and(|meta| meta.keys().eq(["per_page"])) {
            body["meta"]["current_page"] = json!(1);
            body["meta"]["total_pages"] = json!(1);
            body["meta"]["total_count"] = json!(1);
        }
        let faults = contract.faults(&format!("{reply}/content/application~1json/schema"), &body);
        assert!(faults.is_empty(), "{reply}: {faults:#?}\n{:#}", response.body);
    }
}
