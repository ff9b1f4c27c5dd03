//! Two OpenAPI documents: endpoints, parameters, bodies and replies.

use serde_json::{Map, Value};

use super::Changes;
use super::schemas::{Direction, Schemas};

/// The operations of a path item that is not one of these is none.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Compares two documents.
pub(super) fn compare(before: &Value, now: &Value, changes: &mut Changes) {
    if before.pointer("/components/securitySchemes") != now.pointer("/components/securitySchemes")
        || before.get("security") != now.get("security")
    {
        changes.breaking("security", "Authorization", "is asked for in another way");
    }
    let (old, new) = (operations(before), operations(now));
    let schemas = Schemas { before, now };
    for (name, operation) in &old {
        match new.iter().find(|(other, _)| other == name) {
            Some((_, other)) => compare_operations(name, operation, other, &schemas, changes),
            None => changes.breaking("endpoints", name, "is gone"),
        }
    }
    for (name, _) in new.iter().filter(|(name, _)| !old.iter().any(|(other, _)| other == name)) {
        changes.additive("endpoints", name, "is new");
    }
}

/// The operations of a document, as `POST /trainees`.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = entries(document.get("paths"));
    paths
        .flat_map(|(path, item)| {
            let methods = METHODS.iter().filter_map(move |method| Some((*method, item.get(method)?)));
            methods.map(move |(method, operation)| (format!("{} {path}", method.to_ascii_uppercase()), operation))
        })
        .collect()
}

fn entries(object: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    object.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn compare_operations(name: &str, before: &Value, now: &Value, schemas: &Schemas<'_>, changes: &mut Changes) {
    if before.get("deprecated").is_none() && now.get("deprecated").is_some() {
        changes.additive("endpoints", name, "is deprecated");
    }
    compare_parameters(name, before, now, schemas, changes);
    let body = |operation: &Value| {
        let body = operation.get("requestBody")?;
        Some((body.get("required") == Some(&Value::Bool(true)), body.get("content").cloned().unwrap_or_default()))
    };
    let place = format!("{name} request");
    match (body(before), body(now)) {
        (Some((_, old)), Some((_, new))) => {
            compare_contents(&place, &old, &new, Direction::Request, schemas, changes);
        }
        (Some(_), None) => changes.breaking(&place, "body", "is not read any more"),
        (None, Some((true, _))) => changes.breaking(&place, "body", "is demanded"),
        (None, Some((false, _))) => changes.additive(&place, "body", "can be sent"),
        (None, None) => {}
    }
    for (status, old) in entries(before.get("responses")) {
        let place = format!("{name} {status}");
        match now.get("responses").and_then(|responses| responses.get(status)) {
            Some(new) => compare_replies(&place, old, new, schemas, changes),
            None => changes.breaking(&format!("{name} replies"), status, "is not answered any more"),
        }
    }
    for (status, _) in entries(now.get("responses")) {
        if before.get("responses").is_none_or(|responses| responses.get(status).is_none()) {
            changes.additive(&format!("{name} replies"), status, "can be answered");
        }
    }
}

fn compare_parameters(name: &str, before: &Value, now: &Value, schemas: &Schemas<'_>, changes: &mut Changes) {
    let parameters = |operation: &Value| -> Vec<Value> {
        operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let text = |parameter: &Value, key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let same = |one: &Value, other: &Value| ["name", "in"].iter().all(|key| text(one, key) == text(other, key));
    let demanded = |parameter: &Value| parameter.get("required") == Some(&Value::Bool(true));
    let place = format!("{name} request");
    let (old, new) = (parameters(before), parameters(now));
    for parameter in &old {
        let subject = text(parameter, "name");
        match new.iter().find(|other| same(parameter, other)) {
            Some(other) => {
                if demanded(other) && !demanded(parameter) {
                    changes.breaking(&place, &subject, "is demanded");
                }
                if let (Some(old), Some(new)) = (parameter.get("schema"), other.get("schema")) {
                    schemas.compare(&place, &subject, old, new, Direction::Request, changes);
                }
            }
            None => changes.breaking(&place, subject, "is not read any more"),
        }
    }
    for parameter in new.iter().filter(|parameter| !old.iter().any(|other| same(parameter, other))) {
        let subject = text(parameter, "name");
        if demanded(parameter) {
            changes.breaking(&place, subject, "is new and demanded");
        } else {
            changes.additive(&place, subject, "is new");
        }
    }
}

fn compare_replies(place: &str, before: &Value, now: &Value, schemas: &Schemas<'_>, changes: &mut Changes) {
    for (header, _) in entries(before.get("headers")) {
        if now.get("headers").is_none_or(|headers| headers.get(header).is_none()) {
            changes.breaking(place, header, "is gone from the headers");
        }
    }
    for (header, _) in entries(now.get("headers")) {
        if before.get("headers").is_none_or(|headers| headers.get(header).is_none()) {
            changes.additive(place, header, "is new in the headers");
        }
    }
    let content = |reply: &Value| reply.get("content").cloned().unwrap_or_default();
    compare_contents(place, &content(before), &content(now), Direction::Reply, schemas, changes);
}

fn compare_contents(
    place: &str,
    before: &Value,
    now: &Value,
    direction: Direction,
    schemas: &Schemas<'_>,
    changes: &mut Changes,
) {
    for (media, old) in entries(Some(before)) {
        match now.get(media) {
            Some(new) => {
                if let (Some(old), Some(new)) = (old.get("schema"), new.get("schema")) {
                    schemas.compare(place, "body", old, new, direction, changes);
                }
            }
            None => changes.breaking(place, media, "is gone"),
        }
    }
    for (media, _) in entries(Some(now)) {
        if before.get(media).is_none() {
            changes.additive(place, media, "is new");
        }
    }
}
