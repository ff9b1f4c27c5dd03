//! Removes unused schemas from a document.

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::OpenApi;

use super::version_3_0::SCHEMAS;

/// Returns the document without unused schemas.
pub(super) fn removed(mut document: OpenApi) -> OpenApi {
    let Some(mut components) = document.components.take() else {
        return document;
    };
    let mut used = BTreeSet::new();
    collect(
        &serde_json::to_value(&document.paths).unwrap_or_default(),
        &mut used,
    );
    // A used schema can refer to further schemas.
    let mut unvisited: Vec<String> = used.iter().cloned().collect();
    while let Some(schema) = unvisited
        .pop()
        .and_then(|name| components.schemas.get(&name))
    {
        let mut inside = BTreeSet::new();
        collect(
            &serde_json::to_value(schema).unwrap_or_default(),
            &mut inside,
        );
        unvisited.extend(inside.into_iter().filter(|name| used.insert(name.clone())));
    }
    components.schemas.retain(|name, _| used.contains(name));
    document.components = Some(components);
    document
}

/// Collects the names of schemas referenced in a part of a document.
fn collect(part: &Value, names: &mut BTreeSet<String>) {
    match part {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            names.extend(
                reference
                    .and_then(|reference| reference.strip_prefix(SCHEMAS))
                    .map(str::to_owned),
            );
            members.values().for_each(|member| collect(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
