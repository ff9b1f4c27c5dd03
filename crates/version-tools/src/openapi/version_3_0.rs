//! Converts a document from OpenAPI 3.1 to OpenAPI 3.0.3, for generators that do not support 3.1.
//!
//! The conversion rewrites nullable values and the licence. It joins the errors of an operation
//! into one component, because generators for 3.0 support only one error type for each operation.

use serde_json::{Map, Value, json};

const REFERENCE: &str = "$ref";
/// The prefix of references to schemas.
pub(super) const SCHEMAS: &str = "#/components/schemas/";
const LICENCE_URL: &str = "https://opensource.org/license/mit";

/// Returns the document in OpenAPI 3.0.3.
#[must_use]
pub fn in_version_3_0(mut document: Value) -> Value {
    if let Some(version) = document.get_mut("openapi") {
        *version = json!("3.0.3");
    }
    if let Some(licence) = document
        .pointer_mut("/info/license")
        .and_then(Value::as_object_mut)
    {
        licence.shift_remove("identifier");
        licence.insert("url".to_owned(), json!(LICENCE_URL));
    }
    rewrite(&mut document);
    join_errors(&mut document);
    document
}

/// Rewrites every schema in a part of a document.
fn rewrite(part: &mut Value) {
    match part {
        Value::Object(members) => {
            // Examples contain values, not schemas.
            members
                .iter_mut()
                .filter(|(name, _)| *name != "example")
                .for_each(|(_, member)| rewrite(member));
            null_in_types(members);
            null_in_forms(members);
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Rewrites `type: [string, null]` to `type: string, nullable: true`.
fn null_in_types(schema: &mut Map<String, Value>) {
    let Some(types) = schema.get("type").and_then(Value::as_array) else {
        return;
    };
    let has_null = types.iter().any(is_null_type);
    let Some(one) = types.iter().find(|other| !is_null_type(other)).cloned() else {
        return;
    };
    schema.insert("type".to_owned(), one);
    if has_null {
        schema.insert("nullable".to_owned(), json!(true));
    }
}

/// Rewrites `anyOf: [X, {type: null}]` to `anyOf: [X, {enum: [null]}]`, because 3.0 has no null
/// type.
fn null_in_forms(schema: &mut Map<String, Value>) {
    let forms = schema.get_mut("anyOf").and_then(Value::as_array_mut);
    for form in forms
        .into_iter()
        .flatten()
        .filter(|form| form.get("type").is_some_and(is_null_type))
    {
        *form = json!({ "enum": [null] });
    }
}

fn is_null_type(name: &Value) -> bool {
    name == "null"
}

/// Replaces the schemas of all errors of an operation by one schema that allows any of them.
/// Schemas that another of these schemas extends are left out.
fn join_errors(document: &mut Value) {
    let mut joined = Map::new();
    let schemas = document
        .pointer("/components/schemas")
        .cloned()
        .unwrap_or_default();
    let is_extended = |name: &String, names: &[String]| {
        names
            .iter()
            .any(|other| other != name && extends(schemas.get(other), schemas.get(name)))
    };
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let operations = paths
        .into_iter()
        .flat_map(|paths| paths.values_mut())
        .filter_map(Value::as_object_mut);
    for operation in operations.flat_map(|item| item.values_mut()) {
        let Some(replies) = operation
            .get_mut("responses")
            .and_then(Value::as_object_mut)
        else {
            continue;
        };
        let is_error = |status: &str| status.starts_with(['4', '5']);
        let mut names: Vec<String> = replies
            .iter()
            .filter(|(status, _)| is_error(status))
            .filter_map(|(_, reply)| reply.pointer(SCHEMA_OF_REPLY)?.get(REFERENCE)?.as_str())
            .filter_map(|reference| reference.strip_prefix(SCHEMAS).map(str::to_owned))
            .collect();
        names.sort_unstable();
        names.dedup();
        if names.len() < 2 {
            continue;
        }
        let names: Vec<String> = names
            .iter()
            .filter(|name| !is_extended(name, &names))
            .cloned()
            .collect();
        let name = names.join("Or");
        let forms: Vec<Value> = names
            .iter()
            .map(|name| json!({ REFERENCE: format!("{SCHEMAS}{name}") }))
            .collect();
        let schema = json!({ "description": "Why a request was refused; the status tells which.", "oneOf": forms });
        joined.insert(name.clone(), schema);
        for (_, reply) in replies.iter_mut().filter(|(status, _)| is_error(status)) {
            if let Some(schema) = reply.pointer_mut(SCHEMA_OF_REPLY) {
                *schema = json!({ REFERENCE: format!("{SCHEMAS}{name}") });
            }
        }
    }
    if let Some(schemas) = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    {
        schemas.extend(joined);
    }
}

/// Whether a schema has all properties of another schema and more, with the same required
/// properties.
fn extends(longer: Option<&Value>, shorter: Option<&Value>) -> bool {
    let part =
        |schema: Option<&Value>, key: &str| schema.and_then(|schema| schema.get(key)).cloned();
    let properties = |schema| {
        part(schema, "properties")
            .and_then(|all| all.as_object().cloned())
            .unwrap_or_default()
    };
    let more = properties(longer);
    let fewer = properties(shorter);
    part(longer, "required") == part(shorter, "required")
        && more.len() > fewer.len()
        && fewer
            .iter()
            .all(|(name, schema)| more.get(name) == Some(schema))
}

const SCHEMA_OF_REPLY: &str = "/content/application~1json/schema";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_type_becomes_nullable() {
        let schema = |schema: Value| {
            let mut schema = schema;
            rewrite(&mut schema);
            schema
        };
        assert_eq!(
            schema(json!({ "type": ["string", "null"] })),
            json!({ "type": "string", "nullable": true })
        );
        assert_eq!(
            schema(json!({ "description": "d", "anyOf": [{ "$ref": "#/x" }, { "type": "null" }] })),
            json!({
                "description": "d",
                "anyOf": [{ "$ref": "#/x" }, { "enum": [null] }],
            })
        );
        let unchanged = json!({ "anyOf": [{ "$ref": "#/x" }, { "$ref": "#/y" }], "example": { "type": ["null"] } });
        assert_eq!(schema(unchanged.clone()), unchanged);
    }
}
