//! Converts a document from OpenAPI 3.1 to OpenAPI 3.0.3, for generators of clients.
//!
//! Generators make poor types of values with several forms, so each value has one form here:
//!
//! - text instead of text or a number, without patterns, and without blank text for no value;
//! - an object instead of several objects that are combined;
//! - one schema for all errors of an operation, with the members of each error;
//! - JSON for a batch, not lines of JSON.
//!
//! Forms are left out that only the header `Enhanced-Errors` or an unknown name in a query causes.

use serde_json::{Map, Value, json};

use super::LICENCE;
use super::errors::{ERRORS_BY_FIELD, FILTER_ERRORS};
use super::fields::BLANK;
use super::operations::JSON_LINES;
use super::properties::in_pascal_case;
use super::references::{REFERENCE, SCHEMAS, find_used, referenced};
use super::schemas::PAGE;

/// Returns the document in OpenAPI 3.0.3.
#[must_use]
pub fn in_version_3_0(mut document: Value) -> Value {
    let schemas = document.pointer("/components/schemas").cloned();
    let schemas = schemas.unwrap_or_default();
    join_errors(&mut document, &schemas);
    rewrite(&mut document, &schemas);
    let used = find_used(&document);
    if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
        schemas.retain(|name, _| used.contains(name));
        // A page that was reached by a cursor has only some members.
        if let Some(Value::Object(page)) = schemas.get_mut(PAGE) {
            page.shift_remove("required");
        }
    }
    let licence = json!({ "name": LICENCE, "url": "https://opensource.org/license/mit" });
    for (pointer, value) in [("/openapi", json!("3.0.3")), ("/info/license", licence)] {
        if let Some(place) = document.pointer_mut(pointer) {
            *place = value;
        }
    }
    document
}

/// Replaces the schemas of the errors of each operation by one schema, with the members of each
/// error. The status tells which members there are.
fn join_errors(document: &mut Value, schemas: &Value) {
    let mut joined = Map::new();
    let items = members_mut(document.get_mut("paths"));
    for (_, operation) in items.flat_map(|(_, item)| members_mut(Some(item))) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        let name = format!("{}Error", in_pascal_case(name));
        let mut properties = Map::new();
        let replies = members_mut(operation.get_mut("responses"));
        for (_, reply) in replies.filter(|(status, _)| status.starts_with(['4', '5'])) {
            for (_, body) in members_mut(reply.get_mut("content")) {
                collect_properties(&body["schema"], schemas, &mut properties);
                body["schema"] = json!({ REFERENCE: format!("{SCHEMAS}{name}") });
            }
        }
        joined.insert(name, json!({ "type": "object", "properties": properties }));
    }
    if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
        schemas.extend(joined);
    }
}

fn members_mut(object: Option<&mut Value>) -> impl Iterator<Item = (&String, &mut Value)> {
    object.and_then(Value::as_object_mut).into_iter().flatten()
}

/// Adds the properties of a schema, and of the schemas that it combines, each with its forms. Returns
/// the required ones.
fn collect_properties(
    schema: &Value,
    schemas: &Value,
    properties: &mut Map<String, Value>,
) -> Vec<Value> {
    if let Some(named) = referenced(schema).and_then(|name| schemas.get(name)) {
        return collect_properties(named, schemas, properties);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let forms = properties
            .entry(name)
            .or_insert_with(|| json!({ "oneOf": [] }));
        if let Some(Value::Array(forms)) = forms.get_mut("oneOf")
            && !forms.contains(property)
        {
            forms.push(property.clone());
        }
    }
    let items = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
    let mut required = items("required");
    for part in items("allOf") {
        required.extend(collect_properties(&part, schemas, properties));
    }
    for form in items("anyOf").iter().filter(|form| is_sent(form)) {
        collect_properties(form, schemas, properties);
    }
    required
}

/// Whether a generated client sends or gets a form: not null, not blank text, and not an error that
/// it does not cause.
fn is_sent(form: &Value) -> bool {
    let is_error = |name: &str| name == ERRORS_BY_FIELD || name == FILTER_ERRORS;
    form["type"] != "null" && form["pattern"] != BLANK && !referenced(form).is_some_and(is_error)
}

/// Rewrites every schema and every request in a part of a document.
fn rewrite(part: &mut Value, schemas: &Value) {
    match part {
        Value::Object(members) => {
            members.shift_remove(JSON_LINES);
            combine(members, schemas);
            keep_sent_forms(members);
            keep_first_type(members);
            // Examples contain values, not schemas.
            let members = members.iter_mut().filter(|(name, _)| *name != "example");
            members.for_each(|(_, member)| rewrite(member, schemas));
        }
        Value::Array(items) => {
            items.retain(|item| item["name"] != "Enhanced-Errors");
            items.iter_mut().for_each(|item| rewrite(item, schemas));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces combined schemas by one object with the members of all.
fn combine(schema: &mut Map<String, Value>, schemas: &Value) {
    if let Some(parts) = schema.shift_remove("allOf") {
        let mut properties = Map::new();
        let required = collect_properties(&json!({ "allOf": parts }), schemas, &mut properties);
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        schema.insert("required".to_owned(), Value::Array(required));
    }
}

/// Reduces alternative forms to those that a generated client sends or gets. A single form replaces
/// its schema.
fn keep_sent_forms(schema: &mut Map<String, Value>) {
    let forms = ["anyOf", "oneOf"].map(|key| schema.shift_remove(key));
    let Some(Value::Array(mut forms)) = forms.into_iter().flatten().next() else {
        return;
    };
    let is_nullable = forms.iter().any(|form| {
        let types = form["type"].as_array();
        form["type"] == "null" || types.is_some_and(|types| types.contains(&json!("null")))
    });
    forms.retain(is_sent);
    if let [Value::Object(only)] = forms.as_slice()
        && !(is_nullable && only.contains_key(REFERENCE))
    {
        *schema = only.clone();
        keep_sent_forms(schema);
        if is_nullable {
            schema.insert("nullable".to_owned(), json!(true));
        }
    } else if is_nullable {
        // A reference cannot be nullable.
        forms.push(json!({ "enum": [null] }));
        schema.insert("anyOf".to_owned(), Value::Array(forms));
    } else {
        schema.insert("oneOf".to_owned(), Value::Array(forms));
    }
}

/// Rewrites `type: [string, integer, null]` to `type: string, nullable: true`. Removes patterns, and
/// codes of other types.
fn keep_first_type(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let first = types.iter().find(|name| *name != "null").cloned();
        if types.contains(&json!("null")) {
            schema.insert("nullable".to_owned(), json!(true));
        }
        schema.insert("type".to_owned(), first.unwrap_or_default());
    }
    if schema.get("type").is_some_and(|name| name == "string") {
        schema.shift_remove("pattern");
        if let Some(Value::Array(codes)) = schema.get_mut("enum") {
            codes.retain(|code| (code.is_string() || code.is_null()) && code != "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_has_one_form() {
        let schemas = json!({
            "Errors": { "properties": { "errors": { "type": "array" } }, "required": ["errors"] },
        });
        let reference = |name: &str| json!({ "$ref": format!("{SCHEMAS}{name}") });
        let blank = json!({ "type": ["string", "null"], "pattern": r"^\s*$" });
        let cases = [
            (
                json!({ "type": ["string", "integer", "null"], "pattern": "^1$", "enum": ["1", 1, "", null] }),
                json!({ "type": "string", "enum": ["1", null], "nullable": true }),
            ),
            (
                json!({ "description": "d", "anyOf": [{ "type": "array", "maxItems": 9 }, blank] }),
                json!({ "type": "array", "maxItems": 9, "nullable": true }),
            ),
            (
                json!({ "description": "d", "oneOf": [reference("Trainee"), { "type": "null" }] }),
                json!({ "description": "d", "anyOf": [reference("Trainee"), { "enum": [null] }] }),
            ),
            (
                json!({ "anyOf": [reference("Errors"), reference(FILTER_ERRORS)] }),
                reference("Errors"),
            ),
            (
                json!({ "anyOf": [reference("Errors"), { "type": "object" }] }),
                json!({ "oneOf": [reference("Errors"), { "type": "object" }] }),
            ),
            (
                json!({ "allOf": [
                    reference("Errors"),
                    { "anyOf": [
                        { "properties": { "data": { "type": "array" } }, "required": ["data"] },
                        { "properties": { "data": { "type": "object" } } },
                        reference(ERRORS_BY_FIELD),
                    ] },
                ] }),
                json!({
                    "type": "object",
                    "properties": {
                        "errors": { "type": "array" },
                        "data": { "oneOf": [{ "type": "array" }, { "type": "object" }] },
                    },
                    "required": ["errors"],
                }),
            ),
            (
                json!({ "example": { "type": ["null"] } }),
                json!({ "example": { "type": ["null"] } }),
            ),
        ];
        for (mut schema, expected) in cases {
            rewrite(&mut schema, &schemas);
            assert_eq!(schema, expected);
        }
    }

    #[test]
    fn errors_of_an_operation_share_a_schema() {
        let reply =
            |schema: Value| json!({ "content": { "application/json": { "schema": schema } } });
        let document = json!({
            "paths": { "/x": { "get": {
                "operationId": "show_x",
                "parameters": [{ "name": "Enhanced-Errors" }, { "name": "Prefer" }],
                "requestBody": { "content": { "application/json": {}, "application/x-ndjson": {} } },
                "responses": {
                    "401": reply(json!({ "$ref": "#/components/schemas/Unauthorized" })),
                    "422": reply(json!({ "properties": { "errors": { "type": "array" } } })),
                },
            } } },
            "components": { "schemas": {
                "Unauthorized": { "properties": { "error": { "type": "string" } } },
            } },
        });
        let document = in_version_3_0(document);
        let operation = &document["paths"]["/x"]["get"];
        let error = json!({ "$ref": "#/components/schemas/ShowXError" });
        assert_eq!(operation["responses"]["401"], reply(error.clone()));
        assert_eq!(operation["responses"]["422"], reply(error));
        assert_eq!(operation["parameters"], json!([{ "name": "Prefer" }]));
        assert_eq!(
            operation["requestBody"],
            json!({ "content": { "application/json": {} } })
        );
        let schemas = document["components"]["schemas"].as_object().unwrap();
        assert_eq!(schemas.len(), 1);
        assert_eq!(
            schemas["ShowXError"]["properties"],
            json!({ "error": { "type": "string" }, "errors": { "type": "array" } })
        );
    }
}
