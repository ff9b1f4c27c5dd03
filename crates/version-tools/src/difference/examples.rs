//! JSON before and after a change, cut from the example bodies of both versions. The versions
//! accept these bodies.

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::endpoint::ReplyBody;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireRecord;
use domain::Lists;
use serde_json::{Map, Value, json};

use super::Example;
use crate::openapi::examples;

/// Returns the fields of a record under their names in both versions. `None` if an example body
/// lacks one of them, or if the JSON is the same.
pub(super) fn cut<R: WireRecord>(
    direction: Direction,
    (from, before): (&ApiVersion, &[&str]),
    (to, after): (&ApiVersion, &[&str]),
) -> Option<Example> {
    let record = R::NAME.parse().ok()?;
    let before = fields(&body(from, record, direction)?, before)?;
    let after = fields(&body(to, record, direction)?, after)?;
    (before != after).then(|| Example::new(&before, &after))
}

/// Returns the value of a field in the example request of a version; `None` if it has none.
pub(super) fn sent<R: WireRecord>(version: &ApiVersion, path: &str) -> Option<Value> {
    value(
        &body(version, R::NAME.parse().ok()?, Direction::Request)?,
        path,
    )
    .cloned()
}

/// Returns the example body with a record; `None` if the version has no such body.
fn body(version: &ApiVersion, record: RecordKind, direction: Direction) -> Option<Value> {
    let envelope = &version.wire.envelope;
    let key = match direction {
        Direction::Request => envelope.request,
        Direction::Reply => envelope.record,
    };
    let example = match direction {
        Direction::Request => {
            let mut endpoints = version.endpoints.all();
            let endpoint = endpoints.find(|endpoint| {
                endpoint.row().request.is_some_and(|request| {
                    request.record == record
                        && request.batch_of.is_none()
                        && request.purpose != Some(Purpose::Update)
                })
            })?;
            examples::request(version, endpoint)
        }
        Direction::Reply if record == RecordKind::Trainee => {
            examples::reply(version, Lists::embedded(), ReplyBody::Trainee)
        }
        Direction::Reply => examples::reply(version, Lists::embedded(), ReplyBody::Nested(record)),
    };
    Some(example?.get_mut(key)?.take())
}

/// Returns an object with only the fields at these paths; `None` if one of them has no value.
fn fields(body: &Value, paths: &[&str]) -> Option<Value> {
    let mut object = json!({});
    for path in paths {
        let found = value(body, path)?;
        let members = object.as_object_mut()?;
        match path.split_once('.') {
            Some((group, name)) => {
                let group = members.entry(group).or_insert_with(|| json!({}));
                group
                    .as_object_mut()?
                    .insert(name.to_owned(), found.clone());
            }
            None => {
                members.insert((*path).to_owned(), found.clone());
            }
        }
    }
    Some(object)
}

/// Returns the value at the path of a field, such as `email` or `withdrawal.date`.
fn value<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let found = names.try_fold(body, |object, name| object.get(name))?;
    (!found.is_null()).then_some(found)
}

/// Returns an object with a value at the path of a field.
pub(super) fn at_path(path: &str, value: Value) -> Value {
    match path.split_once('.') {
        Some((group, name)) => json!({ group: { name: value } }),
        None => Value::Object(Map::from_iter([(path.to_owned(), value)])),
    }
}
