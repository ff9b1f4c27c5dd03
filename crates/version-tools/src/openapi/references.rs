//! References to schemas, and the removal of schemas without one.

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::OpenApi;

/// The member of a schema that refers to another one.
pub(super) const REFERENCE: &str = "$ref";
/// The prefix of references to schemas.
pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// Returns the name of the schema that a part of a document refers to.
pub(super) fn referenced(part: &Value) -> Option<&str> {
    part.get(REFERENCE)?.as_str()?.strip_prefix(SCHEMAS)
}

/// Returns the document without unused schemas.
pub(super) fn without_unused(mut document: OpenApi) -> OpenApi {
    let used = find_used(&serde_json::to_value(&document).unwrap_or_default());
    if let Some(components) = &mut document.components {
        components.schemas.retain(|name, _| used.contains(name));
    }
    document
}

/// Returns the names of the schemas that the paths of a document use, directly or through other
/// schemas.
pub(super) fn find_used(document: &Value) -> BTreeSet<String> {
    let schemas = document.pointer("/components/schemas");
    let mut used = BTreeSet::new();
    let mut unvisited = vec![&document["paths"]];
    while let Some(part) = unvisited.pop() {
        if let Some(name) = referenced(part)
            && used.insert(name.to_owned())
        {
            unvisited.extend(schemas.and_then(|schemas| schemas.get(name)));
        }
        match part {
            Value::Object(members) => unvisited.extend(members.values()),
            Value::Array(items) => unvisited.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    used
}
