//! Compares two OpenAPI documents: endpoints, parameters, bodies and replies.

use adapter_kit::body_kind::Direction;
use serde_json::Value;

use super::schemas::Schemas;
use super::{Changes, entries};

/// The keys of a path item that are operations.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Compares two documents.
pub(super) fn compare(before: &Value, now: &Value, changes: &mut Changes) {
    if before.pointer("/components/securitySchemes") != now.pointer("/components/securitySchemes")
        || before.get("security") != now.get("security")
    {
        changes.breaking("security", "Authorization", "is required in another way");
    }
    let schemas = Schemas { before, now };
    let old = operations(before);
    let new = operations(now);
    for (name, old, new) in changes.matched("endpoints", (old, "is removed"), (new, "is new")) {
        compare_operations(&name, old, new, &schemas, changes);
    }
}

/// Returns the operations of a document, with names such as `POST /trainees`.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let mut operations = Vec::new();
    for (path, item) in entries(document.get("paths")) {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                let name = format!("{} {path}", method.to_ascii_uppercase());
                operations.push((name, operation));
            }
        }
    }
    operations
}

/// Compares an operation of both documents: deprecation, parameters, body and replies. `name` is a
/// name such as `POST /trainees`.
fn compare_operations(
    name: &str,
    before: &Value,
    now: &Value,
    schemas: &Schemas<'_>,
    changes: &mut Changes,
) {
    if before.get("deprecated").is_none() && now.get("deprecated").is_some() {
        changes.additive("endpoints", name, "is deprecated");
    }
    let place = format!("{name} request");
    compare_parameters(&place, before, now, schemas, changes);
    match (before.get("requestBody"), now.get("requestBody")) {
        (Some(old), Some(new)) => {
            compare_contents(&place, old, new, Direction::Request, schemas, changes)
        }
        (Some(_), None) => changes.breaking(&place, "body", "is no longer read"),
        (None, Some(new)) if is_required(new) => changes.breaking(&place, "body", "is required"),
        (None, Some(_)) => changes.additive(&place, "body", "can be sent"),
        (None, None) => {}
    }
    let old = (entries(before.get("responses")), "is no longer returned");
    let new = (entries(now.get("responses")), "can be returned");
    for (status, old, new) in changes.matched(&format!("{name} replies"), old, new) {
        let place = format!("{name} {status}");
        let old_headers = (entries(old.get("headers")), "is removed from the headers");
        changes.matched(
            &place,
            old_headers,
            (entries(new.get("headers")), "is new in the headers"),
        );
        compare_contents(&place, old, new, Direction::Reply, schemas, changes);
    }
}

fn is_required(part: &Value) -> bool {
    part.get("required") == Some(&Value::Bool(true))
}

/// Compares the parameters of an operation. A parameter is identified by its name and its location
/// (`in`), such as the path or the query.
fn compare_parameters(
    place: &str,
    before: &Value,
    now: &Value,
    schemas: &Schemas<'_>,
    changes: &mut Changes,
) {
    let parameters = |operation: &Value| -> Vec<Value> {
        operation
            .get("parameters")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let text = |parameter: &Value, key: &str| {
        parameter
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let same = |one: &Value, other: &Value| {
        ["name", "in"]
            .iter()
            .all(|key| text(one, key) == text(other, key))
    };
    let old = parameters(before);
    let new = parameters(now);
    for parameter in &old {
        let subject = text(parameter, "name");
        let Some(counterpart) = new.iter().find(|other| same(parameter, other)) else {
            changes.breaking(place, subject, "is no longer read");
            continue;
        };
        if is_required(counterpart) && !is_required(parameter) {
            changes.breaking(place, &subject, "is required");
        }
        if let (Some(old), Some(new)) = (parameter.get("schema"), counterpart.get("schema")) {
            schemas.compare(place, &subject, old, new, Direction::Request, changes);
        }
    }
    for parameter in &new {
        let existed = old.iter().any(|other| same(parameter, other));
        if existed {
            continue;
        }
        let what = if is_required(parameter) {
            "is new and required"
        } else {
            "is new"
        };
        changes.add(is_required(parameter), place, text(parameter, "name"), what);
    }
}

/// Compares the contents of two bodies, by media type.
fn compare_contents(
    place: &str,
    before: &Value,
    now: &Value,
    direction: Direction,
    schemas: &Schemas<'_>,
    changes: &mut Changes,
) {
    let old = entries(before.get("content"));
    let new = entries(now.get("content"));
    for (_, old, new) in changes.matched(place, (old, "is removed"), (new, "is new")) {
        if let (Some(old), Some(new)) = (old.get("schema"), new.get("schema")) {
            schemas.compare(place, "body", old, new, direction, changes);
        }
    }
}
